//! Syntax on its way from the parser to the binder: whoever carries it need not know the parser's tree.

use std::fmt;

use sqlparser::ast::{Expr, Ident, Query, Value};
use tablegate_types::error::SqlResult;

use crate::binder::Binder;
use crate::catalogue::oids::Oid;
use crate::expr::BoundExpr;
use crate::name::{Identifier, QualifiedName, folded};
use crate::statement::Syntax;

/// An expression that is not bound.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedExpression(Expr);

impl ParsedExpression {
    pub fn tree(&self) -> &Expr {
        &self.0
    }

    pub fn tree_mut(&mut self) -> &mut Expr {
        &mut self.0
    }

    pub fn into_tree(self) -> Expr {
        self.0
    }

    /// What it means.
    ///
    /// # Errors
    /// PostgreSQL's, with their places.
    pub fn bind(&self, binder: &mut Binder<'_>) -> SqlResult<BoundExpr> {
        binder.bind(&self.0)
    }

    /// What it means as a condition, as the construct has one.
    ///
    /// # Errors
    /// As [`ParsedExpression::bind`], and 42804 for other types.
    pub fn bind_condition(&self, binder: &mut Binder<'_>, construct: &str) -> SqlResult<BoundExpr> {
        binder.bind_condition(&self.0, construct)
    }

    /// What it means where it is to have a type: a literal that nothing gives one to is text.
    ///
    /// # Errors
    /// As [`ParsedExpression::bind`].
    pub fn bind_typed(&self, binder: &mut Binder<'_>) -> SqlResult<BoundExpr> {
        binder.bind_typed(&self.0)
    }

    /// What it means as the value that a column of this type, and its modifier, has by default.
    ///
    /// # Errors
    /// As [`ParsedExpression::bind`], and 42804 for one that the column does not take.
    pub fn bind_default(&self, binder: &mut Binder<'_>, column: &str, of_type: (Oid, i32)) -> SqlResult<BoundExpr> {
        binder.bind_default(&self.0, column, of_type)
    }

    /// The value of a column.
    pub fn column(name: &str) -> Self {
        Self(Expr::Identifier(Ident::with_quote('"', name)))
    }

    pub fn null() -> Self {
        Self(Expr::Value(Value::Null.into()))
    }

    pub fn is_null(&self) -> bool {
        matches!(&self.0, Expr::Value(value) if value.value == Value::Null)
    }

    /// Whether PostgreSQL would give it the type `unknown`: it reads its text as the type of what it is assigned to.
    pub fn is_untyped(&self) -> bool {
        match inside(&self.0) {
            Expr::Value(value) => matches!(
                value.value,
                Value::SingleQuotedString(_)
                    | Value::EscapedStringLiteral(_)
                    | Value::DollarQuotedString(_)
                    | Value::Null
                    | Value::Placeholder(_)
            ),
            _ => false,
        }
    }

    /// The name that it is, if it is nothing but one without points.
    pub fn as_name(&self) -> Option<Identifier> {
        match &self.0 {
            Expr::Identifier(ident) => Some(ident.into()),
            _ => None,
        }
    }

    /// The function that it calls.
    pub fn called(&self) -> Option<String> {
        match &self.0 {
            Expr::Function(function) => {
                Some(function.name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default())
            }
            _ => None,
        }
    }

    /// What stands before COLLATE, without the parentheses around it, and the collation.
    pub fn uncollated(&self) -> (ParsedExpression, Option<QualifiedName>) {
        let (expr, collation) = match &self.0 {
            Expr::Collate { expr, collation } => (&**expr, Some(collation.into())),
            expr => (expr, None),
        };
        (Self(inside(expr).clone()), collation)
    }

    pub fn without_parentheses(&self) -> ParsedExpression {
        Self(inside(&self.0).clone())
    }
}

/// What parentheses stand around.
fn inside(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    inner
}

impl From<Expr> for ParsedExpression {
    fn from(expr: Expr) -> Self {
        Self(expr)
    }
}

impl fmt::Display for ParsedExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A query that is not bound.
#[derive(Debug, Clone)]
pub struct ParsedQuery(Query);

impl ParsedQuery {
    pub fn tree(&self) -> &Query {
        &self.0
    }

    pub fn tree_mut(&mut self) -> &mut Query {
        &mut self.0
    }

    /// As a statement.
    pub fn syntax(&self) -> Syntax<'_> {
        Syntax::Query(&self.0)
    }
}

impl From<Query> for ParsedQuery {
    fn from(query: Query) -> Self {
        Self(query)
    }
}

impl fmt::Display for ParsedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
