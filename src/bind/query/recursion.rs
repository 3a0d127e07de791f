//! Which parts of WITH RECURSIVE need which, and where a query may read its own rows: PostgreSQL's
//! `checkWellFormedRecursion`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Cte, Expr, Join, JoinConstraint, JoinOperator, ObjectName, OrderByExpr, OrderByKind, Query, Select, SelectItem,
    SetExpr, SetOperator, SetQuantifier, Spanned, TableFactor, TableWithJoins, Visit, visit_relations,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::level::Context;
use super::select::Parts;
use crate::name::folded;
use crate::place::{AtPlace, Place};

/// Where its own rows may not be read, as errors call it.
type Within = Option<&'static str>;

/// Called with each table that is read from: its name and where that is forbidden.
type Seen<'s> = dyn FnMut(&ObjectName, Within) -> SqlResult<()> + 's;

/// Goes through a query's tables.
struct Walk<'w, 's> {
    seen: &'w mut Seen<'s>,
    /// Names of parts of WITH that hide those outside.
    hidden: Vec<String>,
    within: Within,
}

/// The order in which parts can be bound, and which of them read their own rows.
///
/// # Errors
/// 0A000 for parts that need each other.
pub(super) fn order_of(parts: &[Cte]) -> SqlResult<(Vec<usize>, Vec<bool>)> {
    let names: Vec<String> = parts.iter().map(|part| folded(&part.alias.name)).collect();
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    let mut recursive = vec![false; parts.len()];
    for (at, part) in parts.iter().enumerate() {
        let mut seen = |name: &ObjectName, _: Within| {
            let needed = single(name).and_then(|name| names.iter().position(|known| *known == name));
            match needed {
                Some(needed) if needed == at => recursive[at] = true,
                Some(needed) => needs[at].push(needed),
                None => {}
            }
            Ok(())
        };
        Walk { seen: &mut seen, hidden: Vec::new(), within: None }.query(&part.query)?;
    }
    let (mut order, mut left): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..parts.len()).collect());
    while !left.is_empty() {
        let ready = left.iter().position(|at| needs[*at].iter().all(|needed| order.contains(needed)));
        let Some(ready) = ready else {
            let message = "mutual recursion between WITH items is not implemented";
            let place = Place::start(parts[left[0]].alias.name.span);
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place));
        };
        order.push(left.remove(ready));
    }
    Ok((order, recursive))
}

/// # Errors
/// 42P19 where a query reads its own rows in a way that has no meaning.
pub(super) fn check(context: Context<'_>, part: &Cte) -> SqlResult<()> {
    let name = folded(&part.alias.name);
    let place = Place::start(part.alias.name.span);
    let refused = |message: String| SqlError::new(ErrorKind::InvalidRecursion, message).at_place(place);
    let query = Parts::of(&part.query)?;
    let (left, right) = match query.body {
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            return Err(refused(format!("recursive query \"{name}\" must not contain data-modifying statements")));
        }
        SetExpr::SetOperation { left, op: SetOperator::Union, right, .. } => (left, right),
        _ => {
            return Err(refused(format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            )));
        }
    };
    let hidden: Vec<String> =
        query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| folded(&cte.alias.name)).collect();
    let error = |within: &str, place: Place| {
        let message = format!("recursive reference to query \"{name}\" must not appear {within}");
        Err(SqlError::new(ErrorKind::InvalidRecursion, message).at_place(place))
    };
    let place_of = |table: &ObjectName| Place::start(table.span());
    let mut in_left = |table: &ObjectName, _: Within| match single(table) {
        Some(own) if own == name => error("within its non-recursive term", place_of(table)),
        _ => Ok(()),
    };
    Walk { seen: &mut in_left, hidden: hidden.clone(), within: None }.set(left)?;
    let mut count = 0_usize;
    let mut in_right = |table: &ObjectName, within: Within| {
        if single(table).is_none_or(|own| own != name) {
            return Ok(());
        }
        if let Some(within) = within {
            return error(within, place_of(table));
        }
        count += 1;
        if count > 1 { error("more than once", place_of(table)) } else { Ok(()) }
    };
    Walk { seen: &mut in_right, hidden, within: None }.set(right)?;
    refuse_clauses(context, &query)
}

fn refuse_clauses(context: Context<'_>, query: &Parts<'_>) -> SqlResult<()> {
    let refused = |what: &str, place: Place| {
        let message = format!("{what} in a recursive query is not implemented");
        Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place))
    };
    if let Some(key) = query.order.first() {
        return refused("ORDER BY", Place::start(key.expr.span()));
    }
    if let Some(limit) = query.limit {
        let span = Place::start(limit.span());
        let is_offset = context.before(span, &["OFFSET", "LIMIT"]) == context.before(span, &["OFFSET"])
            && context.before(span, &["OFFSET"]) != span;
        return refused(if is_offset { "OFFSET" } else { "LIMIT" }, span);
    }
    if !query.locks.is_empty() {
        return refused("FOR UPDATE/SHARE", Place::NOWHERE);
    }
    Ok(())
}

fn single(name: &ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [only] => only.as_ident().map(folded),
        _ => None,
    }
}

impl Walk<'_, '_> {
    fn inside<T>(&mut self, within: Within, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.within;
        self.within = within.or(before);
        let done = work(self);
        self.within = before;
        done
    }

    fn query(&mut self, query: &Query) -> SqlResult<()> {
        let before = self.hidden.len();
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|cte| folded(&cte.alias.name));
            if with.recursive {
                self.hidden.extend(names);
                with.cte_tables.iter().try_for_each(|cte| self.query(&cte.query))?;
            } else {
                for (cte, name) in with.cte_tables.iter().zip(names) {
                    self.query(&cte.query)?;
                    self.hidden.push(name);
                }
            }
        }
        self.set(&query.body)?;
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(keys) = &order.kind
        {
            self.exprs(keys.iter().map(|key: &OrderByExpr| &key.expr))?;
        }
        self.hidden.truncate(before);
        Ok(())
    }

    fn set(&mut self, body: &SetExpr) -> SqlResult<()> {
        // Not by calls of itself along a row of members.
        let mut waiting = vec![(body, self.within)];
        while let Some((next, within)) = waiting.pop() {
            match next {
                SetExpr::SetOperation { left, op, set_quantifier, right } => {
                    let all = *set_quantifier == SetQuantifier::All;
                    let (ours, theirs) = match op {
                        SetOperator::Union => (within, within),
                        SetOperator::Intersect if all => (Some("within INTERSECT"), Some("within INTERSECT")),
                        SetOperator::Intersect => (within, within),
                        _ => (if all { Some("within EXCEPT") } else { within }, Some("within EXCEPT")),
                    };
                    waiting.push((right, theirs));
                    waiting.push((left, ours));
                }
                other => self.inside(within, |walk| tablegate_types::stack::deeper(|| walk.member(other)))?,
            }
        }
        Ok(())
    }

    fn member(&mut self, body: &SetExpr) -> SqlResult<()> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::Values(values) => self.exprs(values.rows.iter().flat_map(|row| &row.content)),
            SetExpr::Table(_) | SetExpr::SetOperation { .. } => Ok(()),
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => self.anything(statement),
        }
    }

    fn select(&mut self, select: &Select) -> SqlResult<()> {
        select.from.iter().try_for_each(|item| self.joined(item))?;
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.expr(expr)?;
            }
        }
        self.exprs(select.selection.iter().chain(&select.having))?;
        self.inside(Some("within a subquery"), |walk| walk.anything(&select.group_by))
    }

    fn joined(&mut self, item: &TableWithJoins) -> SqlResult<()> {
        self.joins(&item.relation, &item.joins)
    }

    fn joins(&mut self, first: &TableFactor, joins: &[Join]) -> SqlResult<()> {
        let outer = Some("within an outer join");
        let Some((last, before)) = joins.split_last() else { return self.factor(first) };
        let (left, right, constraint) = match &last.join_operator {
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (None, outer, Some(constraint)),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (outer, None, Some(constraint)),
            JoinOperator::FullOuter(constraint) => (outer, outer, Some(constraint)),
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (None, None, Some(constraint)),
            _ => (None, None, None),
        };
        self.inside(left, |walk| walk.joins(first, before))?;
        self.inside(right, |walk| walk.factor(&last.relation))?;
        match constraint {
            Some(JoinConstraint::On(on)) => self.expr(on),
            _ => Ok(()),
        }
    }

    fn factor(&mut self, factor: &TableFactor) -> SqlResult<()> {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.table(name),
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::NestedJoin { table_with_joins, .. } => self.joined(table_with_joins),
            _ => Ok(()),
        }
    }

    fn table(&mut self, name: &ObjectName) -> SqlResult<()> {
        if single(name).is_some_and(|name| self.hidden.contains(&name)) {
            return Ok(());
        }
        (self.seen)(name, self.within)
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> SqlResult<()> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    /// What an expression reads is read by queries inside of it.
    fn expr(&mut self, expr: &Expr) -> SqlResult<()> {
        self.inside(Some("within a subquery"), |walk| walk.anything(expr))
    }

    fn anything<T: Visit>(&mut self, node: &T) -> SqlResult<()> {
        let found = visit_relations(node, |name| match self.table(name) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        });
        match found {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }
}
