//! What a transaction has written to ranges of a table, as a scan of them merges it in: rows, and columns below these.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;

use tablegate_store::model::EntityKey;
use tablegate_store::table::{ColumnSources, Direction, EntityColumns, StoreError};
use tablegate_types::error::SqlResult;

use super::column_entries::ColumnEntries;
use super::layers::Entries;
use super::net_write::NetWrite;

/// Written entities, in the order of a scan.
pub(crate) struct OwnEntries {
    rows: Peekable<Entries<Arc<NetWrite>>>,
    columns: ColumnEntries,
    direction: Direction,
    /// Where the columns of one window go, by its number.
    sources: Option<(usize, ColumnSources)>,
}

impl OwnEntries {
    pub(super) fn new(rows: Entries<Arc<NetWrite>>, columns: ColumnEntries, direction: Direction) -> Self {
        Self { rows: rows.peekable(), columns, direction, sources: None }
    }

    /// The key of the next one.
    pub(crate) fn peek(&mut self) -> Option<(&str, &str)> {
        match self.is_row_next()? {
            true => self.rows.peek().map(|(key, _)| key.as_pair()),
            false => self.columns.peek_key(),
        }
    }

    /// Adds the next one to rows; false when it is a deletion, or nothing is left.
    ///
    /// # Errors
    /// When what was collected cannot be read back, or is not of the columns' types.
    pub(crate) fn push_next(&mut self, rows: &mut EntityColumns) -> SqlResult<bool> {
        match self.is_row_next() {
            None => Ok(false),
            Some(true) => {
                let Some((key, write)) = self.rows.next() else { return Ok(false) };
                // What columns have of it, it stands above.
                if self.columns.peek_key() == Some(key.as_pair()) {
                    self.columns.advance();
                }
                push_image(&write, &key, rows)
            }
            Some(false) => {
                let is_there = self.push_of_columns(rows);
                self.columns.advance();
                is_there
            }
        }
    }

    fn push_of_columns(&mut self, rows: &mut EntityColumns) -> SqlResult<bool> {
        let Some((window, place)) = self.columns.peek() else { return Ok(false) };
        let window = Arc::clone(window);
        let Some(new) = window.entities().as_new() else {
            return push_image(&window.write(place), &window.entities().keys().key(place), rows);
        };
        let number = self.columns.window();
        if self.sources.as_ref().is_none_or(|(of, _)| *of != number) {
            self.sources = Some((number, rows.sources(new.columns())));
        }
        if let Some((_, sources)) = &self.sources {
            rows.push_new(new, place, window.written(), sources).map_err(StoreError::from)?;
        }
        Ok(true)
    }

    /// Whether the next one is a row, and not of columns; `None` at the end.
    fn is_row_next(&mut self) -> Option<bool> {
        match (self.rows.peek(), self.columns.peek_key()) {
            (None, None) => None,
            (None, Some(_)) => Some(false),
            (Some(_), None) => Some(true),
            (Some((key, _)), Some(of_columns)) => {
                let order = key.as_pair().cmp(&of_columns);
                Some(match self.direction {
                    Direction::Forward => order != Ordering::Greater,
                    Direction::Reverse => order != Ordering::Less,
                })
            }
        }
    }
}

fn push_image(write: &NetWrite, key: &EntityKey, rows: &mut EntityColumns) -> SqlResult<bool> {
    let Some(image) = write.image(key)? else { return Ok(false) };
    rows.push(&image).map_err(StoreError::from)?;
    Ok(true)
}
