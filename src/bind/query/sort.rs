//! ORDER BY, GROUP BY and DISTINCT: which member of the target list each of their expressions is.

use sqlparser::ast::{Expr, OrderByExpr, OrderByOptions, Spanned, UnaryOperator, Value, ValueWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{Distinct, SortItem, Target};
use super::level::Level;
use crate::alike::alike;
use crate::binder::{aggregate_of, name_of};
use crate::catalogue::oids;
use crate::expr::ExprKind;
use crate::place::{AtPlace, Place};
use crate::scope::Scope;
use crate::usage::Usage;

/// What a clause does with its expressions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Names of results and their numbers come first, as SQL-92 has it.
    OfResults,
    /// All are expressions.
    OfColumns,
}

impl Level<'_> {
    /// The numbers of the targets that a list sorts by.
    ///
    /// # Errors
    /// 42P10 and 42702 for what is no member of the list, 42883 for what cannot be sorted.
    pub(super) fn sort_items(&mut self, keys: &[OrderByExpr], usage: Usage, names: Names) -> SqlResult<Vec<SortItem>> {
        let mut items: Vec<SortItem> = Vec::with_capacity(keys.len());
        for key in keys {
            let target = self.find_target(&key.expr, usage, names)?;
            self.type_target(target)?;
            self.check_sorted(target, Place::start(key.expr.span()))?;
            // What is sorted by already is not sorted by again.
            if !items.iter().any(|item| item.target == target) {
                items.push(sort_item(target, &key.options));
            }
        }
        Ok(items)
    }

    fn check_sorted(&self, target: usize, place: Place) -> SqlResult<()> {
        self.lookup().check_sorted(self.query.targets[target].expr.ty.oid, place)
    }

    pub(super) fn check_told_apart(&self, target: usize, place: Place) -> SqlResult<()> {
        self.lookup().check_told_apart(self.query.targets[target].expr.ty.oid, place)
    }

    /// A literal without a type is text where it is sorted or grouped by.
    pub(super) fn type_target(&mut self, target: usize) -> SqlResult<()> {
        let expr = &self.query.targets[target].expr;
        if !expr.is_unknown() {
            return Ok(());
        }
        let expr = expr.clone();
        self.query.targets[target].expr =
            self.binding(Usage::SelectList, |binder| binder.typing.argument(expr, oids::TEXT))?;
        Ok(())
    }

    /// PostgreSQL's `findTargetlistEntrySQL92` and `findTargetlistEntrySQL99`.
    pub(super) fn find_target(&mut self, expr: &Expr, usage: Usage, names: Names) -> SqlResult<usize> {
        if names == Names::OfResults
            && let Some(found) = self.named_target(unnested(expr), usage)?
        {
            if usage == Usage::GroupBy {
                self.refuse_in_group(found)?;
            }
            return Ok(found);
        }
        let bound = self.binding(usage, |binder| binder.bind(expr))?;
        let plain = bound.without_implicit_casts();
        let is_this = |target: &Target| alike(plain, target.expr.without_implicit_casts(), &self.hashes);
        if let Some(found) = self.query.targets.iter().position(is_this) {
            return Ok(found);
        }
        let origin = self.origin(&bound);
        self.query.targets.push(Target { expr: bound, name: String::new(), is_hidden: true, origin });
        Ok(self.query.targets.len() - 1)
    }

    fn named_target(&self, expr: &Expr, usage: Usage) -> SqlResult<Option<usize>> {
        let clause = usage.clause();
        match expr {
            Expr::Identifier(ident) => {
                let (name, place) = (name_of(ident), Place::start(ident.span));
                // A column of what is read from is meant before a result.
                let own = Scope { outer: None, ..self.scope() };
                if usage == Usage::GroupBy && own.own_column(&name, place)? {
                    return Ok(None);
                }
                let results = || self.query.targets.iter().enumerate().filter(|(_, target)| !target.is_hidden);
                let exact = results().any(|(_, target)| target.name == name.text);
                let is_meant = |known: &str| if exact { known == name.text } else { name.is(known) };
                let mut found: Option<usize> = None;
                for (at, target) in results().filter(|(_, target)| is_meant(&target.name)) {
                    match found {
                        None => found = Some(at),
                        Some(first) if alike(&self.query.targets[first].expr, &target.expr, &self.hashes) => {}
                        Some(_) => {
                            let message = format!("{clause} \"{}\" is ambiguous", name.text);
                            return Err(SqlError::new(ErrorKind::AmbiguousColumn, message).at_place(place));
                        }
                    }
                }
                Ok(found)
            }
            _ => match constant_of(expr) {
                None => Ok(None),
                Some((value, is_negative)) => self.numbered_target(value, is_negative, expr, clause).map(Some),
            },
        }
    }

    fn numbered_target(&self, value: &ValueWithSpan, is_negative: bool, expr: &Expr, clause: &str) -> SqlResult<usize> {
        let inside = Place::start(value.span);
        let place = if is_negative { self.before(inside, &["-"]) } else { inside };
        let place = if place.is_known() { place } else { Place::start(expr.span()) };
        let number = match &value.value {
            Value::Number(digits, _) => digits.parse::<i32>().ok(),
            _ => None,
        };
        let Some(number) = number else {
            let message = format!("non-integer constant in {clause}");
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
        };
        let number = if is_negative { -number } else { number };
        let results = self.query.targets.iter().enumerate().filter(|(_, target)| !target.is_hidden);
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let found = at.and_then(|at| results.map(|(number, _)| number).nth(at));
        found.ok_or_else(|| {
            let message = format!("{clause} position {number} is not in select list");
            SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(place)
        })
    }

    /// Results that are aggregates cannot be grouped by.
    fn refuse_in_group(&self, target: usize) -> SqlResult<()> {
        let expr = &self.query.targets[target].expr;
        if let Some(place) = aggregate_of(expr, 0) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(SqlError::new(ErrorKind::Grouping, message).at_place(place));
        }
        let mut window = None;
        expr.any(&mut |part| {
            let is_window = matches!(part.kind, ExprKind::WindowCall { .. });
            window = window.or(is_window.then_some(part.place));
            false
        });
        match window {
            Some(place) => {
                let message = "window functions are not allowed in GROUP BY";
                Err(SqlError::new(ErrorKind::Windowing, message).at_place(place))
            }
            None => Ok(()),
        }
    }

    /// DISTINCT: all results, and what is sorted by must be among them.
    pub(super) fn distinct_all(&mut self) -> SqlResult<Distinct> {
        for item in &self.query.order {
            let target = &self.query.targets[item.target];
            if target.is_hidden {
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(target.expr.place));
            }
        }
        let mut count = 0_usize;
        for at in 0..self.query.targets.len() {
            if self.query.targets[at].is_hidden {
                continue;
            }
            self.type_target(at)?;
            self.check_told_apart(at, self.query.targets[at].expr.place)?;
            count += 1;
        }
        if count == 0 {
            return Err(SqlError::new(ErrorKind::Syntax, "SELECT DISTINCT must have at least one column"));
        }
        Ok(Distinct::All)
    }

    /// DISTINCT ON: what is sorted by begins with it.
    pub(super) fn distinct_on(&mut self, exprs: &[Expr]) -> SqlResult<Distinct> {
        let mut on = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let target = self.find_target(expr, Usage::DistinctOn, Names::OfResults)?;
            on.push((target, Place::start(expr.span())));
        }
        let refused = |place: Place| {
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(place)
        };
        let mut keys: Vec<usize> = Vec::with_capacity(on.len());
        let mut skipped = false;
        for item in &self.query.order {
            if on.iter().any(|(target, _)| *target == item.target) {
                if skipped {
                    return Err(refused(self.place_of_match(&on, item.target)));
                }
                keys.push(item.target);
            } else {
                skipped = true;
            }
        }
        for (target, place) in &on {
            if keys.contains(target) {
                continue;
            }
            if skipped {
                return Err(refused(*place));
            }
            self.type_target(*target)?;
            self.check_told_apart(*target, *place)?;
            keys.push(*target);
        }
        Ok(Distinct::On(keys))
    }

    fn place_of_match(&self, on: &[(usize, Place)], target: usize) -> Place {
        on.iter().find(|(of, _)| *of == target).map_or(Place::NOWHERE, |(_, place)| *place)
    }

    /// What the query gives: literals without a type are text.
    pub(crate) fn type_all_targets(&mut self) -> SqlResult<()> {
        for target in 0..self.query.targets.len() {
            self.type_target(target)?;
        }
        Ok(())
    }
}

pub(super) fn sort_item(target: usize, options: &OrderByOptions) -> SortItem {
    let descending = options.asc == Some(false);
    SortItem { target, descending, nulls_first: options.nulls_first.unwrap_or(descending) }
}

pub(super) fn unnested(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    inner
}

/// A constant as the grammar has them, and whether a sign makes it negative.
fn constant_of(expr: &Expr) -> Option<(&ValueWithSpan, bool)> {
    match expr {
        Expr::Value(value) if !matches!(value.value, Value::Placeholder(_)) => Some((value, false)),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match unnested(expr) {
            Expr::Value(value) if matches!(value.value, Value::Number(..)) => Some((value, true)),
            _ => None,
        },
        _ => None,
    }
}
