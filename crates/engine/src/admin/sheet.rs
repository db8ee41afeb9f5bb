//! A table: columns, and rows of typed cells that are written down in the end.
//!
//!     show ──► cells, row by row ──► RowDescription, DataRow… in the formats that are wanted
//!
//! Text is what PgBouncer sends; drivers of the extended protocol may ask for PostgreSQL's binary
//! formats. A number that does not fit its column is shown as the largest one that does. Does not
//! know any table.

use std::ops::Range;

use wire::write;

/// The type that a column is declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Int4,
    Int8,
    Numeric,
}

/// Name and type of a column.
pub(crate) type Column = (&'static str, Type);

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

/// The formats of the columns of a table: none for all text, one for all alike, or one for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Formats(pub(crate) Vec<Format>);

/// A table under way: rows are added cell by cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sheet {
    columns: &'static [Column],
    /// Row by row.
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    Null,
    Text(Box<[u8]>),
    Number(i64),
}

impl Sheet {
    pub(crate) fn new(columns: &'static [Column]) -> Self {
        Self { columns, cells: Vec::new() }
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.cells.push(Cell::Text(value.into()));
        self
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    pub(crate) fn number(&mut self, value: impl Into<u64>) -> &mut Self {
        self.signed(i64::try_from(value.into()).unwrap_or(i64::MAX))
    }

    pub(crate) fn signed(&mut self, value: impl Into<i64>) -> &mut Self {
        self.cells.push(Cell::Number(value.into()));
        self
    }

    pub(crate) fn null(&mut self) -> &mut Self {
        self.cells.push(Cell::Null);
        self
    }

    pub(crate) fn text_or_null(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(value),
            None => self.null(),
        }
    }

    /// Ends the current row.
    pub(crate) fn end_row(&mut self) {
        let row = self.cells.rchunks_exact(self.columns.len()).next().unwrap_or_default();
        debug_assert!(self.cells.len().is_multiple_of(self.columns.len()), "a value for each");
        debug_assert!(
            row.iter().zip(self.columns).all(|(cell, (_, kind))| cell.fits(*kind)),
            "each value is of the type of its column"
        );
    }

    pub(crate) fn columns(&self) -> &'static [Column] {
        self.columns
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.cells.len() / self.columns.len()
    }

    /// Appends a DataRow for each of these rows.
    pub(crate) fn write(&self, rows: Range<usize>, formats: &Formats, out: &mut Vec<u8>) {
        let (mut values, mut ends) = (Vec::new(), Vec::new());
        let chosen = self.cells.chunks_exact(self.columns.len()).skip(rows.start).take(rows.len());
        for row in chosen {
            values.clear();
            ends.clear();
            for (place, (cell, (_, kind))) in row.iter().zip(self.columns).enumerate() {
                let is_value = cell.write(*kind, formats.of(place), &mut values);
                ends.push(is_value.then_some(values.len()));
            }
            let mut start = 0;
            let cut = ends.iter().map(|end| {
                let end = (*end)?;
                let value = values.get(start..end);
                start = end;
                value
            });
            write::data_row(out, &cut.collect::<Vec<_>>());
        }
    }
}

impl Cell {
    fn fits(&self, kind: Type) -> bool {
        match self {
            Self::Null => true,
            Self::Text(_) => kind == Type::Text,
            Self::Number(_) => kind != Type::Text,
        }
    }

    /// Appends the value; a null has none.
    fn write(&self, kind: Type, format: Format, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Null => return false,
            // The same bytes in both formats.
            Self::Text(text) => out.extend_from_slice(text),
            Self::Number(number) => match format {
                Format::Text => out.extend_from_slice(kind.clamp(*number).to_string().as_bytes()),
                Format::Binary => kind.write_binary(kind.clamp(*number), out),
            },
        }
        true
    }
}

impl Type {
    fn clamp(self, number: i64) -> i64 {
        match self {
            Self::Int4 => number.clamp(i32::MIN.into(), i32::MAX.into()),
            Self::Text | Self::Int8 | Self::Numeric => number,
        }
    }

    /// PostgreSQL's binary format of a number of this type.
    fn write_binary(self, number: i64, out: &mut Vec<u8>) {
        match self {
            Self::Int4 => out.extend_from_slice(&(number as i32).to_be_bytes()),
            Self::Int8 => out.extend_from_slice(&number.to_be_bytes()),
            Self::Numeric => write_numeric(number, out),
            Self::Text => out.extend_from_slice(number.to_string().as_bytes()),
        }
    }

    /// What RowDescription says of a type: its oid and size (PostgreSQL's `pg_type`).
    fn describe(self) -> (u32, i16) {
        match self {
            Self::Text => (25, -1),
            Self::Int4 => (23, 4),
            Self::Int8 => (20, 8),
            Self::Numeric => (1700, -1),
        }
    }
}

/// Digits of base 10,000, most significant first, behind their count, the weight of the first, the
/// sign and the scale (`numeric_send`).
fn write_numeric(number: i64, out: &mut Vec<u8>) {
    const BASE: u64 = 10_000;
    const NEGATIVE: u16 = 0x4000;
    let mut digits = Vec::new();
    let mut rest = number.unsigned_abs();
    while rest > 0 {
        digits.push((rest % BASE) as u16);
        rest /= BASE;
    }
    let count = digits.len() as u16;
    let sign = if number < 0 { NEGATIVE } else { 0 };
    let (weight, scale) = (count.saturating_sub(1), 0);
    for word in [count, weight, sign, scale].into_iter().chain(digits.into_iter().rev()) {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

impl Formats {
    fn of(&self, place: usize) -> Format {
        match self.0.as_slice() {
            [] => Format::Text,
            [all] => *all,
            each => each.get(place).copied().unwrap_or(Format::Text),
        }
    }

    /// Whether they can be those of a table with so many columns.
    pub(crate) fn suit(&self, columns: usize) -> bool {
        self.0.len() <= 1 || self.0.len() == columns
    }
}

/// Appends a RowDescription.
pub(crate) fn describe(columns: &[Column], formats: &Formats, out: &mut Vec<u8>) {
    let described: Vec<_> = columns
        .iter()
        .enumerate()
        .map(|(place, (name, kind))| {
            let (oid, size) = kind.describe();
            (*name, oid, size, formats.of(place) as i16)
        })
        .collect();
    write::row_description_in(out, &described);
}

#[cfg(test)]
mod tests;
