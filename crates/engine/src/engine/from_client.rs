//! What clients say.
//!
//!     a request ──► a server is sought ──► it passes, or everything is held until one comes
//!     before that: `login`; on the console: `console`

use super::{Engine, Work};
use crate::client::inspect::{Said, inspect};
use crate::client::{Client, Stage, startup};
use crate::ids::Id;
use crate::link::Phase;
use crate::reason::Reason;
use crate::server::Server;
use crate::stream::{Source, Verdict};
use crate::time::Time;
use wire::tag::frontend;
use wire::{Header, write};

impl Engine {
    pub(super) fn client_received(&mut self, id: Id<Client>, bytes: &[u8], now: Time) {
        let Some(client) = self.clients.find_mut(id) else { return };
        if matches!(client.stage, Stage::Gone(_)) {
            return;
        }
        if bytes.is_empty() {
            return self.close_client(id, &Reason::ClientEof, now);
        }
        if client.stream.held.is_empty() {
            return self.client_bytes(id, bytes, Source::Lent, now);
        }
        if let Some(held) = client.stream.join(bytes) {
            self.client_bytes(id, &held, Source::Held, now);
            self.shelf.put(held);
        }
    }

    /// Hears again what was held, and reads on.
    pub(super) fn resume(&mut self, id: Id<Client>, now: Time) {
        let Some(client) = self.clients.find_mut(id) else { return };
        if matches!(client.stage, Stage::Gone(_)) {
            return;
        }
        let held = std::mem::take(&mut client.stream.held);
        self.client_bytes(id, &held, Source::Held, now);
        self.shelf.put(held);
        let Some(client) = self.clients.find(id) else { return };
        let open = match client.stage {
            // When the server's outbox is empty, `server_sent` reads on.
            Stage::Linked(server) => self.servers[server].outbox.is_empty(),
            Stage::Waiting { .. } | Stage::Newcomer => false,
            Stage::Console(ref console) => {
                let is_short = client.stream.held.len() < crate::admin::KEPT_MAX;
                is_short || console.listens(client.outbox.is_empty())
            }
            _ => true,
        };
        if open {
            self.read_client(id, true);
        }
    }

    fn client_bytes(&mut self, id: Id<Client>, bytes: &[u8], source: Source, now: Time) {
        let mut at = 0;
        while at < bytes.len() {
            let Some(client) = self.clients.find_mut(id) else { return };
            if !client.stream.at_boundary() {
                let (range, passes) = client.stream.advance(at, bytes.len());
                at = range.end;
                if let (true, Stage::Linked(server)) = (passes, &client.stage) {
                    let server = *server;
                    self.pass_to_server(server, bytes, range, source);
                }
                continue;
            }
            let verdict = self.client_says(id, &bytes[at..], now);
            let Some(client) = self.clients.find_mut(id) else { return };
            match verdict {
                Verdict::Pass(total) => client.stream.pass(total),
                Verdict::Drop(total) => client.stream.discard(total),
                Verdict::Need(total) => {
                    client.stream.hold(&bytes[at..], total, &mut self.shelf);
                    break;
                }
                Verdict::Hold => {
                    client.stream.hold(&bytes[at..], 0, &mut self.shelf);
                    self.read_client(id, false);
                    break;
                }
                Verdict::Gone => return,
            }
        }
        if let Some(server) = self.clients.find(id).and_then(Client::server) {
            self.check_release(server, now);
        }
    }

    fn client_says(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let client = &mut self.clients[id];
        match &client.stage {
            Stage::Idle | Stage::Linked(_) => self.client_asks(id, rest, now),
            Stage::Waiting { .. } | Stage::Newcomer => Verdict::Hold,
            Stage::Startup { .. } => self.client_starts(id, rest, now),
            Stage::Authenticating(authentication) if !authentication.listens() => Verdict::Hold,
            Stage::Authenticating(_) => self.client_proves(id, rest, now),
            Stage::Console(_) => self.console_says(id, rest, now),
            // PgBouncer: whatever follows a cancel request is ignored.
            Stage::Canceling { .. } => Verdict::Drop(rest.len() as u32),
            Stage::Gone(_) => Verdict::Gone,
        }
    }

    /// A logged-in client says something: on the path of every message.
    fn client_asks(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let head = match wire::header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return Verdict::Need(wire::HEADER as u32),
            Err(_) => return self.end_client(id, &startup::bad_header(rest), now),
        };
        let said = inspect(head, self.setup.config.pgbouncer.max_packet_size);
        if names_a_statement(head) && rest.len() <= wire::HEADER {
            // Whether the name is empty must be known before a server is sought for it.
            return Verdict::Need(wire::HEADER as u32 + 1);
        }
        if head.tag == frontend::QUERY && self.setup.config.pgbouncer.disable_pqexec {
            return self.end_client(id, &Reason::PqexecDisallowed, now);
        }
        let linked = self.clients[id].server();
        match (said, linked) {
            (Said::Request, None) => {
                self.seek(id, now);
                match self.clients.find(id).map(|client| &client.stage) {
                    Some(Stage::Linked(server)) => {
                        self.client_talks(id, *server, (head, rest), now)
                    }
                    Some(_) => Verdict::Hold,
                    None => Verdict::Gone,
                }
            }
            (Said::Request | Said::Sequel, Some(server)) => {
                self.client_talks(id, server, (head, rest), now)
            }
            // PgBouncer: COPY data that comes too late, and a Flush with nothing to flush.
            (Said::Sequel, None) => Verdict::Drop(head.total),
            (Said::Terminate, _) => self.end_client(id, &Reason::ClientClose, now),
            (Said::Unknown, _) => self.end_client(id, &Reason::UnknownMessage, now),
            (Said::TooLong, _) => self.end_client(id, &startup::bad_header(rest), now),
        }
    }

    fn client_talks(
        &mut self,
        id: Id<Client>,
        server_id: Id<Server>,
        (head, rest): (Header, &[u8]),
        now: Time,
    ) -> Verdict {
        let server = &mut self.servers[server_id];
        if !server.link().is_some_and(|link| link.phase == Phase::Talking) {
            return Verdict::Hold;
        }
        if server.outstanding.is_full() {
            return self.end_client(id, &Reason::TooManyRequests, now);
        }
        if names_a_statement(head) {
            let unnamed = rest.get(wire::HEADER) == Some(&0);
            self.guard_unnamed(id, server_id, head.tag, unnamed);
        }
        let (client, server) = (&mut self.clients[id], &mut self.servers[server_id]);
        if server.outstanding.is_empty() {
            client.times.asked = now;
        }
        server.outstanding.asked(head.tag);
        client.times.requested = now;
        if client.times.query == Time::NEVER {
            let counters = &mut self.pools[server.pool].counters;
            client.times.query = now;
            counters.queries += 1;
            if client.times.transaction == Time::NEVER {
                client.times.transaction = now;
                counters.transactions += 1;
            }
        }
        Verdict::Pass(head.total)
    }

    /// Sees to it that a client never uses the unnamed statement of another one, or an older one of
    /// its own, which the server may still have: that is closed first, so that PostgreSQL itself
    /// says that there is none.
    fn guard_unnamed(&mut self, id: Id<Client>, server: Id<Server>, tag: u8, unnamed: bool) {
        let owner = &mut self.servers[server].unnamed_of;
        let last = &mut self.clients[id].unnamed_on;
        if tag == frontend::PARSE {
            if unnamed {
                (*owner, *last) = (Some(id), Some(server));
            }
        } else if (*owner, *last) != (Some(id), Some(server)) {
            (*owner, *last) = (Some(id), Some(server));
            self.servers[server].outstanding.closed();
            self.tell_server(server, |out| write::close(out, b'S', b""));
        }
    }

    pub(super) fn client_sent(&mut self, id: Id<Client>, n: usize, now: Time) {
        let Some(client) = self.clients.find_mut(id) else { return };
        client.outbox.sent(n, &mut self.shelf);
        if !client.outbox.is_empty() {
            return;
        }
        match client.stage {
            Stage::Linked(server) => {
                self.read_server(server, true);
                self.check_release(server, now);
            }
            Stage::Console(_) if !client.stream.held.is_empty() => {
                self.work.push_back(Work::Resume(id));
            }
            _ => {}
        }
    }

    pub(super) fn end_client(&mut self, id: Id<Client>, reason: &Reason, now: Time) -> Verdict {
        self.close_client(id, reason, now);
        Verdict::Gone
    }
}

/// Whether a message may name a statement, and is long enough to.
fn names_a_statement(head: Header) -> bool {
    matches!(head.tag, frontend::PARSE | frontend::BIND | frontend::DESCRIBE)
        && head.total as usize > wire::HEADER
}
