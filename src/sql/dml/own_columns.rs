//! Rows that a block has written as columns, changed or removed many at a time by a later statement of it: they become other columns, together
//! with rows of the store that the statement finds.

use tablegate_store::model::{ETag, EntityKeys, PropertyName};
use tablegate_store::table::{KnownChange, KnownEntities};
use tablegate_types::error::SqlResult;

use super::many_rows::{held, some_known};
use super::writes::{WriteMode, Writes};
use crate::relation::{ColumnSource, Relation, RelationColumn};
use crate::tx::{OwnRows, Replacement};

impl Writes<'_> {
    /// Which rows of these keys are new ones that the block has written as columns. `None` where that cannot be told of all.
    pub(super) fn own_columns(&self, keys: &EntityKeys) -> Option<OwnRows> {
        let (WriteMode::Block(transaction) | WriteMode::Implicit(transaction)) = &self.mode else { return None };
        transaction.writes().own_rows(&self.relation.stored, keys)
    }

    /// Changes rows, or removes them, of which some are such rows; false where they have to be changed one by one.
    pub(super) fn change_with_own(
        &mut self,
        own: &OwnRows,
        (keys, versions, change): (&EntityKeys, &[ETag], &KnownChange),
    ) -> SqlResult<bool> {
        if !gives_each_its_value(&self.relation, change) {
            return Ok(false);
        }
        let mut others = None;
        if !own.others.is_empty() {
            others = change.some(&own.others).and_then(|change| {
                let (keys, versions) = some_known(&own.others, keys, versions)?;
                KnownEntities::new(&self.relation.stored, keys, versions, change)
            });
            if others.is_none() {
                return Ok(false);
            }
        }
        let is_changed = self.change_own_columns(own, change)?;
        match others {
            Some(others) if is_changed => self.collect(others.into()),
            _ => Ok(is_changed),
        }
    }

    fn change_own_columns(&mut self, own: &OwnRows, change: &KnownChange) -> SqlResult<bool> {
        let (WriteMode::Block(transaction) | WriteMode::Implicit(transaction)) = &mut self.mode else {
            return Ok(false);
        };
        let changed = transaction.writes().changed_columns(&self.relation.stored, own, change, self.now);
        let Some(replaced) = changed else { return Ok(false) };
        let mut windows = Vec::with_capacity(replaced.len());
        for Replacement { window, other } in replaced {
            let held = other
                .into_iter()
                .map(|(entities, written)| held(transaction, &self.relation, &self.held_back, entities, written));
            windows.push((window, held.collect::<SqlResult<Vec<_>>>()?));
        }
        transaction.writes_mut().replace_columns(&self.relation.stored, windows)?;
        self.check_rules()?;
        Ok(true)
    }

    /// Puts the columns of the block in the order of keys, where so many of its rows are to be changed and they are in none.
    pub(super) fn put_in_order(&mut self, changed: usize) -> SqlResult<()> {
        let (WriteMode::Block(transaction) | WriteMode::Implicit(transaction)) = &mut self.mode else { return Ok(()) };
        let Some(columns) = transaction.writes().out_of_order(&self.relation.stored, changed) else { return Ok(()) };
        let mut ordered = Vec::new();
        for rows in columns.in_order() {
            let Some((entities, written)) = columns.gathered(&rows) else { return Ok(()) };
            ordered.push(held(transaction, &self.relation, &self.held_back, entities, written)?);
        }
        transaction.writes_mut().replace_all_columns(&self.relation.stored, ordered)
    }
}

/// Whether no column that must have values is given a NULL: who changes the rows one by one says which row that was.
fn gives_each_its_value(relation: &Relation, change: &KnownChange) -> bool {
    let must = |name: &PropertyName| {
        let is_it =
            |column: &&RelationColumn| matches!(&column.source, ColumnSource::Property { name: of, .. } if of == name);
        relation.columns.iter().find(is_it).is_some_and(|column| column.not_null)
    };
    change.columns().iter().all(|(name, values)| !values.has_nulls() || !must(name))
}
