//! The definition of an index, read from what is kept of it.

use sqlparser::ast::{CreateIndex, Expr, IndexColumn};
use tablegate_types::quoting::quote_ident;

use super::read::Reader;
use super::reader_of;
use super::tree::Node;
use super::typing::BOOL;
use crate::ddl::read_index_definition;
use crate::relation::Relation;
use crate::syntax::fold;

/// What an index is over, in order.
pub(in crate::pg_catalog) struct IndexShape {
    pub columns: Vec<IndexedColumn>,
    include: Vec<String>,
    nulls_not_distinct: bool,
    predicate: Option<Node>,
}

/// A column of an index: one of the table's, or an expression.
pub(in crate::pg_catalog) struct IndexedColumn {
    /// The table's column.
    pub column: Option<String>,
    /// Its name among the index's columns.
    pub label: String,
    /// The type of an expression, where it is known.
    pub type_oid: Option<u32>,
    node: Node,
    /// Class and order, where they are not the usual ones.
    options: String,
    /// As `indoption` has it.
    pub order: i32,
}

/// In `indoption`: DESC, NULLS FIRST.
const DESCENDING: i32 = 1;
const NULLS_FIRST: i32 = 2;

impl IndexShape {
    /// Reads what is kept of an index; `None` when that is no definition.
    pub(crate) fn read(table: &Relation, definition: &str) -> Option<Self> {
        let create = read_index_definition(definition)?;
        let reader = reader_of(table);
        let mut columns: Vec<IndexedColumn> = Vec::with_capacity(create.columns.len());
        for item in &create.columns {
            let mut read = IndexedColumn::read(&reader, table, item);
            let taken = |label: &str| columns.iter().any(|other| other.label == label);
            let first = read.label.clone();
            for number in 1.. {
                if !taken(&read.label) {
                    break;
                }
                read.label = format!("{first}{number}");
            }
            columns.push(read);
        }
        Some(Self {
            columns,
            include: create.include.iter().map(fold).collect(),
            nulls_not_distinct: create.nulls_distinct == Some(false),
            predicate: predicate(&reader, &create),
        })
    }

    /// Columns that are only stored with it.
    pub(crate) fn included(&self) -> &[String] {
        &self.include
    }

    /// What follows the access method.
    pub(crate) fn definition(&self, pretty: bool) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| column.text(pretty) + &column.options).collect();
        let mut text = format!("({})", columns.join(", "));
        if !self.include.is_empty() {
            let names: Vec<String> = self.include.iter().map(|name| quote_ident(name)).collect();
            text += &format!(" INCLUDE ({})", names.join(", "));
        }
        if self.nulls_not_distinct {
            text += " NULLS NOT DISTINCT";
        }
        if let Some(predicate) = &self.predicate {
            text += &format!(" WHERE {}", predicate.text(pretty));
        }
        text
    }

    /// One of its columns, as SQL would write it, without its order.
    pub(crate) fn column(&self, position: usize, pretty: bool) -> Option<String> {
        let included = || self.include.get(position.checked_sub(self.columns.len())?).map(|name| quote_ident(name));
        self.columns.get(position).map(|column| column.text(pretty)).or_else(included)
    }

    /// The expressions among its columns, printed in full.
    pub(crate) fn expressions(&self) -> Option<String> {
        let all: Vec<String> =
            self.columns.iter().filter(|c| c.column.is_none()).map(|column| column.node.text(false)).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    pub(crate) fn predicate(&self) -> Option<String> {
        self.predicate.as_ref().map(|predicate| predicate.text(false))
    }
}

impl IndexedColumn {
    /// Whether it descends, and whether NULL comes first.
    pub(crate) fn order(&self) -> (bool, bool) {
        (self.order & DESCENDING != 0, self.order & NULLS_FIRST != 0)
    }

    fn read(reader: &Reader, table: &Relation, item: &IndexColumn) -> Self {
        let mut expr = &item.column.expr;
        let mut collation = String::new();
        if let Expr::Collate { expr: inner, collation: name } = expr {
            collation = format!(" COLLATE {name}");
            expr = inner;
        }
        while let Expr::Nested(inner) = expr {
            expr = inner;
        }
        let column = match expr {
            Expr::Identifier(ident) => {
                let name = fold(ident);
                let same = |column: &&crate::relation::RelationColumn| {
                    column.name == name || (ident.quote_style.is_none() && column.name.eq_ignore_ascii_case(&name))
                };
                table.columns.iter().find(same).map(|column| column.name.clone())
            }
            _ => None,
        };
        let label = match (&column, expr) {
            (Some(column), _) => column.clone(),
            (None, Expr::Function(function)) => {
                function.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
            }
            (None, _) => "expr".to_owned(),
        };
        let descending = item.column.options.asc == Some(false);
        let nulls_first = item.column.options.nulls_first.unwrap_or(descending);
        let mut options = collation;
        if let Some(class) = &item.operator_class {
            options += &format!(" {class}");
        }
        options += match (descending, nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        let order = if descending { DESCENDING } else { 0 } | if nulls_first { NULLS_FIRST } else { 0 };
        Self { column, label, type_oid: reader.type_of(expr), node: reader.read_as(expr, None), options, order }
    }

    /// Calls of functions stand without parentheses of their own.
    fn text(&self, pretty: bool) -> String {
        let text = self.node.text(pretty);
        if self.column.is_some() || matches!(self.node, Node::Call { .. }) { text } else { format!("({text})") }
    }
}

fn predicate(reader: &Reader, create: &CreateIndex) -> Option<Node> {
    create.predicate.as_ref().map(|predicate| reader.read_as(predicate, Some(BOOL)))
}
