//! The users of `auth_file` (`userlist.txt`), in PgBouncer's dialect.
//!
//! ```text
//! "user" "secret" whatever else
//! ; a comment
//! ```
//!
//! A quote inside a field is doubled. The first malformed line stops the reading; the users before
//! it stay. Reading the file and logging the complaints is the caller's job.

use std::collections::BTreeMap;
use std::fmt;

use crate::secret::Secret;

/// The users of an `auth_file` with their secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Userlist {
    /// In file order.
    users: Vec<(Box<[u8]>, Secret)>,
    /// Where in `users` a name stands.
    places: BTreeMap<Box<[u8]>, usize>,
    has_verifiers: bool,
}

/// What is wrong with a line of an `auth_file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Complaint {
    /// The line, counted from 1.
    pub line: usize,
    /// The text for the log; PgBouncer's where it has one.
    pub why: &'static str,
}

impl Userlist {
    /// Reads the contents of an `auth_file`.
    ///
    /// A malformed line, a user name of 128 bytes or more, or a password of 65531 bytes or more
    /// ends
    /// the reading with a complaint; an unusable SCRAM secret only locks its user.
    #[must_use]
    pub fn parse(text: &[u8]) -> (Self, Vec<Complaint>) {
        let mut list = Self::default();
        let mut complaints = Vec::new();
        let mut reader = Reader { rest: text, line: 1 };
        while reader.skip_to_entry() {
            let line = reader.line;
            match reader.entry() {
                Ok((user, password)) => {
                    let secret = Secret::parse(&password);
                    if secret.is_empty() && !password.is_empty() {
                        complaints.push(Complaint { line, why: LOCKED });
                    }
                    list.add(user.into(), secret);
                }
                Err(why) => {
                    complaints.push(Complaint { line, why });
                    break;
                }
            }
        }
        list.has_verifiers =
            list.users.iter().any(|(_, secret)| matches!(secret, Secret::Scram(_)));
        (list, complaints)
    }

    /// Returns the secret of a user; the last one when the file repeats the user.
    #[must_use]
    pub fn find(&self, user: &[u8]) -> Option<&Secret> {
        let place = *self.places.get(user)?;
        self.users.get(place).map(|(_, secret)| secret)
    }

    /// Tells whether any secret is a SCRAM verifier, so that a password in clear takes time to
    /// check.
    #[must_use]
    pub fn has_verifiers(&self) -> bool {
        self.has_verifiers
    }

    /// Returns the number of different users.
    #[must_use]
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Tells whether there is no user.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Returns the users and their secrets, in the order in which the file first names them.
    pub fn users(&self) -> impl Iterator<Item = (&[u8], &Secret)> {
        self.users.iter().map(|(user, secret)| (&**user, secret))
    }

    fn add(&mut self, user: Box<[u8]>, secret: Secret) {
        let known = self.places.get(&user).and_then(|place| self.users.get_mut(*place));
        if let Some((_, last)) = known {
            *last = secret;
        } else {
            self.places.insert(user.clone(), self.users.len());
            self.users.push((user, secret));
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (line {})", self.why, self.line)
    }
}

const USER_MAX: usize = 127;
const PASSWORD_MAX: usize = 65_530;

const BROKEN: &str = "broken auth file";
const USER_TOO_LONG: &str = "username too long in auth file";
const PASSWORD_TOO_LONG: &str = "password too long in auth file";
const LOCKED: &str = "SCRAM secret with unacceptable iteration count in auth file";

/// What is not yet read.
struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
}

impl Reader<'_> {
    /// Skips blanks, empty lines and comments; false at the end of the text.
    fn skip_to_entry(&mut self) -> bool {
        loop {
            match self.rest {
                [] => return false,
                [b';', ..] => self.skip_line(),
                [b' ' | b'\t'..=b'\r', ..] => self.skip_byte(),
                _ => return true,
            }
        }
    }

    /// Reads `"user" "password"` and skips the rest of the line.
    fn entry(&mut self) -> Result<(Vec<u8>, Vec<u8>), &'static str> {
        let user = self.field()?;
        if user.len() > USER_MAX {
            return Err(USER_TOO_LONG);
        }
        while !matches!(self.rest, [] | [b'"' | b'\n', ..]) {
            self.skip_byte();
        }
        let password = self.field()?;
        if password.len() > PASSWORD_MAX {
            return Err(PASSWORD_TOO_LONG);
        }
        self.skip_line();
        Ok((user, password))
    }

    /// Reads a quoted field, which may go over several lines but holds no zero byte.
    fn field(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut field = Vec::new();
        let [b'"', ..] = self.rest else {
            return Err(BROKEN);
        };
        self.skip_byte();
        loop {
            match self.rest {
                [] | [0, ..] => return Err(BROKEN),
                [b'"', b'"', ..] => {
                    field.push(b'"');
                    self.skip_byte();
                }
                [b'"', ..] => {
                    self.skip_byte();
                    return Ok(field);
                }
                [byte, ..] => field.push(*byte),
            }
            self.skip_byte();
        }
    }

    fn skip_line(&mut self) {
        while !matches!(self.rest, [] | [b'\n', ..]) {
            self.skip_byte();
        }
    }

    fn skip_byte(&mut self) {
        if let [byte, rest @ ..] = self.rest {
            self.line = self.line.saturating_add(usize::from(*byte == b'\n'));
            self.rest = rest;
        }
    }
}

#[cfg(test)]
mod tests;
