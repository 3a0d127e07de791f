//! CREATE INDEX: what is kept of an index that is not built.

use sqlparser::ast::{self, Expr, Ident, IndexColumn};
use tablegate_types::constraint::{Constraints, Unenforced, UnenforcedKind};
use tablegate_types::error::SqlResult;

use super::column_names::{identifier, means, names_column, rename_column};
use super::constraints::columns_of;
use super::names::free_name;
use super::unenforced::{Recorder, refused};
use crate::settings::EgtMode;
use crate::syntax::{Command, fold, parse};

impl Recorder<'_> {
    /// CREATE INDEX under this name.
    ///
    /// # Errors
    /// 0A000 in `strict`; 42703 for an unknown column.
    pub(crate) fn index(
        &mut self,
        constraints: &mut Constraints,
        create: &ast::CreateIndex,
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
        constraints.unenforced.push(Unenforced::new(number, name.clone(), columns, kind));
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
    let mut text = format!("({})", list(create.columns.iter().map(column_definition).collect()));
    if !create.include.is_empty() {
        text += &format!(" INCLUDE ({})", list(create.include.iter().map(Ident::to_string).collect()));
    }
    if create.nulls_distinct == Some(false) {
        text += " NULLS NOT DISTINCT";
    }
    if !create.with.is_empty() {
        text += &format!(" WITH ({})", list(create.with.iter().map(Expr::to_string).collect()));
    }
    if let Some(predicate) = &create.predicate {
        let mut predicate = predicate;
        while let Expr::Nested(inner) = predicate {
            predicate = inner;
        }
        text += &format!(" WHERE ({predicate})");
    }
    text
}

/// The parser's tree prints the operator class behind the order, where nothing reads it.
fn column_definition(item: &IndexColumn) -> String {
    let class = item.operator_class.iter().map(|class| format!(" {class}")).collect::<String>();
    format!("{}{class}{}", item.column.expr, item.column.options)
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

/// Whether what is kept of an index names the column.
pub(super) fn mentions_column(definition: &str, column: &str) -> bool {
    read_definition(definition).is_some_and(|create| {
        create.columns.iter().any(|item| names_column(&item.column.expr, column))
            || create.include.iter().any(|ident| means(ident, column))
            || create.predicate.iter().any(|predicate| names_column(predicate, column))
    })
}

/// What is kept of an index, a column having got another name.
pub(super) fn with_renamed_column(definition: &str, from: &str, to: &str) -> String {
    let Some(mut create) = read_definition(definition).filter(|_| mentions_column(definition, from)) else {
        return definition.to_owned();
    };
    let expressions = create.columns.iter_mut().map(|item| &mut item.column.expr).chain(&mut create.predicate);
    expressions.for_each(|expression| rename_column(expression, from, to));
    create.include.iter_mut().filter(|ident| means(ident, from)).for_each(|ident| *ident = identifier(to));
    index_definition(&create)
}

/// The index that [`index_definition`] tells, its names aside.
pub(crate) fn read_definition(definition: &str) -> Option<Box<ast::CreateIndex>> {
    match parse(&format!("CREATE INDEX i ON t {definition}")).ok()?.pop()?.command {
        Command::CreateIndex(create) => Some(create),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_follow_their_columns() {
        let definition = "(a, lower(b) DESC) INCLUDE (c) NULLS NOT DISTINCT WHERE (a > 0)";
        for column in ["a", "b", "c"] {
            assert!(mentions_column(definition, column), "{column}");
        }
        assert!(!mentions_column(definition, "lower"));
        let renamed = with_renamed_column(definition, "a", "x");
        assert_eq!(renamed, "(x, lower(b) DESC) INCLUDE (c) NULLS NOT DISTINCT WHERE (x > 0)");
        assert_eq!(with_renamed_column(definition, "d", "x"), definition);
    }
}
