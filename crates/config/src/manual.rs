//! The manual `docs/configuration.md`, written from the tables of settings and keys.
//!
//! What the tables cannot say, the syntax of the files and the meaning of the sections, stands
//! here.

use std::fmt::Write;

use crate::entries::{DATABASE_KEYS, Key, PEER_KEYS, Takes, USER_KEYS};
use crate::settings::{Row, Standing, TABLE, When};

/// The text of `docs/configuration.md`, in Markdown.
#[must_use]
pub fn manual() -> String {
    let mut page = String::from(INTRODUCTION);
    for row in TABLE {
        push_setting(&mut page, row);
    }
    page.push_str(DATABASES);
    push_keys(&mut page, DATABASE_KEYS);
    page.push_str(USERS);
    push_keys(&mut page, USER_KEYS);
    page.push_str(PEERS);
    push_keys(&mut page, PEER_KEYS);
    page
}

fn push_setting(page: &mut String, row: &Row) {
    let default = match row.default {
        None => "not set".to_owned(),
        Some("") => "empty".to_owned(),
        Some(text) => format!("`{text}`"),
    };
    let when = match row.when {
        When::Live => "can be changed by reload",
        When::Boot => "needs a restart",
    };
    let range = match row.range {
        (i64::MIN, i64::MAX) => String::new(),
        (low, high) => format!(" from {low} to {high}"),
    };
    // Writing to a String cannot fail.
    let _ = write!(page, "\n### {}\n\n", row.key);
    push_wrapped(page, &format!("{}{range}; default: {default}; {when}.", row.kind));
    page.push('\n');
    push_wrapped(page, row.doc);
    match row.standing {
        Standing::Works => {}
        Standing::Later => page.push_str("\nIt has no effect yet.\n"),
        Standing::Own => {
            let variable = row.key.to_ascii_uppercase();
            let _ = write!(page, "\nOur own; `PGWEIR_{variable}` in the environment goes first.\n");
        }
    }
}

fn push_keys<Entry>(page: &mut String, keys: &[Key<Entry>]) {
    page.push_str("\n| key | meaning |\n|---|---|\n");
    for key in keys {
        let later = if matches!(key.takes, Takes::Later) { " It has no effect yet." } else { "" };
        let _ = writeln!(page, "| `{}` | {}{later} |", key.name, key.doc);
    }
}

/// Appends a paragraph in lines of at most 100 columns.
fn push_wrapped(page: &mut String, text: &str) {
    let mut column = 0;
    for word in text.split_ascii_whitespace() {
        let width = word.chars().count();
        let blank = match column {
            0 => "",
            _ if column + 1 + width > 100 => "\n",
            _ => " ",
        };
        column = if blank == "\n" { width } else { column + blank.len() + width };
        page.push_str(blank);
        page.push_str(word);
    }
    page.push('\n');
}

const INTRODUCTION: &str = "\
# Configuration

<!-- Written from the tables in crates/config by `UPDATE=1 cargo test -p config`. Edit those. -->

pgweir reads PgBouncer's configuration files. Every setting of PgBouncer's is known. Those that do
not work yet are marked below: where one is set, a single line in the log names all of them; but a
value without which connections would be less safe than it says is refused, at start and on reload.

## Files

```
; A comment, also with #; only at the beginning of a line.
[pgbouncer]
listen_port = 6432
%include /etc/pgweir/more.ini

[databases]
shop = host=db1 port=5432 pool_size=50
'my db' = host=db2 user='anna' password='it''s secret'
* = host=db3
```

A value is the rest of its line, without surrounding blanks. Keys consist of letters, digits and
`_ . - *`, or stand in single or double quotes, with the quote doubled inside. `%include` names a
file, relative to the working directory; includes may be nested 10 deep, and a file may not include
itself.

Sections may be repeated and then add up: of two lines for the same setting, database or user the
later one counts. A repeated `[pgbouncer]` is worth a warning in the log. (PgBouncer takes back all
settings made before a repeated `[pgbouncer]`.)

All errors are reported, each with its file and line, not only the first one. An error at start
ends the program; an error on reload leaves everything as it was. (PgBouncer keeps the lines
before the error.)

Integers may be decimal, hexadecimal (`0x10`) or octal (`020`). Times are seconds and may have a
fraction (`0.5`).

Settings that PgBouncer does not have may also come from the environment, so that one file serves
both: `PGWEIR_WORKER_THREADS=4` goes before the line `worker_threads` of the file.

## [pgbouncer]

This section is required. A setting that the file does not name has its default value, also after a
reload.
";

const DATABASES: &str = "
## [databases]

Each entry is a database that clients may name, and how to reach it: `name = key=value …`. A value
may stand in single quotes, with a quote doubled inside. The entry `*` is the template for all names
that are not listed. The name `pgbouncer` is reserved for the admin console.
";

const USERS: &str = "
## [users]

Each entry changes something for one user: `name = key=value …`. It comes before what the database
says, and that before `[pgbouncer]`. What an entry says of pools and servers counts for pools whose
servers log in as this user, also where a database forces it; what it says of clients, for the
clients that log in as this user.
";

const PEERS: &str = "
## [peers]

Each entry is another process behind the same address: `peer_id = key=value …`. The section is read,
and has no effect yet.
";

#[cfg(test)]
mod tests;
