//! CREATE INDEX: what is kept of an index that is not built.

use datafusion::sql::sqlparser::ast::{self, Expr, Ident, IndexColumn};

use super::constraints::columns_of;
use super::names::free_name;
use super::unenforced::{Recorder, refused};
use crate::sql::catalog::{Constraints, Unenforced, UnenforcedKind};
use crate::sql::error::SqlResult;
use crate::sql::settings::EgtMode;
use crate::sql::statement::fold;

impl Recorder<'_> {
    /// CREATE INDEX under this name.
    ///
    /// # Errors
    /// 0A000 in `strict`; 42703 for an unknown column.
    pub fn index(&mut self, constraints: &mut Constraints, create: &ast::CreateIndex, name: String) -> SqlResult<()> {
        if self.mode == EgtMode::Strict {
            return Err(refused(if create.unique { "CREATE UNIQUE INDEX" } else { "CREATE INDEX" })
                .with_detail("The Table service has one index, on PartitionKey and RowKey.")
                .with_hint(
                    "Choose a key that serves the query, or keep a second table with another one. SET egt.mode = observe to \
                     record the index without building it.",
                ));
        }
        let columns = self.index_columns(&create.columns)?;
        for included in &create.include {
            self.named(std::slice::from_ref(included), |column| format!("column \"{column}\" does not exist"))?;
        }
        if let Some(predicate) = &create.predicate {
            columns_of(self.columns, predicate)?;
        }
        let method = create.using.as_ref().map_or_else(|| "btree".to_owned(), |using| using.to_string().to_lowercase());
        let kind = UnenforcedKind::Index { unique: create.unique, method, definition: index_definition(create) };
        let number = constraints.next_number()?;
        constraints.unenforced.push(Unenforced { number, name: name.clone(), columns, kind });
        let what = if create.unique { "unique index" } else { "index" };
        self.warn(format!("{what} \"{name}\" on table \"{}\" is recorded and not built", self.table));
        Ok(())
    }

    /// The plain columns of an index; its expressions must name columns that are there.
    fn index_columns(&self, listed: &[IndexColumn]) -> SqlResult<Vec<String>> {
        let mut columns = Vec::new();
        for item in listed {
            match &item.column.expr {
                Expr::Identifier(ident) => columns.extend(
                    self.named(std::slice::from_ref(ident), |column| format!("column \"{column}\" does not exist"))?,
                ),
                expression => drop(columns_of(self.columns, expression)?),
            }
        }
        Ok(columns)
    }
}

/// What follows the access method.
fn index_definition(create: &ast::CreateIndex) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let mut text = format!("({})", list(create.columns.iter().map(IndexColumn::to_string).collect()));
    if !create.include.is_empty() {
        text += &format!(" INCLUDE ({})", list(create.include.iter().map(Ident::to_string).collect()));
    }
    if create.nulls_distinct == Some(false) {
        text += " NULLS NOT DISTINCT";
    }
    if let Some(predicate) = &create.predicate {
        text += &format!(" WHERE ({predicate})");
    }
    text
}

/// The name PostgreSQL would give an index: `table_column_idx`, an expression being called by its function or `expr`.
pub(crate) fn index_name(table: &str, create: &ast::CreateIndex, is_taken: impl Fn(&str) -> bool) -> String {
    let part = |item: &IndexColumn| match &item.column.expr {
        Expr::Identifier(ident) => fold(ident),
        Expr::Function(function) => function.name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default(),
        _ => "expr".to_owned(),
    };
    let parts: Vec<String> = create.columns.iter().map(part).collect();
    free_name(table, Some(&parts.join("_")), "idx", is_taken)
}
