//! CREATE INDEX: what is kept of an index that is not built.

use tablegate_types::constraint::{Constraints, Unenforced, UnenforcedKind};
use tablegate_types::error::SqlResult;

use super::constraints::columns_of;
use super::names::free_name;
use super::unenforced::{Recorder, refused};
use crate::settings::EgtMode;
use crate::syntax::{CreateIndexCommand, IndexDefinition, IndexedPart};

impl Recorder<'_> {
    /// CREATE INDEX under this name.
    ///
    /// # Errors
    /// 0A000 in `strict`; 42703 for an unknown column.
    pub(crate) fn index(
        &mut self,
        constraints: &mut Constraints,
        create: &CreateIndexCommand,
        name: String,
    ) -> SqlResult<()> {
        if self.mode == EgtMode::Strict {
            return Err(refused(if create.unique { "CREATE UNIQUE INDEX" } else { "CREATE INDEX" })
                .with_detail("The Table service has one index, on PartitionKey and RowKey.")
                .with_hint(
                    "Choose a key that serves the query, or keep a second table with another one. SET egt.mode = observe to \
                     record the index without building it.",
                ));
        }
        let columns = self.index_columns(&create.definition.columns)?;
        self.named(&create.definition.include, |column| format!("column \"{column}\" does not exist"))?;
        if let Some(predicate) = &create.definition.predicate {
            columns_of(self.columns, predicate)?;
        }
        let method = create.method.clone().unwrap_or_else(|| "btree".to_owned());
        let kind = UnenforcedKind::Index { unique: create.unique, method, definition: create.definition.to_string() };
        let number = constraints.next_number()?;
        constraints.unenforced.push(Unenforced::new(number, name.clone(), columns, kind));
        let what = if create.unique { "unique index" } else { "index" };
        self.warn(format!("{what} \"{name}\" on table \"{}\" is recorded and not built", self.table));
        Ok(())
    }

    /// The plain columns of an index; its expressions must name columns that are there.
    fn index_columns(&self, parts: &[IndexedPart]) -> SqlResult<Vec<String>> {
        let mut columns = Vec::new();
        for part in parts {
            match part.expression.as_name() {
                Some(name) => {
                    columns.extend(self.named(&[name], |column| format!("column \"{column}\" does not exist"))?)
                }
                None => drop(columns_of(self.columns, &part.expression)?),
            }
        }
        Ok(columns)
    }
}

/// The name PostgreSQL would give an index: `table_column_idx`, an expression being called by its function or `expr`.
pub(crate) fn index_name(table: &str, definition: &IndexDefinition, is_taken: impl Fn(&str) -> bool) -> String {
    let part = |part: &IndexedPart| match part.expression.as_name() {
        Some(name) => name.folded(),
        None => part.expression.called().unwrap_or_else(|| "expr".to_owned()),
    };
    let parts: Vec<String> = definition.columns.iter().map(part).collect();
    free_name(table, Some(&parts.join("_")), "idx", is_taken)
}
