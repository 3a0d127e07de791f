//! Rows beside rows, and queries beside values.

use sqlparser::ast::{Expr, Query, Spanned};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::operation::negated;
use super::{Binder, BoundSubQuery};
use crate::catalogue::oids;
use crate::expr::{BoundExpr, ExprKind, ExprType, SubQueryUse};
use crate::place::{AtPlace, Place};

impl Binder<'_> {
    /// PostgreSQL's `make_row_comparison_op`.
    ///
    /// # Errors
    /// 42601 for rows that differ in length.
    pub(super) fn rows(
        &mut self,
        name: &str,
        left: BoundExpr,
        right: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<BoundExpr> {
        let place = left.place;
        let (ExprKind::Row(ours), ExprKind::Row(theirs)) = (left.kind, right.kind) else {
            return Err(SqlError::new(ErrorKind::Internal, "rows are compared that are none"));
        };
        if ours.len() != theirs.len() {
            return Err(SqlError::new(ErrorKind::Syntax, "unequal number of entries in row expressions").at_place(at()));
        }
        if ours.is_empty() {
            return Err(
                SqlError::new(ErrorKind::FeatureNotSupported, "cannot compare rows of zero length").at_place(at())
            );
        }
        if ours.len() == 1 || matches!(name, "=" | "<>") {
            let mut parts = Vec::with_capacity(ours.len());
            for (one, other) in ours.into_iter().zip(theirs) {
                parts.push(self.typing.operation(name, one, other, at)?);
            }
            return Ok(match parts.len() {
                1 => parts.remove(0),
                _ if name == "=" => BoundExpr::new(ExprKind::And(parts), ExprType::BOOL, place),
                _ => BoundExpr::new(ExprKind::Or(parts), ExprType::BOOL, place),
            });
        }
        let (mut operators, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for (one, other) in ours.into_iter().zip(theirs) {
            let found = self.typing.operands(name, one, other, at)?;
            if found.operator.result != oids::BOOL {
                let given = self.lookup.type_name(found.operator.result);
                let message = format!("row comparison operator must yield type boolean, not type {given}");
                return Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(at()));
            }
            operators.push(found.operator);
            left.push(found.left);
            right.push(found.right);
        }
        if !matches!(name, "<" | "<=" | ">" | ">=") {
            let message = format!("could not determine interpretation of row comparison operator {name}");
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_hint("Row comparison operators must be associated with btree operator families.")
                .at_place(at()));
        }
        Ok(BoundExpr::new(ExprKind::RowComparison { operators, left, right }, ExprType::BOOL, place))
    }

    fn query(&mut self, query: &Query, place: Place) -> SqlResult<BoundSubQuery> {
        if let Some(refused) = self.usage.refuse_queries() {
            return Err(refused.at_place(place));
        }
        let Some(queries) = self.queries.as_deref_mut() else {
            return Err(SqlError::not_supported("a query inside of this expression").at_place(place));
        };
        queries.bind(query, self.scope, &mut self.typing.parameters)
    }

    /// A query whose only row several columns are set from.
    pub(crate) fn query_of_row(&mut self, query: &Query, place: Place) -> SqlResult<BoundSubQuery> {
        self.query(query, place)
    }

    /// The word, or the parenthesis, before a query.
    fn before_query(&self, query: &Query, words: &[&str]) -> Place {
        self.before(Place::start(query.span()), words)
    }

    pub(super) fn exists(&mut self, query: &Query, is_not: bool) -> SqlResult<BoundExpr> {
        let place = self.before_query(query, &["EXISTS"]);
        let bound = self.query(query, place)?;
        let kind = ExprKind::SubQuery { query: bound.number, used: SubQueryUse::Exists };
        let exists = BoundExpr::new(kind, ExprType::BOOL, place);
        Ok(if is_not { negated(exists, self.before(place, &["NOT"])) } else { exists })
    }

    pub(super) fn value_of_query(&mut self, query: &Query) -> SqlResult<BoundExpr> {
        let place = self.before_query(query, &["("]);
        let bound = self.query(query, place)?;
        let ty = only_column(&bound, place)?;
        let kind = ExprKind::SubQuery { query: bound.number, used: SubQueryUse::Value };
        Ok(BoundExpr::new(kind, ty, place))
    }

    pub(super) fn array_of_query(&mut self, query: &Query, start: Place) -> SqlResult<BoundExpr> {
        let bound = self.query(query, start)?;
        let ty = only_column(&bound, start)?;
        // An array's items are arrays of one array.
        let array = if self.lookup.element(ty.oid).is_some() { Some(ty.oid) } else { self.lookup.array(ty.oid) };
        let Some(array) = array else {
            let message = format!("could not find array type for data type {}", self.lookup.type_name(ty.oid));
            return Err(SqlError::new(ErrorKind::UndefinedObject, message).at_place(start));
        };
        let kind = ExprKind::SubQuery { query: bound.number, used: SubQueryUse::Array };
        Ok(BoundExpr::new(kind, ExprType { oid: array, ..ty }, start))
    }

    pub(super) fn in_query(&mut self, value: &Expr, query: &Query, is_not: bool) -> SqlResult<BoundExpr> {
        let at = self.before_query(query, if is_not { &["NOT"] } else { &["IN"] });
        let found = self.compared_with_query("=", SubQueryUse::Any, value, query, &|| at)?;
        let place = found.place;
        Ok(if is_not { negated(found, place) } else { found })
    }

    /// A comparison with the rows of a query, which is bound before the value is.
    pub(super) fn compared_with_query(
        &mut self,
        name: &str,
        used: fn(Box<BoundExpr>) -> SubQueryUse,
        value: &Expr,
        query: &Query,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<BoundExpr> {
        let place = at();
        let bound = self.query(query, place)?;
        let value = self.bind(value)?;
        let column = |(number, ty): (usize, &ExprType)| BoundExpr::new(ExprKind::SubQueryColumn(number), *ty, place);
        let columns: Vec<BoundExpr> = bound.columns.iter().enumerate().map(column).collect();
        let ours = match &value.kind {
            ExprKind::Row(items) => items.len(),
            _ => 1,
        };
        if ours != columns.len() {
            let message =
                if ours < columns.len() { "subquery has too many columns" } else { "subquery has too few columns" };
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(at()));
        }
        let start = value.place;
        let row = |items| BoundExpr::new(ExprKind::Row(items), ExprType::plain(oids::RECORD), place);
        let test = match value.kind {
            ExprKind::Row(_) => self.rows(name, value, row(columns), at)?,
            _ => {
                let left = row(vec![value]);
                self.rows(name, left, row(columns), at)?
            }
        };
        let used = used(Box::new(test));
        Ok(BoundExpr::new(ExprKind::SubQuery { query: bound.number, used }, ExprType::BOOL, start))
    }
}

fn only_column(query: &BoundSubQuery, place: Place) -> SqlResult<ExprType> {
    match query.columns.as_slice() {
        [only] => Ok(*only),
        _ => Err(SqlError::new(ErrorKind::Syntax, "subquery must return only one column").at_place(place)),
    }
}
