//! The kinds of values: how each is read from text and printed by SHOW CONFIG.
//!
//! Integers are read as C's `strtol` with base 0 reads them (`16`, `0x10`, `020`), and the whole
//! text must be the number. Times are decimal numbers of seconds, held in microseconds and printed
//! as C's `%g`. Words are compared without case.
//!
//! Knows no setting by name.

/// A duration in microseconds.
pub type Micros = u64;

/// The lowest and the highest number accepted; of seconds for times.
pub(crate) type Range = (i64, i64);

/// Why a text is not a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It does not read as one.
    Malformed,
    /// It is a number, but not one between these.
    Outside(i64, i64),
    /// It does not work yet, and without it connections would be less safe than it says.
    Unsafe,
}

impl Unfit {
    /// The complaint about this text for this setting.
    pub(crate) fn why(self, key: &str, text: &str) -> String {
        match self {
            Self::Malformed => format!("invalid value \"{text}\" for parameter {key}"),
            Self::Outside(low, high) => format!(
                "invalid value \"{text}\" for parameter {key}: must be between {low} and {high}"
            ),
            Self::Unsafe => format!(
                "value \"{text}\" of {key} does not work yet, and without it connections would be \
                 less safe than it says"
            ),
        }
    }
}

/// A type that a setting may have.
pub(crate) trait Kind: Sized {
    /// What the manual calls it.
    const NAME: &'static str;

    /// Reads a value; the range only concerns numbers and times.
    fn parse(text: &str, range: Range) -> Result<Self, Unfit>;

    /// The value as SHOW CONFIG prints it, or `None` when only its text as written can tell.
    fn print(&self) -> Option<String>;
}

/// Integers differ only in the type's own limits.
macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Kind for $type {
            const NAME: &'static str = "integer";

            fn parse(text: &str, (low, high): Range) -> Result<Self, Unfit> {
                let (low, high) = (low.max(Self::MIN.into()), high.min(Self::MAX.into()));
                let number = parse_integer(text).ok_or(Unfit::Malformed)?;
                if number < low || number > high {
                    return Err(Unfit::Outside(low, high));
                }
                Self::try_from(number).map_err(|_| Unfit::Outside(low, high))
            }

            fn print(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )+};
}
integers!(u16, i32, u32);

impl Kind for bool {
    const NAME: &'static str = "0 or 1";

    /// PgBouncer: any number but 0 is taken for 1, words are not.
    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        parse_integer(text).map(|number| number != 0).ok_or(Unfit::Malformed)
    }

    fn print(&self) -> Option<String> {
        Some(u8::from(*self).to_string())
    }
}

impl Kind for Micros {
    const NAME: &'static str = "seconds";

    fn parse(text: &str, (low, high): Range) -> Result<Self, Unfit> {
        let (low, high) = (low.max(0), high.min(SECONDS_MAX));
        let decimal = |letter: u8| letter.is_ascii_digit() || b".eE+-".contains(&letter);
        if !text.bytes().all(decimal) {
            return Err(Unfit::Malformed);
        }
        let seconds: f64 = text.parse().map_err(|_| Unfit::Malformed)?;
        if seconds < low as f64 || seconds > high as f64 {
            return Err(Unfit::Outside(low, high));
        }
        Ok((seconds * 1e6).round() as Self)
    }

    fn print(&self) -> Option<String> {
        Some(print_g(*self as f64 / 1e6))
    }
}

impl Kind for String {
    const NAME: &'static str = "text";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        Ok(text.to_owned())
    }

    fn print(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl Kind for Option<String> {
    const NAME: &'static str = "text";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    fn print(&self) -> Option<String> {
        self.clone()
    }
}

impl Kind for Vec<String> {
    const NAME: &'static str = "list, separated by commas or blanks";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        let words = text.split(|letter: char| letter == ',' || letter.is_ascii_whitespace());
        Ok(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    fn print(&self) -> Option<String> {
        None
    }
}

/// How an idle server is checked before its next use (`server_check_query`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CheckQuery {
    /// Not at all.
    Never,
    /// By a simple query without a statement.
    #[default]
    Empty,
    /// By this query.
    Sql(String),
}

impl CheckQuery {
    /// The text of the query to send, if one is to be sent.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Never => None,
            Self::Empty => Some(""),
            Self::Sql(query) => Some(query),
        }
    }
}

impl Kind for CheckQuery {
    const NAME: &'static str = "text";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        Ok(match text {
            "" => Self::Never,
            "<empty>" => Self::Empty,
            query => Self::Sql(query.to_owned()),
        })
    }

    fn print(&self) -> Option<String> {
        let text = match self {
            Self::Never => "",
            Self::Empty => "<empty>",
            Self::Sql(query) => query,
        };
        Some(text.to_owned())
    }
}

/// When a server goes back to its pool (`pool_mode`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PoolMode {
    /// When the client leaves.
    #[default]
    Session,
    /// When the transaction ends.
    Transaction,
    /// When the statement ends; a transaction over several statements is refused.
    Statement,
}

impl PoolMode {
    /// The word in the configuration and in SHOW.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// Reads a pool mode.
pub(crate) fn parse_pool_mode(text: &str) -> Result<PoolMode, Unfit> {
    let modes = [PoolMode::Session, PoolMode::Transaction, PoolMode::Statement];
    let named = modes.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(text));
    named.ok_or(Unfit::Malformed)
}

impl Kind for PoolMode {
    const NAME: &'static str = "`session`, `transaction` or `statement`";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        parse_pool_mode(text)
    }

    fn print(&self) -> Option<String> {
        Some(self.as_str().to_owned())
    }
}

/// How clients prove who they are (`auth_type`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuthType {
    /// Not at all, and any user name will do.
    Any,
    /// Not at all, but the user must be known.
    Trust,
    /// By the password in clear.
    Plain,
    /// By the md5 exchange, or by SCRAM where the secret is a SCRAM verifier.
    #[default]
    Md5,
    /// By a TLS certificate.
    Cert,
    /// As the rules of `auth_hba_file` say.
    Hba,
    /// By an LDAP server.
    Ldap,
    /// By PAM.
    Pam,
    /// By SCRAM (RFC 5802 and RFC 7677).
    ScramSha256,
}

impl AuthType {
    /// The word in the configuration and in SHOW.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Trust => "trust",
            Self::Plain => "plain",
            Self::Md5 => "md5",
            Self::Cert => "cert",
            Self::Hba => "hba",
            Self::Ldap => "ldap",
            Self::Pam => "pam",
            Self::ScramSha256 => "scram-sha-256",
        }
    }

    const ALL: [Self; 9] = [
        Self::Any,
        Self::Trust,
        Self::Plain,
        Self::Md5,
        Self::Cert,
        Self::Hba,
        Self::Ldap,
        Self::Pam,
        Self::ScramSha256,
    ];
}

impl Kind for AuthType {
    const NAME: &'static str = "`any`, `trust`, `plain`, `md5` or `scram-sha-256`";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        match Self::ALL.into_iter().find(|auth| auth.as_str().eq_ignore_ascii_case(text)) {
            Some(Self::Cert | Self::Hba | Self::Ldap | Self::Pam) => Err(Unfit::Unsafe),
            auth => auth.ok_or(Unfit::Malformed),
        }
    }

    fn print(&self) -> Option<String> {
        Some(self.as_str().to_owned())
    }
}

/// Whether connections use TLS (`client_tls_sslmode`, `server_tls_sslmode`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    #[default]
    Disable,
    /// When the other side wants it.
    Allow,
    /// When the other side can.
    Prefer,
}

impl TlsMode {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Disable, "disable"), (Self::Allow, "allow"), (Self::Prefer, "prefer")];
}

impl Kind for TlsMode {
    const NAME: &'static str = "`disable`, `allow` or `prefer`";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        if ["require", "verify-ca", "verify-full"].into_iter().any(is) {
            return Err(Unfit::Unsafe);
        }
        let named = Self::ALL.into_iter().find(|(_, name)| is(name));
        named.map(|(mode, _)| mode).ok_or(Unfit::Malformed)
    }

    fn print(&self) -> Option<String> {
        let named = Self::ALL.iter().find(|(mode, _)| mode == self);
        named.map(|(_, name)| (*name).to_owned())
    }
}

/// The setting `auth_hba_file`, which may only be empty as long as its rules are not obeyed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HbaFile;

impl Kind for HbaFile {
    const NAME: &'static str = "empty";

    fn parse(text: &str, _: Range) -> Result<Self, Unfit> {
        if text.is_empty() { Ok(Self) } else { Err(Unfit::Unsafe) }
    }

    fn print(&self) -> Option<String> {
        Some(String::new())
    }
}

/// Reads an integer as `strtol` with base 0 does, if it is the whole text.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, base) = match hexadecimal {
        Some(digits) => (digits, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    // `from_str_radix` takes a second sign.
    if !digits.bytes().all(|letter| letter.is_ascii_alphanumeric()) {
        return None;
    }
    let number = i64::from_str_radix(digits, base).ok()?;
    Some(if negative { -number } else { number })
}

/// Reads a decimal integer, if it is the whole text: leading zeros mean nothing.
pub(crate) fn parse_decimal(text: &str) -> Option<i64> {
    // `parse` takes a sign, but neither spaces nor a second sign.
    text.parse().ok()
}

/// Prints a number as C's `%g` does: six significant digits, no trailing zeros.
fn print_g(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_zeros(&format!("{number:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// The longest time accepted, 136 years, so that sums of times do not overflow.
const SECONDS_MAX: i64 = u32::MAX as i64;

#[cfg(test)]
mod tests;
