//! UNION, INTERSECT and EXCEPT: members as flat lists, with the types that they have in common. PostgreSQL's
//! `transformSetOperationStmt`.

use sqlparser::ast::{LockClause, SetExpr, SetOperator as SetSyntax, SetQuantifier};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{BoundQuery, RangeColumn, RangeEntry, RangeSource, SetOperator, SetTree, Target};
use super::level::Level;
use super::locks::LockingClause;
use super::select::{Parts, Purpose, bind_parts};
use super::sort::Names;
use crate::coerce::common_modifier;
use crate::expr::{BoundExpr, ExprKind, ExprType};
use crate::namespace::{Namespace, Shown};
use crate::place::{AtPlace, Place};
use crate::scope::{Entry, ScopeColumn};
use crate::usage::Usage;

/// What is on one side of an operator.
struct Side {
    tree: SetTree,
    columns: Vec<Column>,
}

/// A column of a side: what gave it its type is where errors point to.
#[derive(Clone, Copy)]
struct Column {
    ty: ExprType,
    place: Place,
    /// Of a member: its entry and its target, where a literal may yet get a type.
    member: Option<(usize, usize)>,
}

/// An operator and what is on its right.
struct Step<'a> {
    operator: SetOperator,
    all: bool,
    right: &'a SetExpr,
}

impl Level<'_> {
    pub(super) fn set_operation(&mut self, parts: &Parts<'_>, purpose: Purpose<'_>) -> SqlResult<()> {
        refuse_locks(parts.locks)?;
        let side = self.side(parts.body, purpose)?;
        let names = self.names_of_first();
        for (at, (column, name)) in side.columns.iter().zip(names).enumerate() {
            let kind = ExprKind::Column { level: 0, entry: 0, column: at };
            let first = self.member_query(0).and_then(|query| query.results().nth(at));
            let place = first.map_or(column.place, |first| first.expr.place);
            let expr = BoundExpr::new(kind, column.ty, place);
            self.query.targets.push(Target { expr, name, is_hidden: false, origin: None });
        }
        self.query.set = Some(side.tree);
        self.sort_results(parts)?;
        self.limits(parts)
    }

    /// Members from left to right, not down into.
    fn side(&mut self, body: &SetExpr, purpose: Purpose<'_>) -> SqlResult<Side> {
        let (first, steps) = steps_of(body)?;
        let mut left = self.member(first)?;
        let count = steps.len();
        for (at, step) in steps.into_iter().rev().enumerate() {
            if at + 1 == count
                && let Some(entry) = purpose.recursion
            {
                // What the first part gives is what the other one reads.
                let names = self.names_of_first();
                let column = |(name, column): (String, &Column)| RangeColumn { name, ty: column.ty };
                entry.begin_recursion(self.lookup(), names.into_iter().zip(&left.columns).map(column).collect())?;
            }
            let right = tablegate_types::stack::deeper(|| self.side(step.right, Purpose::default()))?;
            left = self.combined(left, right, step.operator, step.all)?;
        }
        Ok(left)
    }

    fn member(&mut self, body: &SetExpr) -> SqlResult<Side> {
        let parts = match body {
            SetExpr::Query(query) => Parts::of(query)?,
            other => Parts::plain(other),
        };
        refuse_locks(parts.locks)?;
        let purpose = Purpose { keeps_unknown: true, ..Purpose::default() };
        let scope = crate::scope::Scope { entries: &self.entries, outer: self.outer, namespace: Some(&self.namespace) };
        let bound = bind_parts(self.context, &parts, Some(&scope), Some(self.withs), &mut self.parameters, purpose)?;
        let entry = self.query.range.len();
        let column = |(at, target): (usize, &Target)| Column {
            ty: target.expr.ty,
            place: target.expr.place,
            member: Some((entry, at)),
        };
        let columns = bound.results().enumerate().map(column).collect();
        let name = format!("*SELECT* {}", entry + 1);
        let of_query = |target: &Target| RangeColumn { name: target.name.clone(), ty: target.expr.ty };
        let shown = bound.results().map(of_query).collect();
        let source = RangeSource::SubQuery(Box::new(bound));
        self.add_entry(RangeEntry::unnamed(name, shown, source));
        Ok(Side { tree: SetTree::Member(entry), columns })
    }

    fn member_query(&self, entry: usize) -> Option<&BoundQuery> {
        match &self.query.range.get(entry)?.source {
            RangeSource::SubQuery(query) => Some(query),
            _ => None,
        }
    }

    fn names_of_first(&self) -> Vec<String> {
        self.member_query(0)
            .map(|query| query.results().map(|target| target.name.clone()).collect())
            .unwrap_or_default()
    }

    fn combined(&mut self, left: Side, right: Side, operator: SetOperator, all: bool) -> SqlResult<Side> {
        let context = operator.spelled();
        if left.columns.len() != right.columns.len() {
            let place = right.columns.first().map_or(Place::NOWHERE, |first| first.place);
            let message = format!("each {context} query must have the same number of columns");
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
        }
        let mut columns = Vec::with_capacity(left.columns.len());
        for (at, (one, other)) in left.columns.iter().zip(&right.columns).enumerate() {
            columns.push(self.combined_column(at, *one, *other, (operator, all))?);
        }
        let types: Vec<ExprType> = columns.iter().map(|column| column.ty).collect();
        let same_as_before = |known: &[ExprType]| {
            known.iter().zip(&types).all(|(known, ty)| (known.oid, known.typmod) == (ty.oid, ty.typmod))
        };
        let parts = match left.tree {
            SetTree::Node { operator: of, all: is_all, mut parts, types: known }
                if of == operator && is_all == all && same_as_before(&known) =>
            {
                parts.push(right.tree);
                parts
            }
            tree => vec![tree, right.tree],
        };
        Ok(Side { tree: SetTree::Node { operator, all, parts, types }, columns })
    }

    fn combined_column(
        &mut self,
        at: usize,
        one: Column,
        other: Column,
        (operator, all): (SetOperator, bool),
    ) -> SqlResult<Column> {
        let context = operator.spelled();
        let (left, right) = (self.column_expr(at, one), self.column_expr(at, other));
        let (common, typmod, collation) = {
            let common = self.lookup().common_type([&left, &right], context)?;
            let typmod = common_modifier([&left, &right], common);
            (common, typmod, self.lookup().made_of(common, typmod, [&left, &right])?.collation)
        };
        let is_first = left.ty.oid == common || right.ty.oid != common;
        let place = if is_first { one.place } else { other.place };
        for (column, expr) in [(one, left), (other, right)].into_iter().filter(|(_, expr)| expr.ty.oid != common) {
            let is_unknown = expr.is_unknown();
            let coerced =
                self.binding(Usage::SelectList, |binder| binder.typing.coerce_to_common(expr, common, context))?;
            if is_unknown {
                self.set_target(column, coerced);
            }
        }
        if (operator != SetOperator::Union || !all) && !self.lookup().is_told_apart(common) {
            let message =
                format!("could not identify an equality operator for type {}", self.lookup().type_name(common));
            return Err(SqlError::new(ErrorKind::UndefinedFunction, message).at_place(place));
        }
        Ok(Column { ty: ExprType { oid: common, typmod, collation }, place, member: None })
    }

    /// The expression of a member's target, or what stands for a column.
    fn column_expr(&self, at: usize, column: Column) -> BoundExpr {
        let stand_in = || BoundExpr::new(ExprKind::SubQueryColumn(at), column.ty, column.place);
        let Some((entry, target)) = column.member.filter(|_| column.ty.oid == crate::catalogue::oids::UNKNOWN) else {
            return stand_in();
        };
        let target = self.member_query(entry).and_then(|query| query.results().nth(target));
        target.map_or_else(stand_in, |target| target.expr.clone())
    }

    fn set_target(&mut self, column: Column, expr: BoundExpr) {
        let Some((entry, at)) = column.member else { return };
        let Some(range) = self.query.range.get_mut(entry) else { return };
        if let Some(known) = range.columns.get_mut(at) {
            known.ty = expr.ty;
        }
        if let RangeSource::SubQuery(query) = &mut range.source
            && let Some(target) = query.targets.iter_mut().filter(|target| !target.is_hidden).nth(at)
        {
            target.expr = expr;
        }
    }

    /// ORDER BY knows the results alone.
    fn sort_results(&mut self, parts: &Parts<'_>) -> SqlResult<()> {
        if parts.order.is_empty() {
            return Ok(());
        }
        let mut sorter = Level::new(self.context, self.outer, self.withs);
        let column = |target: &Target| ScopeColumn { name: target.name.clone(), ty: target.expr.ty, is_hidden: false };
        let columns: Vec<ScopeColumn> = self.query.targets.iter().map(column).collect();
        // Members are there to be told that they cannot be named.
        sorter.entries.clone_from(&self.entries);
        let entry = sorter.entries.len();
        let same = (0..columns.len()).map(|column| ((entry, column), (0, column))).collect();
        sorter.entries.push(Entry { name: String::new(), schema: None, columns, row_type: 0, table: None });
        let shown = vec![Shown { by_name: false, ..Shown::all_of(entry) }];
        sorter.namespace = Namespace { shown, same, ..Namespace::default() };
        sorter.query.targets = self.query.targets.clone();
        sorter.parameters = std::mem::take(&mut self.parameters);
        let count = sorter.query.targets.len();
        let items = sorter.sort_items(parts.order, Usage::OrderBy, Names::OfResults);
        self.parameters = std::mem::take(&mut sorter.parameters);
        let items = items?;
        if let Some(added) = sorter.query.targets.get(count) {
            let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_detail("Only result column names can be used, not expressions or functions.")
                .with_hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
                .at_place(added.expr.place));
        }
        self.query.order = items;
        Ok(())
    }
}

/// Rows of a set operation are no rows of tables.
fn refuse_locks(locks: &[LockClause]) -> SqlResult<()> {
    let Some(lock) = locks.first() else { return Ok(()) };
    let clause = LockingClause::of(lock)?.strength.words();
    let message = format!("{clause} is not allowed with UNION/INTERSECT/EXCEPT");
    Err(SqlError::new(ErrorKind::FeatureNotSupported, message))
}

/// The leftmost member and what follows, the last first.
fn steps_of(body: &SetExpr) -> SqlResult<(&SetExpr, Vec<Step<'_>>)> {
    let (mut steps, mut first) = (Vec::new(), body);
    loop {
        match first {
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let operator = match op {
                    SetSyntax::Union => SetOperator::Union,
                    SetSyntax::Intersect => SetOperator::Intersect,
                    SetSyntax::Except | SetSyntax::Minus => SetOperator::Except,
                };
                let all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::None | SetQuantifier::Distinct => false,
                    _ => return Err(SqlError::not_supported("BY NAME")),
                };
                steps.push(Step { operator, all, right });
                first = left;
            }
            // Parentheses alone do not make a member of a set operation.
            SetExpr::Query(query) => {
                let parts = Parts::of(query)?;
                if !parts.is_plain() || !matches!(parts.body, SetExpr::SetOperation { .. }) {
                    return Ok((first, steps));
                }
                first = parts.body;
            }
            _ => return Ok((first, steps)),
        }
    }
}

impl SetOperator {
    pub(crate) fn spelled(self) -> &'static str {
        match self {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except => "EXCEPT",
        }
    }
}
