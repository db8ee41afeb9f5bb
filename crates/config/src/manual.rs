//! The manual `docs/configuration.md`, written from the tables of settings and keys.
//!
//! What the tables cannot say, the syntax of the files and the meaning of the sections, stands
//! here.

use std::fmt::Write;

use crate::entries::{DATABASE_KEYS, Key, Takes, USER_KEYS};
use crate::settings::{NOT_YET, Row, TABLE, When};

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
    let names: Vec<String> = NOT_YET.iter().map(|name| format!("`{name}`")).collect();
    push_wrapped(&mut page, &names.join(", "));
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
    let line = format!("\n### {}\n\n{}{range}; default: {default}; {when}.\n\n", row.key, row.kind);
    page.push_str(&line);
    push_wrapped(page, row.doc);
}

fn push_keys<Entry>(page: &mut String, keys: &[Key<Entry>]) {
    page.push_str("\n| key | meaning |\n|---|---|\n");
    for key in keys {
        let doc = match key.takes {
            Takes::Value(_) => key.doc,
            Takes::NotYet => "Not supported yet.",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| `{}` | {doc} |", key.name);
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

pgweir reads PgBouncer's configuration files. Settings of PgBouncer that are not supported yet are
refused by name, at start and on reload, rather than ignored.

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
says, and that before `[pgbouncer]`.
";

const PEERS: &str = "
## [peers]

Not supported yet.

## Settings that are not supported yet

";

#[cfg(test)]
mod tests;
