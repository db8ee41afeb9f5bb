//! The peers of the pooler, and among them the clients and those who want a query cancelled.
//!
//! ```text
//! a pipe has news ──► the peer reads ──► what it says goes into the other pipe
//! a client wakes  ──► it connects, begins a workload, or leaves
//! ```
//!
//! Carries bytes; what they mean is known to `app`. Servers are in `servers`.

use config::PoolMode;

use super::{Event, Phase, World};
use crate::app::conversation::News;
use crate::app::{Flaw, Request, Stage};
use crate::net::{End, Far, Parted, WireId};
use crate::oracle::Ending;
use crate::plan::user_place;
use crate::statement::Token;

impl World {
    /// Lets a peer read soon, if there is something to read.
    pub(crate) fn arrival(&mut self, id: WireId, delay: u64) {
        let wire = &mut self.wires[id.0];
        if wire.down.has_news() && !wire.down.due && wire.far != Far::Nobody {
            wire.down.due = true;
            self.after(delay, Event::Arrival(id));
        }
    }

    pub(crate) fn peer_reads(&mut self, id: WireId) {
        let wire = &mut self.wires[id.0];
        wire.down.due = false;
        if self.flow < wire.stalled {
            wire.down.due = true;
            let delay = wire.stalled - self.flow;
            return self.after(delay, Event::Arrival(id));
        }
        match wire.far {
            Far::App(app) => self.app_reads(app, id),
            Far::Canceller(_) => {
                let _ = wire.down.take(usize::MAX);
                if wire.down.end == End::Closed {
                    wire.far = Far::Nobody;
                }
            }
            Far::Backend(process) => self.process_reads(process),
            Far::Nobody => {}
        }
    }

    /// The pooler has room again, or has made some.
    pub(crate) fn peer_may_write(&mut self, id: WireId) {
        if let Far::Backend(process) = self.wires[id.0].far
            && !self.processes[process].unsent.is_empty()
        {
            self.process_reads(process);
        }
    }

    /// A peer closes its end; what it has said is still delivered.
    pub(crate) fn peer_closes(&mut self, id: WireId) {
        let wire = &mut self.wires[id.0];
        wire.far = Far::Nobody;
        wire.up.close();
        let latency = wire.latency;
        // Whoever waits for room, or is not read from, hears of it all the same.
        if wire.down.blocked {
            self.after(latency, Event::Broken(id));
        }
        self.readable(id, latency);
    }

    /// A peer breaks the connection off.
    pub(crate) fn peer_resets(&mut self, id: WireId) {
        let wire = &mut self.wires[id.0];
        wire.far = Far::Nobody;
        wire.up.reset();
        let latency = wire.latency;
        self.after(latency, Event::Broken(id));
        self.readable(id, latency);
    }

    pub(super) fn say(&mut self, id: WireId, bytes: &[u8]) {
        let wire = &mut self.wires[id.0];
        wire.up.push(bytes);
        wire.touched = self.flow;
        let latency = wire.latency;
        self.readable(id, latency);
    }

    pub(super) fn taken(&mut self, id: WireId) {
        let wire = &mut self.wires[id.0];
        wire.touched = self.flow;
        if wire.down.blocked && wire.down.room() > 0 {
            let latency = wire.latency;
            self.after(latency, Event::Writable(id));
        }
    }

    pub(crate) fn app_wakes(&mut self, place: usize) {
        let leaving = self.phase != Phase::Busy;
        let app = &mut self.apps[place];
        match app.stage {
            Stage::Working if self.flow < app.rests_until => {}
            Stage::Away if leaving || app.rounds_left == 0 => app.stage = Stage::Over,
            Stage::Away => self.app_connects(place),
            Stage::Working if app.is_at_rest() => {
                if self.phase == Phase::Quiet && app.conversation.status == b'I' {
                    return;
                }
                let done = leaving || app.rounds_left == 0;
                if done && app.conversation.status == b'I' {
                    return self.app_leaves(place);
                }
                if self.random.chance(30) && app.conversation.status == b'I' {
                    return self.app_leaves(place);
                }
                app.plan_workload(self.plan.habits, &mut self.random);
                self.app_goes_on(place);
            }
            Stage::Working => self.app_goes_on(place),
            _ => {}
        }
    }

    fn app_connects(&mut self, place: usize) {
        let Some(id) = self.accept(Far::App(place)) else {
            self.apps[place].stage = Stage::Over;
            return;
        };
        self.sessions += 1;
        self.tally.sessions += 1;
        let session = self.sessions;
        self.oracle.session_begins(session, place);
        let app = &mut self.apps[place];
        app.wire = Some(id);
        app.connected = (self.flow, self.flow + self.jumped);
        (app.busy_since, app.open_since) = (app.connected.1, app.connected.1);
        self.wires[id.0].pool = Some((app.traits.database, app.traits.server_user));
        self.wires[id.0].user = user_place(app.traits.user);
        self.wires[id.0].asked = app.connected.1;
        let bytes = app.open(session, &mut self.random);
        self.tell(|_| format!("client {place}: connects as session {session} on wire {}", id.0));
        self.say(id, &bytes);
    }

    fn app_leaves(&mut self, place: usize) {
        let Some(id) = self.apps[place].wire else { return };
        self.tell(|_| format!("client {place}: leaves"));
        if self.phase != Phase::Busy || self.random.chance(800) {
            let mut bytes = Vec::new();
            wire::write::terminate(&mut bytes);
            self.say(id, &bytes);
        } else {
            self.tally.hang_ups += 1;
        }
        self.peer_closes(id);
        self.app_is_gone(place);
    }

    fn app_is_gone(&mut self, place: usize) {
        let app = &mut self.apps[place];
        if app.stage != Stage::Working || app.traits.flaw != Flaw::None {
            // Who does not get in does not try for ever.
            app.rounds_left = app.rounds_left.saturating_sub(1);
        }
        app.gone();
        if self.phase != Phase::Busy {
            self.apps[place].stage = Stage::Over;
        }
        let delay = self.random.range(100, 40_000);
        self.after(delay, Event::Wake(place));
    }

    fn app_reads(&mut self, place: usize, id: WireId) {
        if self.apps[place].wire != Some(id) {
            return;
        }
        let slow = self.apps[place].traits.slow.filter(|_| self.phase == Phase::Busy);
        let most = slow.map_or(usize::MAX, |(most, _)| most as usize);
        let bytes = self.wires[id.0].down.take(most);
        self.taken(id);
        if !bytes.is_empty() {
            let was_in = self.apps[place].stage == Stage::Working;
            let heard = self.apps[place].hear(&bytes, &mut self.random);
            if !was_in && self.apps[place].stage == Stage::Working {
                self.check_welcome(place);
            }
            match heard {
                Ok((out, news)) => {
                    if !out.is_empty() {
                        self.say(id, &out);
                    }
                    self.app_hears_news(place, news);
                }
                Err(why) => {
                    let session = self.apps[place].session;
                    return self.oracle.fail(format!("client {place}, session {session}: {why}"));
                }
            }
        }
        if self.wires[id.0].down.has_news() {
            if self.wires[id.0].down.len() == 0 {
                return self.app_hears_end(place, id);
            }
            let rest = slow.map_or(1, |(_, rest)| rest);
            self.arrival(id, rest);
        }
        self.app_goes_on(place);
    }

    fn app_hears_news(&mut self, place: usize, news: Vec<News>) {
        for news in news {
            self.tell(|_| format!("client {place}: hears {news:?}"));
            match news {
                News::Failed(_) => {}
                News::Notified => {
                    self.tally.notices += 1;
                    self.apps[place].was_notified = true;
                }
                News::Fatal(code, message) => self.app_hears_fatal(place, &code, &message),
            }
        }
    }

    fn app_hears_fatal(&mut self, place: usize, code: &str, message: &str) {
        let app = &mut self.apps[place];
        app.told = true;
        let waited = app.request.and_then(|request| request.since);
        let now = self.flow + self.jumped;
        let wire = app.wire.map(|id| &self.wires[id.0]);
        // Words of a server come before the pooler has closed.
        let (asked, parted) = wire.map_or((now, None), |wire| (wire.asked, wire.parted));
        let parted = parted.unwrap_or(Parted { at: now, crowd: (0, 0) });
        let ending = Ending {
            place,
            code,
            message,
            flow: self.flow,
            waited: waited.map(|(_, since)| now - since),
            connected: now - app.connected.1,
            asking: parted.at.saturating_sub(app.busy_since),
            in_transaction: parted.at.saturating_sub(app.open_since),
            silent: parted.at.saturating_sub(asked),
            crowd: parted.crowd,
            database: app.traits.database,
            user: user_place(app.traits.user),
            is_bold: app.is_bold,
            is_sticky: app.is_sticky(),
            flaw: app.traits.flaw,
            shutdown: self.operator.how.is_some(),
            moved: self.operator.has_moved || self.operator.has_reconnected(),
            crowded: self.ledger.clients() + 2 >= self.plan.max_client_conn,
        };
        match (app.traits.flaw, message) {
            (_, "query_timeout") => self.tally.query_timeouts_waiting += 1,
            (_, "query timeout") => self.tally.query_timeouts += 1,
            (_, "transaction timeout") => self.tally.transaction_timeouts += 1,
            (_, "idle transaction timeout") => self.tally.idle_transaction_timeouts += 1,
            (_, "client_idle_timeout") => self.tally.client_idle_timeouts += 1,
            (_, "database configuration changed") => self.tally.fast_closes += 1,
            (_, text) if text.starts_with("transaction blocks") => self.tally.forbidden += 1,
            (_, text) if text.contains("max_db_client") => self.tally.refused_of_database += 1,
            (_, text) if text.contains("max_user_client") => self.tally.refused_of_user += 1,
            (Flaw::None, text) if text.contains("timeout") => self.tally.timeouts += 1,
            (Flaw::None, _) if !ending.crowded => self.tally.told += 1,
            _ => self.tally.refused_clients += 1,
        }
        self.oracle.client_told(&ending, &self.plan);
    }

    fn app_hears_end(&mut self, place: usize, id: WireId) {
        let end = self.wires[id.0].down.end;
        self.wires[id.0].down.end = End::Told;
        self.tell(|_| format!("client {place}: hears the end ({end:?})"));
        let app = &self.apps[place];
        let in_message = app.conversation.is_in_message();
        if app.conversation.has_words_in_a_message() {
            self.oracle.fail(format!("client {place} was told of its end in a message"));
        }
        let app = &self.apps[place];
        let exited = self.operator.how.is_some();
        let cut = in_message && self.has_timed_out(place);
        self.oracle.client_ended(place, self.flow, app.told || exited || cut, in_message);
        self.peer_closes(id);
        self.app_is_gone(place);
    }

    /// Whether a query or a transaction of a client has taken too long: then it is cut off without
    /// a word when it has been sent the first part of a message.
    fn has_timed_out(&self, place: usize) -> bool {
        let app = &self.apps[place];
        let at = app.wire.and_then(|id| self.wires[id.0].parted).map_or(0, |parted| parted.at);
        let spans = &self.plan.bounds.spans;
        let over = |limit: u64, since: u64| limit > 0 && since + limit <= at;
        over(spans.query, app.busy_since) || over(spans.transaction, app.open_since)
    }

    /// Sends what can be sent, and thinks when all is done.
    fn app_goes_on(&mut self, place: usize) {
        loop {
            let Some(id) = self.apps[place].wire else { return };
            let fresh = self.apps[place].is_fresh();
            if self.app_rests(place) {
                return;
            }
            let Some(step) = self.apps[place].next_step() else { break };
            let busy = self.phase == Phase::Busy;
            if busy && self.random.chance(self.plan.rude) {
                return self.app_is_rude(place, id, &step.bytes);
            }
            self.tally.huge += u64::from(step.bytes.len() > 16_384);
            let now = self.flow + self.jumped;
            let app = &mut self.apps[place];
            if fresh {
                let start = self.wires[id.0].up.written;
                let token = step.token.to_string();
                let at = find(&step.bytes, token.as_bytes());
                app.request = at.map(|at| Request {
                    token: step.token,
                    header_end: start + head_of(&step.bytes),
                    token_end: start + (at + token.len()) as u64,
                    since: None,
                    waiting: false,
                });
            }
            app.has_asked = true;
            app.is_bold |= find(&step.bytes, b" begin").is_some();
            if app.conversation.is_answered() && app.conversation.is_between {
                app.was_notified = false;
                app.busy_since = now;
                if app.conversation.status == b'I' {
                    app.open_since = now;
                }
            }
            for unit in step.expects {
                match step.after_copy {
                    true => app.conversation.expect_after_copy(unit),
                    false => app.conversation.expect(unit),
                }
            }
            let session = app.session;
            self.tell(|_| {
                format!("client {place}: sends {} {} bytes", step.token, step.bytes.len())
            });
            if step.slow || (self.plan.habits.cancels && self.random.chance(15)) {
                let delay = self.random.range(500, 60_000);
                self.after(delay, Event::Cancel(place, session));
            }
            self.say(id, &step.bytes);
        }
        if self.apps[place].is_at_rest() {
            let delay = self.random.pick(&[0, 10, 300, 3_000, 20_000]);
            let delay = self.random.below(delay + 1);
            self.after(delay, Event::Wake(place));
        }
    }

    /// Now and then a client does nothing for a while, also in the middle of a transaction.
    fn app_rests(&mut self, place: usize) -> bool {
        let app = &mut self.apps[place];
        if app.conversation.status != b'I' && app.traits.mode == PoolMode::Statement {
            self.oracle.fail(format!("client {place} is in a transaction in statement pooling"));
            return true;
        }
        let is_free = app.stage == Stage::Working && app.conversation.is_answered();
        let rest_max = self.plan.habits.rest_max;
        if self.flow < app.rests_until {
            return is_free;
        }
        let rests = rest_max > 0 && is_free && self.phase == Phase::Busy;
        if rests && self.random.chance(20) {
            let rest = self.random.range(1, rest_max);
            self.apps[place].rests_until = self.flow + rest;
            self.after(rest, Event::Wake(place));
            return true;
        }
        false
    }

    /// Sends a part, or all of it, and is gone.
    fn app_is_rude(&mut self, place: usize, id: WireId, bytes: &[u8]) {
        let part = self.random.range(0, bytes.len() as u64) as usize;
        let part = if self.random.chance(300) { bytes.len() } else { part };
        self.tell(|_| format!("client {place}: sends {part} bytes and is gone"));
        self.say(id, &bytes[..part]);
        if self.random.chance(500) {
            self.tally.hang_ups += 1;
            self.peer_closes(id);
        } else {
            self.tally.resets += 1;
            self.peer_resets(id);
        }
        self.app_is_gone(place);
    }

    pub(crate) fn app_cancels(&mut self, place: usize, session: u32) {
        let app = &self.apps[place];
        if app.session != session || app.wire.is_none() || app.conversation.is_answered() {
            return;
        }
        let Some((pid, secret)) = app.key.clone() else { return };
        let Some(id) = self.accept(Far::Canceller(place)) else { return };
        self.tell(|_| format!("client {place}: asks for a cancel on wire {}", id.0));
        self.tally.cancels_sent += 1;
        self.oracle.cancel_asked(session);
        let mut bytes = Vec::new();
        wire::write::cancel_request(&mut bytes, pid, &secret);
        self.say(id, &bytes);
        // It may come too early or get lost; the next one will not.
        self.after(2_000_000, Event::Cancel(place, session));
    }

    /// The pooler has taken bytes of a client: perhaps a request begins to wait.
    pub(crate) fn request_delivered(&mut self, id: WireId) {
        let Far::App(place) = self.wires[id.0].far else { return };
        // Half a message is no request yet.
        if self.apps[place].stage == Stage::Working && self.wires[id.0].up.len() == 0 {
            self.wires[id.0].asked = self.flow + self.jumped;
        }
        let taken = self.wires[id.0].up.taken;
        let Some(request) = &mut self.apps[place].request else { return };
        if taken >= request.header_end && request.since.is_none() {
            request.since = Some((self.flow, self.flow + self.jumped));
        }
        if taken >= request.token_end && !request.waiting && !self.oracle.was_seen(request.token) {
            request.waiting = true;
        }
    }

    /// The pooler has written to somebody; `tokens` name the requests in it.
    pub(crate) fn written(&mut self, id: WireId, worker: usize, tokens: &[Token]) {
        if let Some(token) = tokens.first() {
            self.check_release(id, *token);
        }
        for token in tokens {
            self.wires[id.0].owner = Some(token.session);
            let Some(place) = self.oracle.app_of(token.session) else { continue };
            self.oracle.seen(*token);
            let request = self.apps[place].request.filter(|request| request.token == *token);
            if let Some(request) = request.filter(|request| request.waiting) {
                self.check_turn(place, request, worker, id);
                if let Some(request) = &mut self.apps[place].request {
                    request.waiting = false;
                }
            }
        }
    }
}

/// So many bytes of a request show what it needs: its header, and of some the first byte of a name.
fn head_of(bytes: &[u8]) -> u64 {
    let named = matches!(bytes.first(), Some(b'P' | b'B' | b'D'));
    wire::HEADER as u64 + u64::from(named)
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}
