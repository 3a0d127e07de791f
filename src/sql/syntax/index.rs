//! CREATE INDEX as data: what it is over, also as the text that is kept of an index.

use std::fmt;

use sqlparser::ast::{self, Expr};
use tablegate_bind::{Identifier, ParsedExpression, QualifiedName};

use super::expressions::{names_column, rename_column};
use crate::syntax::{Command, parse};

#[derive(Debug, Clone)]
pub(crate) struct CreateIndexCommand {
    pub name: Option<QualifiedName>,
    pub table: QualifiedName,
    pub unique: bool,
    pub concurrently: bool,
    pub if_not_exists: bool,
    /// The access method.
    pub method: Option<String>,
    pub definition: IndexDefinition,
}

/// What follows the access method; printed it is what is kept.
#[derive(Debug, Clone)]
pub(crate) struct IndexDefinition {
    pub columns: Vec<IndexedPart>,
    pub include: Vec<Identifier>,
    pub nulls_not_distinct: bool,
    pub parameters: Vec<StorageParameter>,
    pub predicate: Option<ParsedExpression>,
}

/// A column of an index, or an expression.
#[derive(Debug, Clone)]
pub(crate) struct IndexedPart {
    pub expression: ParsedExpression,
    /// The operator class that is named.
    pub class: Option<String>,
    pub ascending: Option<bool>,
    pub nulls_first: Option<bool>,
}

#[derive(Debug, Clone)]
pub(crate) struct StorageParameter {
    pub name: String,
    pub value: String,
    written: String,
}

impl CreateIndexCommand {
    pub(super) fn of(create: ast::CreateIndex) -> Self {
        Self {
            name: create.name.map(QualifiedName::from),
            table: create.table_name.into(),
            unique: create.unique,
            concurrently: create.concurrently,
            if_not_exists: create.if_not_exists,
            method: create.using.map(|using| using.to_string().to_lowercase()),
            definition: IndexDefinition {
                columns: create.columns.into_iter().map(IndexedPart::of).collect(),
                include: create.include.into_iter().map(Identifier::from).collect(),
                nulls_not_distinct: create.nulls_distinct == Some(false),
                parameters: create.with.iter().map(StorageParameter::of).collect(),
                predicate: create.predicate.map(ParsedExpression::from),
            },
        }
    }
}

impl IndexDefinition {
    /// Reads what is kept of an index.
    pub(crate) fn read(definition: &str) -> Option<Self> {
        match parse(&format!("CREATE INDEX i ON t {definition}")).ok()?.pop()?.command {
            Command::CreateIndex(create) => Some(create.definition),
            _ => None,
        }
    }

    /// Whether it names the column.
    fn names_column(&self, column: &str) -> bool {
        self.columns.iter().any(|part| names_column(&part.expression, column))
            || self.include.iter().any(|included| included.means(column))
            || self.predicate.iter().any(|predicate| names_column(predicate, column))
    }

    fn rename_column(&mut self, from: &str, to: &str) {
        let expressions = self.columns.iter_mut().map(|part| &mut part.expression).chain(&mut self.predicate);
        expressions.for_each(|expression| rename_column(expression, from, to));
        let included = self.include.iter_mut().filter(|included| included.means(from));
        included.for_each(|included| *included = Identifier::shown(to));
    }
}

/// Whether what is kept of an index names the column.
pub(crate) fn index_names_column(definition: &str, column: &str) -> bool {
    IndexDefinition::read(definition).is_some_and(|definition| definition.names_column(column))
}

/// What is kept of an index, a column having got another name.
pub(crate) fn index_with_renamed_column(definition: &str, from: &str, to: &str) -> String {
    match IndexDefinition::read(definition).filter(|index| index.names_column(from)) {
        Some(mut index) => {
            index.rename_column(from, to);
            index.to_string()
        }
        None => definition.to_owned(),
    }
}

impl IndexedPart {
    fn of(item: ast::IndexColumn) -> Self {
        Self {
            expression: item.column.expr.into(),
            class: item.operator_class.map(|class| class.to_string()),
            ascending: item.column.options.asc,
            nulls_first: item.column.options.nulls_first,
        }
    }
}

impl StorageParameter {
    fn of(given: &Expr) -> Self {
        let (name, value) = match given {
            Expr::BinaryOp { left, right, .. } => {
                (left.to_string().to_lowercase(), right.to_string().trim_matches('\'').to_owned())
            }
            flag => (flag.to_string().to_lowercase(), "true".to_owned()),
        };
        Self { name, value, written: given.to_string() }
    }
}

impl fmt::Display for IndexDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| items.join(", ");
        write!(f, "({})", list(self.columns.iter().map(IndexedPart::to_string).collect()))?;
        if !self.include.is_empty() {
            write!(f, " INCLUDE ({})", list(self.include.iter().map(Identifier::to_string).collect()))?;
        }
        if self.nulls_not_distinct {
            f.write_str(" NULLS NOT DISTINCT")?;
        }
        if !self.parameters.is_empty() {
            let written = self.parameters.iter().map(|parameter| parameter.written.clone());
            write!(f, " WITH ({})", list(written.collect()))?;
        }
        match &self.predicate {
            Some(predicate) => write!(f, " WHERE ({})", predicate.without_parentheses()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for IndexedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)?;
        if let Some(class) = &self.class {
            write!(f, " {class}")?;
        }
        f.write_str(match self.ascending {
            Some(true) => " ASC",
            Some(false) => " DESC",
            None => "",
        })?;
        f.write_str(match self.nulls_first {
            Some(true) => " NULLS FIRST",
            Some(false) => " NULLS LAST",
            None => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_follow_their_columns() {
        let definition = "(a, lower(b) DESC) INCLUDE (c) NULLS NOT DISTINCT WHERE (a > 0)";
        for column in ["a", "b", "c"] {
            assert!(index_names_column(definition, column), "{column}");
        }
        assert!(!index_names_column(definition, "lower"));
        let renamed = index_with_renamed_column(definition, "a", "x");
        assert_eq!(renamed, "(x, lower(b) DESC) INCLUDE (c) NULLS NOT DISTINCT WHERE (x > 0)");
        assert_eq!(index_with_renamed_column(definition, "d", "x"), definition);
    }
}
