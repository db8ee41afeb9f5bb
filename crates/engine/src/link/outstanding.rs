//! The queue of requests that still await an answer.
//!
//!     client ──► Parse Bind Execute Sync        pushes four entries
//!     server ──► 1 2 C Z                        each takes its own off the front
//!     server ──► 1 E Z                          E: everything up to the Sync will not be answered
//!
//! COPY FROM STDIN is where the two sides may disagree: while the server copies it ignores Sync and
//! Flush, but whether a Sync that was sent before a *failed* copy was read during the copy or after
//! it cannot be seen from outside. Then the queue is *uncertain*, and before the server may be
//! given away a probe (an empty Query) is sent: when its EmptyQueryResponse comes, everything sent
//! before it has been answered. (PostgreSQL: CopyGetData in copyfromparse.c, SocketBackend in
//! postgres.c.)

use std::collections::VecDeque;

use wire::tag::{backend, frontend};

/// The most requests that may await an answer on one server.
pub(crate) const REQUESTS_MAX: usize = 1 << 20;

/// What was asked of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Query,
    FunctionCall,
    Parse,
    Bind,
    Describe,
    Execute,
    Close,
    /// Our own Close of the unnamed statement, ahead of a message of the client's batch.
    OwnClose,
    Sync,
    /// CopyDone or CopyFail; never answered by itself.
    CopyEnd,
    /// Our own empty Query, not answered yet.
    Probe,
    /// Our own empty Query, of which only the ReadyForQuery is still missing.
    ProbeAnswered,
}

impl Request {
    /// Whether it belongs to a batch, which only Sync ends.
    fn is_of_batch(self) -> bool {
        matches!(
            self,
            Self::Parse
                | Self::Bind
                | Self::Describe
                | Self::Execute
                | Self::Close
                | Self::OwnClose
        )
    }
}

/// How the server deals with what it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It answers request by request.
    Answering,
    /// It reads COPY data and ignores Sync and Flush.
    CopyIn,
    /// After an error in a batch it throws everything away up to the next Sync.
    Skipping,
}

/// What to do with a message of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It is for the client.
    Forward,
    /// It answers a request of our own.
    Swallow,
    /// It answers nothing that was asked: the two sides have lost each other.
    Unexpected,
}

/// What one request takes, in bytes.
pub(crate) const REQUEST_SIZE: usize = size_of::<Request>();

/// The requests of the linked client that await an answer.
#[derive(Debug)]
pub(crate) struct Outstanding {
    queue: VecDeque<Request>,
    phase: Phase,
    /// The client has begun a batch and not ended it with Sync: a portal may be open.
    batch_open: bool,
    /// More ReadyForQuery may come than the queue knows of.
    uncertain: bool,
    /// Something that answers has come since the last ReadyForQuery.
    answering: bool,
}

impl Outstanding {
    pub(crate) fn new() -> Self {
        let phase = Phase::Answering;
        Self {
            queue: VecDeque::new(),
            phase,
            batch_open: false,
            uncertain: false,
            answering: false,
        }
    }

    /// Whether everything has been answered and no batch is open.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_answered() && !self.uncertain
    }

    /// Whether only a probe can tell that everything has been answered.
    pub(crate) fn wants_probe(&self) -> bool {
        self.is_answered() && self.uncertain
    }

    fn is_answered(&self) -> bool {
        self.queue.is_empty() && !self.batch_open && self.phase == Phase::Answering
    }

    /// Whether nothing awaits an answer, be a batch open or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many requests await an answer.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether more requests await an answer than may.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= REQUESTS_MAX
    }

    /// Notes a message that goes to the server.
    pub(crate) fn asked(&mut self, tag: u8) {
        let (request, batch_open) = match tag {
            frontend::QUERY => (Request::Query, false),
            frontend::FUNCTION_CALL => (Request::FunctionCall, false),
            frontend::SYNC => (Request::Sync, false),
            frontend::PARSE => (Request::Parse, true),
            frontend::BIND => (Request::Bind, true),
            frontend::DESCRIBE => (Request::Describe, true),
            frontend::EXECUTE => (Request::Execute, true),
            frontend::CLOSE => (Request::Close, true),
            frontend::COPY_DONE | frontend::COPY_FAIL if !self.queue.is_empty() => {
                self.queue.push_back(Request::CopyEnd);
                return;
            }
            _ => return,
        };
        self.batch_open = batch_open;
        self.queue.push_back(request);
    }

    /// Notes that a Close of the unnamed statement goes to the server, ahead of the client's next
    /// message.
    pub(crate) fn closed(&mut self) {
        self.queue.push_back(Request::OwnClose);
    }

    /// Notes that a probe goes to the server.
    pub(crate) fn probed(&mut self) {
        self.queue.push_back(Request::Probe);
    }

    /// Notes a message that came from the server.
    pub(crate) fn heard(&mut self, tag: u8) -> Heard {
        match tag {
            backend::DATA_ROW => return Heard::Forward,
            backend::READY_FOR_QUERY => {
                let heard = self.ready();
                self.answering = false;
                return heard;
            }
            // What may come at any time answers nothing.
            backend::NOTICE_RESPONSE
            | backend::PARAMETER_STATUS
            | backend::NOTIFICATION_RESPONSE => return Heard::Forward,
            _ => self.answering = true,
        }
        match tag {
            backend::PARSE_COMPLETE => self.answers(Request::Parse),
            backend::BIND_COMPLETE => self.answers(Request::Bind),
            backend::CLOSE_COMPLETE if self.queue.front() == Some(&Request::OwnClose) => {
                self.pop();
                Heard::Swallow
            }
            backend::CLOSE_COMPLETE => self.answers(Request::Close),
            backend::ROW_DESCRIPTION | backend::NO_DATA => {
                if self.queue.front() == Some(&Request::Describe) {
                    self.pop();
                }
                Heard::Forward
            }
            backend::COMMAND_COMPLETE => {
                self.end_copy();
                self.executed()
            }
            backend::EMPTY_QUERY_RESPONSE if self.queue.front() == Some(&Request::Probe) => {
                self.queue[0] = Request::ProbeAnswered;
                Heard::Swallow
            }
            backend::EMPTY_QUERY_RESPONSE | backend::PORTAL_SUSPENDED => self.executed(),
            backend::COPY_IN_RESPONSE => {
                self.phase = Phase::CopyIn;
                Heard::Forward
            }
            backend::ERROR_RESPONSE => self.failed(),
            _ => Heard::Forward,
        }
    }

    fn answers(&mut self, request: Request) -> Heard {
        if self.queue.front() == Some(&request) {
            self.pop();
            Heard::Forward
        } else {
            Heard::Unexpected
        }
    }

    fn executed(&mut self) -> Heard {
        if self.queue.front() == Some(&Request::Execute) {
            self.pop();
        }
        Heard::Forward
    }

    /// Takes the front off, and what follows it but is never answered.
    fn pop(&mut self) -> Option<Request> {
        let front = self.queue.pop_front();
        while self.queue.front() == Some(&Request::CopyEnd) {
            self.queue.pop_front();
        }
        front
    }

    fn ready(&mut self) -> Heard {
        if self.phase == Phase::Skipping {
            self.phase = Phase::Answering;
            while let Some(request) = self.pop() {
                if request == Request::Sync {
                    return Heard::Forward;
                }
            }
            return if self.uncertain { Heard::Forward } else { Heard::Unexpected };
        }
        match self.queue.front() {
            // A query is answered before it is ready: this one ends a Sync that we know nothing of.
            Some(Request::Query | Request::FunctionCall) if self.uncertain && !self.answering => {
                Heard::Forward
            }
            Some(Request::Query | Request::FunctionCall | Request::Sync) => {
                self.phase = Phase::Answering;
                self.pop();
                Heard::Forward
            }
            Some(Request::ProbeAnswered) => {
                self.pop();
                self.uncertain = false;
                Heard::Swallow
            }
            _ if self.uncertain => Heard::Forward,
            _ => Heard::Unexpected,
        }
    }

    fn failed(&mut self) -> Heard {
        if self.phase == Phase::CopyIn {
            self.phase = Phase::Answering;
            self.forget_failed_copy();
        }
        if self.queue.front().is_some_and(|request| request.is_of_batch()) {
            self.phase = Phase::Skipping;
        }
        Heard::Forward
    }

    /// A copy has come to its good end: the server has read everything up to CopyDone, and ignored
    /// what was there.
    fn end_copy(&mut self) {
        if self.phase == Phase::CopyIn {
            self.phase = Phase::Answering;
            let end = self.queue.iter().position(|request| *request == Request::CopyEnd);
            let end = end.map_or(self.queue.len(), |end| end + 1);
            self.queue.drain(1.min(end)..end);
            // A Sync that the server has ignored did not end the batch.
            let last = self.queue.back();
            self.batch_open = last.is_some_and(|request| request.is_of_batch());
        }
    }

    /// A copy has failed: whether a Sync that was sent before its end has been ignored, or is still
    /// to be answered, cannot be known.
    fn forget_failed_copy(&mut self) {
        let end = self.queue.iter().position(|request| *request == Request::CopyEnd);
        let end = end.unwrap_or(self.queue.len());
        let mut place = 0;
        self.queue.retain(|request| {
            place += 1;
            let in_doubt = (2..=end).contains(&place) && *request == Request::Sync;
            self.uncertain |= in_doubt;
            !in_doubt
        });
        // Anything else that was sent in the middle of the copy has been refused, or will be heard.
        self.uncertain |= end > 1 && self.queue.len() > 1 && self.queue[1] != Request::CopyEnd;
    }
}

#[cfg(test)]
mod tests;
