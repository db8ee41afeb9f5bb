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
    /// What is wrong.
    pub flaw: Flaw,
}

/// What may be wrong with a line of an `auth_file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It does not begin with a user name in quotes.
    NoUser,
    /// No password in quotes follows the user name.
    NoPassword,
    /// A quote is not closed.
    Unclosed,
    /// A field holds a zero byte.
    ZeroByte,
    /// The user name has 128 bytes or more.
    UserTooLong,
    /// The password has 65531 bytes or more.
    PasswordTooLong,
    /// The SCRAM secret cannot be used: its user is locked.
    Locked,
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
                        complaints.push(Complaint { line, flaw: Flaw::Locked });
                    }
                    list.add(user.into(), secret);
                }
                Err(flaw) => {
                    complaints.push(Complaint { line, flaw });
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
        write!(out, "{} (line {})", self.flaw, self.line)
    }
}

impl Flaw {
    /// Whether the reading ends here, so that the users of later lines are not known.
    #[must_use]
    pub fn ends_reading(self) -> bool {
        self != Self::Locked
    }
}

impl fmt::Display for Flaw {
    /// The text for the log, which begins with PgBouncer's where it has one.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoUser => "broken auth file: expected a user name in double quotes",
            Self::NoPassword => {
                "broken auth file: expected a password in double quotes behind the user name"
            }
            Self::Unclosed => "broken auth file: a double quote is not closed",
            Self::ZeroByte => "broken auth file: zero byte",
            Self::UserTooLong => "username too long in auth file",
            Self::PasswordTooLong => "password too long in auth file",
            Self::Locked => "SCRAM secret with unacceptable iteration count in auth file",
        })
    }
}

const USER_MAX: usize = 127;
const PASSWORD_MAX: usize = 65_530;

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
    fn entry(&mut self) -> Result<(Vec<u8>, Vec<u8>), Flaw> {
        let user = self.field(Flaw::NoUser)?;
        if user.len() > USER_MAX {
            return Err(Flaw::UserTooLong);
        }
        while !matches!(self.rest, [] | [b'"' | b'\n', ..]) {
            self.skip_byte();
        }
        let password = self.field(Flaw::NoPassword)?;
        if password.len() > PASSWORD_MAX {
            return Err(Flaw::PasswordTooLong);
        }
        self.skip_line();
        Ok((user, password))
    }

    /// Reads a quoted field, which may go over several lines but holds no zero byte.
    fn field(&mut self, missing: Flaw) -> Result<Vec<u8>, Flaw> {
        let mut field = Vec::new();
        let [b'"', ..] = self.rest else {
            return Err(missing);
        };
        self.skip_byte();
        loop {
            match self.rest {
                [] => return Err(Flaw::Unclosed),
                [0, ..] => return Err(Flaw::ZeroByte),
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
