//! One row as values: what a read of one key finds, on its way to a client without the arrays of a batch.

use std::ops::Range;

use super::sql_type::SqlType;

/// A value of one of the types that are shown as they are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    /// `unscaled * 10^-scale`, with as many digits behind the point.
    Decimal {
        unscaled: i64,
        scale: u8,
    },
    Text(&'a str),
    /// One that is shown with spaces up to so many characters.
    Char(&'a str, u32),
    Jsonb(&'a str),
    Bytea(&'a [u8]),
    Uuid([u8; 16]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01.
    Timestamp(i64),
    Timestamptz(i64),
}

impl Value<'_> {
    /// Whether values of this type are among them.
    pub fn has_type(sql_type: &SqlType) -> bool {
        use SqlType as T;
        matches!(
            &*sql_type.bare(),
            T::Bool
                | T::Int2
                | T::Int4
                | T::Int8
                | T::Float4
                | T::Float8
                | T::Numeric(_)
                | T::Text
                | T::Varchar(_)
                | T::Char(_)
                | T::Json
                | T::Jsonb
                | T::Bytea
                | T::Uuid
                | T::Date
                | T::Timestamp
                | T::Timestamptz
        )
    }
}

/// A row's values in the order of the result's columns.
#[derive(Debug, Clone)]
pub struct SingleRow {
    cells: Vec<Cell>,
    texts: String,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Cell {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    Decimal { unscaled: i64, scale: u8 },
    Text(Range<usize>),
    Char(Range<usize>, u32),
    Jsonb(Range<usize>),
    Bytea(Range<usize>),
    Uuid([u8; 16]),
    Date(i32),
    Timestamp(i64),
    Timestamptz(i64),
}

impl SingleRow {
    /// Of so many columns, all NULL.
    pub fn nulls(columns: usize) -> Self {
        Self { cells: vec![Cell::Null; columns], texts: String::new(), bytes: Vec::new() }
    }

    pub fn set(&mut self, column: usize, value: Value<'_>) {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Bool(v) => Cell::Bool(v),
            Value::Int2(v) => Cell::Int2(v),
            Value::Int4(v) => Cell::Int4(v),
            Value::Int8(v) => Cell::Int8(v),
            Value::Float4(v) => Cell::Float4(v),
            Value::Float8(v) => Cell::Float8(v),
            Value::Decimal { unscaled, scale } => Cell::Decimal { unscaled, scale },
            Value::Text(v) => Cell::Text(self.keep(v)),
            Value::Char(v, width) => Cell::Char(self.keep(v), width),
            Value::Jsonb(v) => Cell::Jsonb(self.keep(v)),
            Value::Bytea(v) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(v);
                Cell::Bytea(start..self.bytes.len())
            }
            Value::Uuid(v) => Cell::Uuid(v),
            Value::Date(v) => Cell::Date(v),
            Value::Timestamp(v) => Cell::Timestamp(v),
            Value::Timestamptz(v) => Cell::Timestamptz(v),
        };
        if let Some(slot) = self.cells.get_mut(column) {
            *slot = cell;
        }
    }

    /// Only the first columns stay.
    pub fn truncate(&mut self, columns: usize) {
        self.cells.truncate(columns);
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.texts.len();
        self.texts.push_str(text);
        start..self.texts.len()
    }

    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.cells.iter().map(|cell| match cell {
            Cell::Null => Value::Null,
            Cell::Bool(v) => Value::Bool(*v),
            Cell::Int2(v) => Value::Int2(*v),
            Cell::Int4(v) => Value::Int4(*v),
            Cell::Int8(v) => Value::Int8(*v),
            Cell::Float4(v) => Value::Float4(*v),
            Cell::Float8(v) => Value::Float8(*v),
            Cell::Decimal { unscaled, scale } => Value::Decimal { unscaled: *unscaled, scale: *scale },
            Cell::Text(range) => Value::Text(&self.texts[range.clone()]),
            Cell::Char(range, width) => Value::Char(&self.texts[range.clone()], *width),
            Cell::Jsonb(range) => Value::Jsonb(&self.texts[range.clone()]),
            Cell::Bytea(range) => Value::Bytea(&self.bytes[range.clone()]),
            Cell::Uuid(v) => Value::Uuid(*v),
            Cell::Date(v) => Value::Date(*v),
            Cell::Timestamp(v) => Value::Timestamp(*v),
            Cell::Timestamptz(v) => Value::Timestamptz(*v),
        })
    }
}
