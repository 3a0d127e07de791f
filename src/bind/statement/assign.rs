//! What columns are set to: PostgreSQL's `transformAssignedExpr` and `transformUpdateTargetList`.

use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast::{
    AccessExpr, Assignment, AssignmentTarget, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    ObjectName, ObjectNamePart, Spanned,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::item;
use crate::binder::{Binder, name_of};
use crate::catalogue::{CastContext, Lookup, Relation, RelationColumn, RelationRef, oids};
use crate::expr::{BoundExpr, ExprKind, Written};
use crate::name::{Name, folded};
use crate::place::{AtPlace, Place};
use crate::query::bound::{BoundQuery, Target, column_of};
use crate::query::changes::{Assigned, AssignedValue};
use crate::query::{Level, bind_value};
use crate::usage::Usage;

/// A column that a statement names: its number, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct NamedColumn {
    pub column: usize,
    pub place: Place,
}

/// An expression that is to be assigned, or one of a row's.
enum Source<'s> {
    Expr(BoundExpr),
    OfRow {
        query: usize,
        value: BoundExpr,
    },
    /// Of an item of the column.
    Item {
        subscripts: &'s [AccessExpr],
        value: BoundExpr,
    },
}

/// A column of the table that is changed. One that no row has yet becomes a column of it, where the table is open.
///
/// # Errors
/// 42703 for an unknown one, 42804 for a field of one.
pub(super) fn column_named(
    lookup: Lookup<'_>,
    relation: &mut RelationRef,
    name: &ObjectName,
) -> SqlResult<NamedColumn> {
    let idents: Vec<_> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    let Some(first) = idents.first() else {
        return Err(SqlError::new(ErrorKind::Internal, "a column without a name"));
    };
    let (wanted, place) = (name_of(first), Place::start(first.span));
    let found = column_number(relation, &wanted);
    match (found, idents.len()) {
        (Some(column), 1) => Ok(NamedColumn { column, place }),
        (Some(column), _) => {
            let of = &relation.columns[column];
            let field = idents.get(1).map(|field| name_of(field).text).unwrap_or_default();
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{}\" because its type {} is not a composite type",
                of.name,
                lookup.type_name(of.oid)
            );
            Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(place))
        }
        (None, 1) if relation.is_open => {
            let new = RelationColumn {
                name: wanted.text,
                oid: oids::TEXT,
                typmod: -1,
                takes_any: true,
                ..Default::default()
            };
            let columns = &mut Arc::make_mut(relation).columns;
            columns.push(new);
            Ok(NamedColumn { column: columns.len() - 1, place })
        }
        (None, _) => {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", wanted.text, relation.name);
            Err(SqlError::new(ErrorKind::UndefinedColumn, message).at_place(place))
        }
    }
}

pub(super) fn column_number(relation: &Relation, wanted: &Name) -> Option<usize> {
    let exact = relation.columns.iter().position(|column| column.name == wanted.text);
    exact.or_else(|| relation.columns.iter().position(|column| wanted.is(&column.name)))
}

/// A value as one that the column takes.
///
/// # Errors
/// 42804 for one that it does not take.
pub(super) fn assigned(
    binder: &mut Binder<'_>,
    value: BoundExpr,
    relation: &Relation,
    column: usize,
) -> SqlResult<BoundExpr> {
    let column = &relation.columns[column];
    if value.is_default() {
        let ty = binder.lookup.of_type(column.oid, column.typmod);
        return Ok(BoundExpr::new(ExprKind::Default, ty, value.place));
    }
    let (given, place) = (value.ty.oid, value.place);
    if column.takes_any && given != column.oid && given != oids::UNKNOWN {
        return Ok(value);
    }
    let (context, written) = (CastContext::Assignment, Written::Implicitly);
    let cast = binder.typing.coerce_to_target(value, column.oid, column.typmod, context, written, Place::NOWHERE)?;
    cast.ok_or_else(|| {
        let (wanted, given) = (binder.lookup.type_name(column.oid), binder.lookup.type_name(given));
        let message = format!("column \"{}\" is of type {wanted} but expression is of type {given}", column.name);
        SqlError::new(ErrorKind::DatatypeMismatch, message)
            .with_hint("You will need to rewrite or cast the expression.")
            .at_place(place)
    })
}

impl Level<'_> {
    /// SET: all values are bound before the first column is looked up.
    pub(super) fn assignments(
        &mut self,
        target: usize,
        relation: &mut RelationRef,
        set: &[Assignment],
    ) -> SqlResult<Vec<Assigned>> {
        let mut given: Vec<(&ObjectName, Source<'_>)> = Vec::with_capacity(set.len());
        for assignment in set {
            match &assignment.target {
                AssignmentTarget::ColumnName(name) => {
                    let (subscripts, value) = match item::item_parts(&assignment.value) {
                        Some((subscripts, value)) => (Some(subscripts), value),
                        None => (None, &assignment.value),
                    };
                    let value = self.binding(Usage::UpdateList, |binder| bind_value(binder, value))?;
                    given.push((
                        name,
                        match subscripts {
                            Some(subscripts) => Source::Item { subscripts, value },
                            None => Source::Expr(value),
                        },
                    ));
                }
                AssignmentTarget::Tuple(names) => {
                    let values = self.row_of(names, &assignment.value)?;
                    given.extend(names.iter().zip(values));
                }
            }
        }
        let mut all: Vec<Assigned> = Vec::with_capacity(given.len());
        // Columns of which items are set: each is assigned to once, the whole value with all of these.
        let mut of_items = HashSet::new();
        for (name, value) in given {
            let named = column_named(self.lookup(), relation, name)?;
            let column = named.column;
            let value = match value {
                Source::Item { subscripts, value } => {
                    let is_first = of_items.insert(column);
                    let known = all.iter().position(|one| one.column == column).filter(|_| !is_first);
                    let so_far = known.map(|at| all.remove(at).value);
                    AssignedValue::Expr(self.with_item((target, relation, named), so_far, subscripts, value)?)
                }
                Source::Expr(value) => AssignedValue::Expr(self.assigned(value, relation, column)?),
                Source::OfRow { query, value } => {
                    AssignedValue::OfRow { query, value: self.assigned(value, relation, column)? }
                }
            };
            all.push(Assigned { column, value });
        }
        Ok(all)
    }

    /// The value of a column with that of an item; `so_far` is its value with items that are set before.
    fn with_item(
        &mut self,
        (target, relation, NamedColumn { column, place }): (usize, &RelationRef, NamedColumn),
        so_far: Option<AssignedValue>,
        subscripts: &[AccessExpr],
        value: BoundExpr,
    ) -> SqlResult<BoundExpr> {
        let name = &relation.columns[column].name;
        let before = match so_far {
            Some(AssignedValue::Expr(value)) => value,
            _ => column_of(&self.query.range, target, column)
                .ok_or_else(|| SqlError::not_supported("assignment to an item of a column that is new"))?,
        };
        let before = BoundExpr { place, ..before };
        self.binding(Usage::UpdateList, |binder| item::assigned(binder, (before, name), subscripts, value))
    }

    pub(super) fn assigned(&mut self, value: BoundExpr, relation: &Relation, column: usize) -> SqlResult<BoundExpr> {
        self.binding(Usage::UpdateList, |binder| assigned(binder, value, relation, column))
    }

    /// `(a, b) = ..`: a row's values, or the columns of a query's only row.
    fn row_of(&mut self, names: &[ObjectName], value: &Expr) -> SqlResult<Vec<Source<'static>>> {
        let place = Place::start(value.span());
        let count = |given: usize, place: Place| {
            let message = "number of columns does not match number of values";
            if given == names.len() { Ok(()) } else { Err(SqlError::new(ErrorKind::Syntax, message).at_place(place)) }
        };
        match value {
            Expr::Tuple(items) => {
                let place = self.before(place, &["("]);
                self.items(items, |given| count(given, place))
            }
            Expr::Function(function) if is_row(function) && names_all(function) => {
                let row = self.binding(Usage::UpdateList, |binder| binder.bind(value))?;
                let ExprKind::Row(items) = row.kind else { return Err(not_a_row(place)) };
                count(items.len(), place)?;
                Ok(items.into_iter().map(Source::Expr).collect())
            }
            Expr::Function(function) if is_row(function) => {
                let items = crate::query::row_items(function);
                self.items(&items, |given| count(given, place))
            }
            Expr::Nested(inner) => match &**inner {
                Expr::Subquery(_) => self.row_of(names, inner),
                _ => Err(not_a_row(place)),
            },
            Expr::Subquery(query) => {
                let bound = self.binding(Usage::UpdateList, |binder| {
                    let place = binder.before(Place::start(query.span()), &["("]);
                    binder.query_of_row(query, place)
                })?;
                let place = self.before(Place::start(query.span()), &["("]);
                count(bound.columns.len(), place)?;
                let results = self.query.sub_queries.get(bound.number).into_iter().flat_map(BoundQuery::results);
                let column = |(at, target): (usize, &Target)| {
                    let value = BoundExpr::new(ExprKind::SubQueryColumn(at), target.expr.ty, target.expr.place);
                    Source::OfRow { query: bound.number, value }
                };
                Ok(results.enumerate().map(column).collect())
            }
            _ => Err(not_a_row(place)),
        }
    }

    fn items(&mut self, items: &[Expr], check: impl FnOnce(usize) -> SqlResult<()>) -> SqlResult<Vec<Source<'static>>> {
        check(items.len())?;
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(Source::Expr(self.binding(Usage::UpdateList, |binder| bind_value(binder, item))?));
        }
        Ok(values)
    }
}

fn not_a_row(place: Place) -> Box<SqlError> {
    let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
    SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place)
}

/// Whether all columns of a table are among a row's items: `ROW(t.*)`.
fn names_all(function: &Function) -> bool {
    let is_all =
        |argument: &FunctionArg| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)));
    matches!(&function.args, FunctionArguments::List(list) if list.args.iter().any(is_all))
}

fn is_row(function: &Function) -> bool {
    matches!(function.name.0.as_slice(), [ObjectNamePart::Identifier(ident)]
        if ident.quote_style.is_none() && folded(ident) == "row")
}
