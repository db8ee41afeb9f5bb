//! What makes a list of settings into a struct and a table.
//!
//! ```text
//! settings! { … } ──► struct Settings   one public field for each entry
//!                 └─► TABLE             a Row for each entry: how to set, print, compare, copy it
//! ```
//!
//! Knows no single setting.

use super::Settings;
use super::kinds::{Range, Unfit};

/// When a setting may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Only at start: RELOAD and SET leave it as it is.
    Boot,
    /// While running.
    Live,
}

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It does what PgBouncer's does.
    Works,
    /// It is read and shown, but does not work yet: a value other than the default is worth a
    /// warning.
    Later,
    /// It works, and PgBouncer has none of the name: it may also come from the environment.
    Own,
}

/// One setting of `[pgbouncer]`.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub key: &'static str,
    /// What SHOW CONFIG prints as its default; `None` is NULL.
    pub default: Option<&'static str>,
    /// When it may change.
    pub when: When,
    /// What becomes of it.
    pub standing: Standing,
    /// Its paragraph in the manual.
    pub doc: &'static str,
    /// What a value looks like, for the manual.
    pub(crate) kind: &'static str,
    /// The numbers that are accepted.
    pub(crate) range: Range,
    pub(super) set: fn(&mut Settings, &str, Range) -> Result<(), Unfit>,
    pub(super) print: fn(&Settings) -> Option<String>,
    pub(super) same: fn(&Settings, &Settings) -> bool,
    pub(super) copy: fn(&Settings, &mut Settings),
}

impl Settings {
    /// Sets one setting from its text, as a line of the file or SET does; a refused text changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// Why the name or the text is refused, in PgBouncer's words where it has any.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let Some(row) = super::TABLE.iter().find(|row| row.key == key) else {
            return Err(format!("unknown parameter: pgbouncer/{key}"));
        };
        (row.set)(self, text, row.range).map_err(|unfit| unfit.why(key, text))?;
        self.written.insert(row.key, text.to_owned());
        Ok(())
    }

    /// What SHOW CONFIG prints: the value, or for lists and empty texts what was written.
    #[must_use]
    pub fn show(&self, row: &Row) -> Option<String> {
        let written = || self.written.get(row.key).map(String::as_str).or(row.default);
        (row.print)(self).or_else(|| written().map(str::to_owned))
    }

    /// Whether both have the same value for one setting, however it was written.
    #[must_use]
    pub fn agrees(&self, other: &Self, row: &Row) -> bool {
        (row.same)(self, other)
    }

    /// Takes over the value of one setting.
    pub fn copy(&mut self, from: &Self, row: &Row) {
        (row.copy)(from, self);
        match from.written.get(row.key) {
            Some(text) => self.written.insert(row.key, text.clone()),
            None => self.written.remove(row.key),
        };
    }
}

impl Default for Settings {
    /// Every setting as if the file did not name it.
    fn default() -> Self {
        let mut settings = Self::blank();
        for row in super::TABLE {
            let set = row.default.map(|text| (row.set)(&mut settings, text, row.range));
            debug_assert!(!matches!(set, Some(Err(_))), "{} has a bad default", row.key);
        }
        settings
    }
}

/// Declares the struct of settings and its table from one list; see `settings.rs` for the form of
/// an entry.
macro_rules! settings {
    (@standing) => { Standing::Works };
    (@standing later) => { Standing::Later };
    (@standing own) => { Standing::Own };
    (@range) => { (i64::MIN, i64::MAX) };
    (@range $low:literal $high:literal) => { ($low, $high) };
    ($(
        $(#[doc = $doc:literal])+
        $key:ident: $type:ty = $default:expr, $when:ident $([$standing:ident])?
            $(, $low:literal..=$high:literal)?;
    )+) => {
        /// The section `[pgbouncer]`, one field for each setting.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $( $(#[doc = $doc])+ pub $key: $type, )+
            /// The texts given to [`Settings::set`], because SHOW CONFIG prints lists as they were
            /// written.
            pub written: std::collections::BTreeMap<&'static str, String>,
        }

        impl Settings {
            fn blank() -> Self {
                Self {
                    $( $key: Default::default(), )+
                    written: std::collections::BTreeMap::new(),
                }
            }
        }

        /// Every setting in the order of SHOW CONFIG: PgBouncer's own first, then ours.
        pub const TABLE: &[Row] = &[$(
            Row {
                key: stringify!($key),
                default: $default,
                when: When::$when,
                standing: settings!(@standing $($standing)?),
                doc: concat!($($doc),+),
                kind: <$type as kinds::Kind>::NAME,
                range: settings!(@range $($low $high)?),
                set: |settings, text, range| {
                    settings.$key = kinds::Kind::parse(text, range)?;
                    Ok(())
                },
                print: |settings| kinds::Kind::print(&settings.$key),
                same: |left, right| left.$key == right.$key,
                copy: |from, to| to.$key.clone_from(&from.$key),
            },
        )+];
    };
}
pub(super) use settings;
