//! ON CONFLICT: the index that is meant, and what is done with the row that is there. PostgreSQL's
//! `transformOnConflictClause`.

use sqlparser::ast::{ConflictTarget, OnConflict, OnConflictAction};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::assign::column_number;
use crate::binder::name_of;
use crate::catalogue::{Key, Relation, RelationRef};
use crate::place::{AtPlace, Place};
use crate::query::bound::{RangeEntry, RangeSource};
use crate::query::changes::{BoundConflict, ConflictUpdate};
use crate::query::{Level, columns_of, name_parts};
use crate::scope::Scope;
use crate::usage::Usage;

impl Level<'_> {
    pub(super) fn conflict(
        &mut self,
        conflict: &OnConflict,
        target: usize,
        relation: &mut RelationRef,
    ) -> SqlResult<BoundConflict> {
        let update = match &conflict.action {
            OnConflictAction::DoNothing => None,
            OnConflictAction::DoUpdate(update) => Some(update),
        };
        if update.is_some() && conflict.conflict_target.is_none() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(SqlError::new(ErrorKind::Syntax, message)
                .with_hint("For example, ON CONFLICT (column_name).")
                .at_place(self.place_of_conflict()));
        }
        let excluded = update.map(|_| {
            let columns = columns_of(self, relation);
            let (name, source) = ("excluded".to_owned(), RangeSource::Excluded);
            self.add_entry(RangeEntry { name, has_alias: true, named_columns: 0, columns, source, is_lateral: false })
        });
        self.show_only(target);
        let mut bound = BoundConflict { columns: Vec::new(), constraint: None, update: None };
        match &conflict.conflict_target {
            None => {}
            Some(ConflictTarget::Columns(idents)) => {
                for ident in idents {
                    let (name, place) = (name_of(ident), self.before(Place::start(ident.span), &["("]));
                    match column_number(relation, &name) {
                        Some(column) => bound.columns.push(column),
                        None => {
                            let scope = Scope { outer: None, ..self.scope() };
                            return Err(scope.resolve(&[name], place).err().unwrap_or_else(|| {
                                SqlError::new(ErrorKind::Internal, "a column that there is and is not")
                            }));
                        }
                    }
                }
            }
            Some(ConflictTarget::OnConstraint(name)) => {
                let (_, name, _) = name_parts(self.lookup(), name)?;
                let is_meant = |key: &Key| key.is_constraint && name.is(&key.name);
                let Some(number) = relation.keys.iter().position(is_meant) else {
                    let (constraint, table) = (&name.text, &relation.name);
                    let message = format!("constraint \"{constraint}\" for table \"{table}\" does not exist");
                    return Err(SqlError::new(ErrorKind::UndefinedObject, message));
                };
                bound.constraint = Some(number);
            }
        }
        if let (Some(update), Some(excluded)) = (update, excluded) {
            self.show(&[target, excluded]);
            let assigned = self.assignments(target, relation, &update.assignments)?;
            let filter = match &update.selection {
                Some(selection) => Some(self.condition(selection, Usage::Where)?),
                None => None,
            };
            bound.update = Some(ConflictUpdate { excluded, assigned, filter });
        }
        Ok(bound)
    }

    fn place_of_conflict(&self) -> Place {
        self.context.source.and_then(|source| source.last_pair("ON", "CONFLICT")).unwrap_or(Place::NOWHERE)
    }
}

impl BoundConflict {
    /// The keys of a table that the clause means: all, where it says none.
    ///
    /// # Errors
    /// 42P10 where no key has the columns that it says.
    pub fn keys<'r>(&self, relation: &'r Relation) -> SqlResult<Vec<&'r Key>> {
        if let Some(number) = self.constraint {
            return Ok(relation.keys.get(number).into_iter().collect());
        }
        if self.columns.is_empty() {
            return Ok(relation.keys.iter().collect());
        }
        let is_meant = |key: &&Key| {
            let has_all = key.columns.iter().all(|column| self.columns.contains(column));
            has_all && self.columns.iter().all(|column| key.columns.contains(column)) && !key.is_partial
        };
        let keys: Vec<&Key> = relation.keys.iter().filter(is_meant).collect();
        if keys.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
        }
        Ok(keys)
    }
}
