//! Text of arrays: `{1,NULL,"a b"}`, and of the catalogue's vectors: `1 2`.

use std::fmt;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;

use super::TextColumn;
use super::cells::Cells;
use super::escape::{Escape, Mark};
use crate::sql_type::SqlType;
use crate::style::Style;

/// An array column: which items each row has, and the items' own column.
pub(super) struct ListCells<'a> {
    rows: Vec<Range<usize>>,
    items: Box<TextColumn<'a>>,
    vector: bool,
}

impl<'a> ListCells<'a> {
    /// `None` when the column is not a list of any layout.
    pub(super) fn new(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Option<Self> {
        let (rows, items) = rows_and_items(array)?;
        let item_type = match sql_type {
            SqlType::Array(item) => (**item).clone(),
            _ => SqlType::of_arrow(items.data_type()),
        };
        let vector = matches!(sql_type, SqlType::Int2Vector | SqlType::OidVector);
        Some(Self { rows, items: Box::new(TextColumn::new(items, &item_type, &style)), vector })
    }

    pub(super) fn write(&self, row: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        let items = self.rows[row].clone();
        if self.vector {
            return self.write_vector(items, out);
        }
        out.write_char('{')?;
        let first = items.start;
        for item in items {
            if item > first {
                out.write_char(',')?;
            }
            if self.items.is_null(item) {
                out.write_str("NULL")?;
            } else {
                self.write_item(item, out)?;
            }
        }
        out.write_char('}')
    }

    fn write_vector(&self, items: Range<usize>, mut out: &mut dyn fmt::Write) -> fmt::Result {
        let first = items.start;
        for item in items {
            if item > first {
                out.write_char(' ')?;
            }
            self.items.write_to(item, &mut out)?;
        }
        Ok(())
    }

    fn write_item(&self, item: usize, mut out: &mut dyn fmt::Write) -> fmt::Result {
        if matches!(self.items.cells(), Cells::List(_)) {
            return self.items.write_to(item, &mut out);
        }
        let mut look = Look::default();
        self.items.write_to(item, &mut (&mut look as &mut dyn fmt::Write))?;
        if !look.needs_quotes() {
            return self.items.write_to(item, &mut out);
        }
        out.write_char('"')?;
        self.items.write_to(item, &mut (&mut Escape { out, mark: Mark::Backslash } as &mut dyn fmt::Write))?;
        out.write_char('"')
    }
}

fn rows_and_items(array: &ArrayRef) -> Option<(Vec<Range<usize>>, &ArrayRef)> {
    Some(match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list_opt::<i32>()?;
            (list.value_offsets().windows(2).map(|w| index(w[0])..index(w[1])).collect(), list.values())
        }
        DataType::LargeList(_) => {
            let list = array.as_list_opt::<i64>()?;
            (list.value_offsets().windows(2).map(|w| index(w[0])..index(w[1])).collect(), list.values())
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list_opt()?;
            let size = index(*size);
            ((0..list.len()).map(|row| row * size..(row + 1) * size).collect(), list.values())
        }
        DataType::ListView(_) => {
            let list = array.as_list_view_opt::<i32>()?;
            (views(list.offsets(), list.sizes()), list.values())
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view_opt::<i64>()?;
            (views(list.offsets(), list.sizes()), list.values())
        }
        _ => return None,
    })
}

fn views<T: Copy + TryInto<usize>>(offsets: &[T], sizes: &[T]) -> Vec<Range<usize>> {
    offsets.iter().zip(sizes).map(|(offset, size)| index(*offset)..index(*offset) + index(*size)).collect()
}

/// Offsets are never negative.
fn index<T: TryInto<usize>>(offset: T) -> usize {
    offset.try_into().unwrap_or_default()
}

/// Finds out whether an item must be quoted, without keeping it.
#[derive(Default)]
struct Look {
    special: bool,
    len: usize,
    /// Bytes that matched the word NULL so far.
    null: usize,
}

impl Look {
    fn needs_quotes(&self) -> bool {
        self.special || self.len == 0 || (self.len == 4 && self.null == 4)
    }
}

impl fmt::Write for Look {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.special |=
                matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
            if self.null == self.len && b"null".get(self.len) == Some(&byte.to_ascii_lowercase()) {
                self.null += 1;
            }
            self.len += 1;
        }
        Ok(())
    }
}
