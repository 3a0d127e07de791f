//! What a statement names, and how much of it there is to plan, told from its text.

use std::ops::ControlFlow;

use sqlparser::ast::{DataType, Expr, ObjectName, Query, Select, Value, Visitor};
use tablegate_bind::QualifiedName;
use tablegate_bind::statement::Syntax;

use crate::syntax::{fold, walk};

/// One thing in a statement.
pub(crate) enum Mentioned<'m> {
    /// A query, or a SELECT in one.
    Query,
    Table(QualifiedName),
    /// A type that the parser does not know.
    Type(QualifiedName),
    Expression,
    /// A part of the name of a column, as it is written.
    Name(&'m str),
    /// A function without a schema.
    Function(String),
    /// A literal of so many bytes.
    Text(usize),
    /// One of a dozen columns is thousands of sets.
    GroupingSets,
}

/// Tells all that a statement mentions, in the order of the text.
pub(crate) fn mentioned(syntax: Syntax<'_>, note: &mut dyn FnMut(Mentioned<'_>)) {
    let mut walked = Walked { note };
    let _ = match syntax {
        Syntax::Query(query) => walk(query, &mut walked),
        Syntax::Insert(insert) => walk(insert, &mut walked),
        Syntax::Update(update) => walk(update, &mut walked),
        Syntax::Delete(delete) => walk(delete, &mut walked),
        Syntax::Merge(merge) => walk(merge, &mut walked),
    };
}

struct Walked<'n> {
    note: &'n mut dyn FnMut(Mentioned<'_>),
}

impl Walked<'_> {
    fn value(&mut self, value: &Value) {
        if let Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) = value {
            (self.note)(Mentioned::Text(text.len()));
        }
    }
}

impl Visitor for Walked<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        (self.note)(Mentioned::Query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, _select: &Select) -> ControlFlow<()> {
        (self.note)(Mentioned::Query);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        (self.note)(Mentioned::Table(QualifiedName::from(relation)));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        (self.note)(Mentioned::Expression);
        match expr {
            Expr::Value(value) => self.value(&value.value),
            Expr::TypedString(typed) => self.value(&typed.value.value),
            Expr::Cube(_) | Expr::Rollup(_) | Expr::GroupingSets(_) => (self.note)(Mentioned::GroupingSets),
            Expr::Cast { data_type: DataType::Custom(name, modifiers), .. } if modifiers.is_empty() => {
                (self.note)(Mentioned::Type(QualifiedName::from(name)));
            }
            Expr::Identifier(ident) => (self.note)(Mentioned::Name(&ident.value)),
            Expr::CompoundIdentifier(parts) => {
                parts.iter().for_each(|part| (self.note)(Mentioned::Name(&part.value)));
            }
            Expr::Function(function) => {
                if let [name] = function.name.0.as_slice()
                    && let Some(name) = name.as_ident()
                {
                    (self.note)(Mentioned::Function(fold(name)));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
