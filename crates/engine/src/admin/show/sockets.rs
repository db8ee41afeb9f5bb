//! SHOW CLIENTS and SHOW SERVERS: connections, one by one.

use crate::admin::answer::Column;
use crate::admin::answer::Sheet;
use crate::admin::answer::Type::{Int4, Text};
use crate::admin::calendar;
use crate::admin::report::Socket;
use crate::time::{SECOND, Time};

pub(super) fn table(sockets: &[Socket], wall: u64) -> Vec<u8> {
    let mut sheet = Sheet::new(COLUMNS);
    for socket in sockets {
        row(&mut sheet, socket, wall);
    }
    sheet.finish()
}

fn row(sheet: &mut Sheet, socket: &Socket, wall: u64) {
    let date = |at: Time| calendar::print(wall.saturating_add(at.0));
    let login = socket.login.as_ref();
    let (database, user) = login.map_or(NOBODY, |(database, user)| (database, user));
    let ends = &socket.ends;
    sheet.text(socket.kind).text(user).text(database).text("none").text(socket.state);
    sheet.text(&ends.peer).number(ends.peer_port).text(&ends.own).number(ends.own_port);
    sheet.text(&date(socket.connected)).text(&date(socket.requested));
    sheet.number(socket.wait / SECOND).number(socket.wait % SECOND);
    sheet.number(u32::from(socket.close_needed));
    sheet.text(&format!("{:#x}", socket.pointer));
    sheet.text(&socket.link.map_or(String::new(), |link| format!("{link:#x}")));
    // A key that another pooler made may not fit the column: PgBouncer prints it signed.
    sheet.text(&(socket.pid as i32).to_string());
    let name = String::from_utf8_lossy(&socket.application_name);
    sheet.text(NO_TLS).text(&name).number(NO_STATEMENTS);
    sheet.number(socket.number).end_row();
}

/// What is shown for a connection that has not said who it is (PgBouncer).
const NOBODY: (&str, &str) = ("(nodb)", "(nouser)");
/// There is neither TLS nor are prepared statements known.
const NO_TLS: &str = "";
const NO_STATEMENTS: u32 = 0;

const COLUMNS: &[Column] = &[
    ("type", Text),
    ("user", Text),
    ("database", Text),
    ("replication", Text),
    ("state", Text),
    ("addr", Text),
    ("port", Int4),
    ("local_addr", Text),
    ("local_port", Int4),
    ("connect_time", Text),
    ("request_time", Text),
    ("wait", Int4),
    ("wait_us", Int4),
    ("close_needed", Int4),
    ("ptr", Text),
    ("link", Text),
    ("remote_pid", Int4),
    ("tls", Text),
    ("application_name", Text),
    ("prepared_statements", Int4),
    ("id", Int4),
];
