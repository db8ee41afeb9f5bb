//! PostgreSQL's main loop in small, as an independent model (PostgresMain in postgres.c and
//! CopyGetData in copyfromparse.c).
//!
//! ```text
//! message ──► what PostgreSQL answers: rows, errors, COPY, skipping to Sync, transaction states
//! ```
//!
//! Its SQL is a verb and who says it, as in `begin me`: begin, commit, rollback, fail, unparsable,
//! copy, doomed (a COPY that fails before it has read anything), out, notice; `DISCARD ALL` and
//! `SET application_name='…';`; and nothing at all. Everything else is a query that returns itself
//! and the application_name that it ran under. Panics when somebody interferes in what somebody
//! else has begun.

use wire::{Report, TransactionStatus, frontend, tag, write};

/// One backend.
#[derive(Debug)]
pub(crate) struct Postgres {
    stage: Stage,
    status: TransactionStatus,
    /// A message of a batch has been acted on, and no Sync or Query has ended the batch.
    batch_open: bool,
    /// Whose batch or transaction it is, if anybody's.
    owner: Vec<u8>,
    name: Vec<u8>,
    statement: Vec<u8>,
    portal: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Answering,
    /// `ignore_till_sync`.
    Skipping,
    /// COPY FROM STDIN, begun by a Query or by an Execute.
    Copying {
        simple: bool,
    },
    Ended,
}

impl Postgres {
    pub(crate) fn new(application_name: &[u8]) -> Self {
        Self {
            stage: Stage::Answering,
            status: TransactionStatus::Idle,
            batch_open: false,
            owner: Vec::new(),
            name: application_name.to_vec(),
            statement: Vec::new(),
            portal: Vec::new(),
        }
    }

    /// Whether somebody else could go on here without noticing.
    pub(crate) fn is_clean(&self) -> bool {
        self.stage == Stage::Answering && self.status == TransactionStatus::Idle && !self.batch_open
    }

    /// Answers one message.
    pub(crate) fn hear(&mut self, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let body = wire::frame::body(message);
        match self.stage {
            Stage::Ended => {}
            Stage::Copying { simple } => self.copies(message[0], body, simple, &mut out),
            Stage::Skipping
                if !matches!(message[0], tag::frontend::SYNC | tag::frontend::TERMINATE) => {}
            Stage::Skipping | Stage::Answering => self.acts(message[0], body, &mut out),
        }
        out
    }

    fn acts(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) {
        match tag {
            tag::frontend::QUERY => {
                let sql = frontend::query(body).expect("a Query").to_vec();
                self.belongs_to(&sql);
                self.batch_open = false;
                if !self.run(&sql, true, out) {
                    write::ready_for_query(out, self.status);
                }
            }
            tag::frontend::FUNCTION_CALL => {
                self.batch_open = false;
                if self.status == TransactionStatus::Failed || body.starts_with(&[0, 0, 0, 1]) {
                    self.fail("42883", out);
                } else {
                    write::function_call_response(out, Some(b"result"));
                }
                write::ready_for_query(out, self.status);
            }
            tag::frontend::SYNC => {
                self.stage = Stage::Answering;
                self.batch_open = false;
                write::ready_for_query(out, self.status);
            }
            tag::frontend::TERMINATE => self.stage = Stage::Ended,
            tag::frontend::PARSE
            | tag::frontend::BIND
            | tag::frontend::DESCRIBE
            | tag::frontend::EXECUTE
            | tag::frontend::CLOSE => {
                if let (tag::frontend::PARSE, Ok(parse)) = (tag, frontend::parse(body)) {
                    self.belongs_to(parse.query);
                }
                self.batch_open = true;
                self.batch(tag, body, out);
            }
            // Flush, and COPY messages outside of COPY.
            _ => {}
        }
    }

    /// Notes who says this, and that nobody else is in the middle of something.
    fn belongs_to(&mut self, sql: &[u8]) {
        let who = match verb(sql) {
            b"SET" | b"DISCARD" => &[],
            _ => sql.split(|byte| *byte == b' ').nth(1).unwrap_or_default(),
        };
        if self.is_clean() {
            self.owner = who.to_vec();
        } else if !who.is_empty() {
            let free = self.owner.is_empty() || self.owner == who;
            assert!(free, "{} interferes with {}", who.escape_ascii(), self.owner.escape_ascii());
            self.owner = who.to_vec();
        }
    }

    fn batch(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) {
        match tag {
            tag::frontend::PARSE => {
                let parse = frontend::parse(body).expect("a Parse");
                let ends = matches!(verb(parse.query), b"commit" | b"rollback" | b"");
                if verb(parse.query) == b"unparsable"
                    || self.status == TransactionStatus::Failed && !ends
                {
                    return self.fail_batch("42601", out);
                }
                self.statement = parse.query.to_vec();
                write::parse_complete(out);
            }
            tag::frontend::BIND => {
                if frontend::bind(body).expect("a Bind").statement == b"missing" {
                    return self.fail_batch("26000", out);
                }
                self.portal = self.statement.clone();
                write::bind_complete(out);
            }
            tag::frontend::DESCRIBE => {
                let of_statement = frontend::describe(body).expect("a Describe").kind == b'S';
                let sql = if of_statement { &self.statement } else { &self.portal };
                if of_statement {
                    write::parameter_description(out, &[]);
                }
                match sql.starts_with(b"select") {
                    true => write::row_description(out, &[("a", 25, -1), ("b", 25, -1)]),
                    false => write::no_data(out),
                }
            }
            tag::frontend::CLOSE => write::close_complete(out),
            _ => {
                let sql = self.portal.clone();
                self.run(&sql, false, out);
            }
        }
    }

    /// Runs a statement; true when it waits for the rows of a COPY.
    fn run(&mut self, sql: &[u8], simple: bool, out: &mut Vec<u8>) -> bool {
        let fail = |postgres: &mut Self, out: &mut Vec<u8>| match simple {
            true => postgres.fail("22012", out),
            false => postgres.fail_batch("22012", out),
        };
        match verb(sql) {
            b"" => write::empty_query_response(out),
            b"commit" | b"rollback" => {
                self.status = TransactionStatus::Idle;
                write::command_complete(out, "COMMIT");
            }
            _ if self.status == TransactionStatus::Failed => fail(self, out),
            b"begin" => {
                self.status = TransactionStatus::Block;
                write::command_complete(out, "BEGIN");
            }
            b"fail" => fail(self, out),
            b"copy" => {
                self.stage = Stage::Copying { simple };
                write::copy_in_response(out, 1);
                return true;
            }
            b"doomed" => {
                write::copy_in_response(out, 1);
                fail(self, out);
            }
            b"out" => {
                write::copy_out_response(out, 1);
                write::copy_data(out, b"1\n");
                write::copy_done(out);
                write::command_complete(out, "COPY 1");
            }
            b"notice" => {
                write::notice_response(out, &report("NOTICE", "00000"));
                write::notification_response(out, 7, b"channel", b"payload");
                write::command_complete(out, "DO");
            }
            b"DISCARD" => {
                self.name.clear();
                write::parameter_status(out, b"application_name", b"");
                write::command_complete(out, "DISCARD ALL");
            }
            _ => self.select(sql, simple, out),
        }
        false
    }

    fn select(&mut self, sql: &[u8], simple: bool, out: &mut Vec<u8>) {
        let name = sql.strip_prefix(b"SET application_name='");
        if let Some(name) = name.and_then(|name| name.strip_suffix(b"';")) {
            self.name = name.to_vec();
            write::command_complete(out, "SET");
            return write::parameter_status(out, b"application_name", name);
        }
        if simple {
            write::row_description(out, &[("a", 25, -1), ("b", 25, -1)]);
        }
        write::data_row(out, &[Some(sql), Some(&self.name)]);
        write::command_complete(out, "SELECT 1");
    }

    fn copies(&mut self, tag: u8, body: &[u8], simple: bool, out: &mut Vec<u8>) {
        match tag {
            tag::frontend::COPY_DATA if !body.starts_with(b"bad") => return,
            tag::frontend::SYNC | tag::frontend::FLUSH => return,
            tag::frontend::COPY_DONE => {
                self.stage = Stage::Answering;
                write::command_complete(out, "COPY 1");
            }
            tag::frontend::COPY_DATA | tag::frontend::COPY_FAIL => {
                self.stage = Stage::Answering;
                match simple {
                    true => self.fail("22P02", out),
                    false => self.fail_batch("22P02", out),
                }
            }
            // PostgreSQL loses the synchronization here; nobody tries.
            _ => panic!("message {} during COPY", char::from(tag)),
        }
        if simple {
            write::ready_for_query(out, self.status);
        }
    }

    fn fail_batch(&mut self, code: &str, out: &mut Vec<u8>) {
        self.fail(code, out);
        self.stage = Stage::Skipping;
    }

    fn fail(&mut self, code: &str, out: &mut Vec<u8>) {
        if self.status == TransactionStatus::Block {
            self.status = TransactionStatus::Failed;
        }
        write::error_report(out, &report("ERROR", code));
    }
}

fn verb(sql: &[u8]) -> &[u8] {
    sql.split(|byte| *byte == b' ').next().unwrap_or_default()
}

fn report<'a>(severity: &'a str, code: &'a str) -> Report<'a> {
    Report { severity, code, message: "as you like it", detail: None, hint: None }
}
