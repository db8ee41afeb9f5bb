//! What a client may say, drawn at random: everything of the protocol, right and wrong, pipelined
//! without waiting for answers. Every talk ends outside of batches, transactions and COPY.

use wire::write;

use super::dice::Dice;

/// The messages of one client; `who` marks its queries.
pub(crate) fn talk(who: &str, dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut talk = Talk { who, count: 0, said: Vec::new() };
    for _ in 0..3 + dice.below(6) {
        talk.unit(dice);
    }
    talk.said
}

struct Talk<'a> {
    who: &'a str,
    count: u32,
    said: Vec<Vec<u8>>,
}

impl Talk<'_> {
    fn unit(&mut self, dice: &mut Dice) {
        if dice.once_in(4) {
            self.act("begin");
            for _ in 0..dice.below(4) {
                self.work(dice);
            }
            self.act(dice.pick(&["commit", "rollback"]));
        } else {
            self.work(dice);
        }
    }

    fn work(&mut self, dice: &mut Dice) {
        match dice.below(12) {
            0..=2 => self.select(),
            3 => match dice.pick(&["fail", "", "out", "notice"]) {
                "" => self.query(""),
                verb => self.act(verb),
            },
            4..=6 => self.batch(dice),
            7 => self.copy(dice),
            8 => self.batch_copy(dice),
            9 => {
                let oid = dice.pick(&[1, 1610]);
                self.say(|out| write::function_call(out, oid, &[]));
            }
            10 => {
                let name = format!("SET application_name='{} {}';", self.who, dice.below(3));
                self.query(&name);
            }
            _ => match dice.below(3) {
                0 => self.say(write::sync),
                1 => self.say(write::flush),
                _ => self.say(write::copy_done),
            },
        }
    }

    fn batch(&mut self, dice: &mut Dice) {
        for _ in 0..1 + dice.below(3) {
            self.count += 1;
            let select = format!("select {} {}", self.who, self.count);
            let sql = match dice.below(8) {
                0 => format!("fail {}", self.who),
                1 => format!("unparsable {}", self.who),
                2 => String::new(),
                _ => select,
            };
            let statement: &[u8] = if dice.once_in(10) { b"missing" } else { b"" };
            self.say(|out| write::parse(out, b"", sql.as_bytes(), &[]));
            if dice.once_in(3) {
                self.say(|out| write::describe(out, b'S', b""));
            }
            self.say(|out| write::bind(out, b"", statement, &[], &[], &[]));
            if dice.once_in(3) {
                self.say(|out| write::describe(out, b'P', b""));
            }
            self.say(|out| write::execute(out, b"", 0));
            match dice.below(8) {
                0 => self.say(write::flush),
                1 => self.say(|out| write::close(out, b'S', b"")),
                2 => self.say(|out| write::function_call(out, 1, &[])),
                _ => {}
            }
        }
        if dice.once_in(6) {
            self.select();
        }
        self.say(write::sync);
    }

    fn copy(&mut self, dice: &mut Dice) {
        self.act(dice.pick(&["copy", "copy", "doomed"]));
        self.rows(dice);
    }

    fn batch_copy(&mut self, dice: &mut Dice) {
        let verb = dice.pick(&["copy", "copy", "copy", "doomed", "fail"]);
        let sql = format!("{verb} {}", self.who);
        self.say(|out| write::parse(out, b"", sql.as_bytes(), &[]));
        self.say(|out| write::bind(out, b"", b"", &[], &[], &[]));
        self.say(|out| write::execute(out, b"", 0));
        for _ in 0..dice.below(3) {
            self.say(write::sync);
        }
        self.rows(dice);
        if dice.once_in(3) {
            self.say(write::flush);
        }
        self.say(write::sync);
    }

    fn rows(&mut self, dice: &mut Dice) {
        for _ in 0..dice.below(4) {
            let row: &[u8] = if dice.once_in(6) { b"bad" } else { b"good" };
            self.say(|out| write::copy_data(out, row));
            match dice.below(8) {
                0 => self.say(write::flush),
                1 => self.say(write::sync),
                _ => {}
            }
        }
        match dice.once_in(5) {
            true => self.say(|out| write::copy_fail(out, "no more")),
            false => self.say(write::copy_done),
        }
    }

    fn select(&mut self) {
        self.count += 1;
        let sql = format!("select {} {}", self.who, self.count);
        self.query(&sql);
    }

    fn act(&mut self, verb: &str) {
        let sql = format!("{verb} {}", self.who);
        self.query(&sql);
    }

    fn query(&mut self, sql: &str) {
        self.say(|out| write::query(out, sql.as_bytes()));
    }

    fn say(&mut self, build: impl FnOnce(&mut Vec<u8>)) {
        let mut message = Vec::new();
        build(&mut message);
        self.said.push(message);
    }
}
