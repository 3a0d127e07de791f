//! Joins: their conditions, and the columns that USING and NATURAL merge.

use sqlparser::ast::{Expr, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, TableAlias};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{JoinColumn, JoinKind, JoinTree, RangeColumn, RangeEntry, RangeSource};
use super::from::{Alias, Joined, TakenNames};
use super::level::Level;
use crate::catalogue::CastContext;
use crate::coerce::common_modifier;
use crate::expr::{BoundExpr, CastMethod, ExprKind, ExprType, Written};
use crate::name::folded;
use crate::namespace::{Shown, set_lateral};
use crate::place::{AtPlace, Place};
use crate::scope::Found;
use crate::usage::Usage;

const UNNAMED: &str = "unnamed_join";

/// The result's columns: names, types and what they are.
#[derive(Default)]
struct Columns {
    names: Vec<RangeColumn>,
    parts: Vec<JoinColumn>,
    /// Those that are columns of what is joined.
    same: Vec<Option<(usize, usize)>>,
}

impl Level<'_> {
    pub(super) fn join(&mut self, mut left: Joined, join: &Join) -> SqlResult<Joined> {
        let (kind, constraint) = kind_of(&join.join_operator)?;
        let before = self.namespace.shown.len();
        let lateral_allowed = matches!(kind, JoinKind::Inner | JoinKind::Left);
        set_lateral(&mut left.shown, true, lateral_allowed);
        self.namespace.shown.extend_from_slice(&left.shown);
        let right = self.factor(&join.relation);
        self.namespace.shown.truncate(before);
        let right = right?;
        let mut taken = TakenNames::default();
        taken.take(self, &left.shown)?;
        taken.take(self, &right.shown)?;
        let mut shown = left.shown;
        shown.extend_from_slice(&right.shown);

        let sides = (left.entry, right.entry);
        let mut columns = Columns::default();
        let (mut condition, mut using) = (None, Vec::new());
        match constraint {
            JoinConstraint::On(on) => condition = Some(self.join_condition(on, &mut shown)?),
            JoinConstraint::None => {}
            JoinConstraint::Natural => using = self.common_names(sides),
            JoinConstraint::Using(names) => using = names.iter().filter_map(only_name).collect(),
        }
        let merged = self.merge(kind, sides, &using, &mut columns)?;
        condition = condition.or(merged);

        let entry = self.add_join(columns, None);
        for one in &mut shown {
            one.columns = false;
        }
        shown.push(Shown { by_name: false, ..Shown::all_of(entry) });
        let (left, right) = (Box::new(left.tree), Box::new(right.tree));
        let condition = condition.map(Box::new);
        Ok(Joined { tree: JoinTree::Join { entry, kind, left, right, condition, using }, entry, shown })
    }

    /// `(a JOIN b ON ..) AS c`: what is inside cannot be named any more.
    pub(super) fn alias_of_join(&mut self, joined: Joined, alias: &TableAlias) -> SqlResult<Joined> {
        let Alias { name, columns } = Alias::of(Some(alias));
        let name = name.unwrap_or_default();
        let entry = joined.entry;
        if !self.namespace.joins.contains(&entry) {
            return Err(SqlError::new(ErrorKind::Syntax, "an alias stands behind parentheses without a join"));
        }
        if columns.len() > self.entries[entry].columns.len() {
            let (has, given) = (self.entries[entry].columns.len(), columns.len());
            let message =
                format!("join expression \"{name}\" has {has} columns available but {given} columns specified");
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
        }
        self.query.range[entry].named_columns = columns.len();
        for (at, column) in columns.into_iter().enumerate() {
            self.query.range[entry].columns[at].name.clone_from(&column);
            self.entries[entry].columns[at].name = column;
        }
        self.query.range[entry].name.clone_from(&name);
        self.query.range[entry].has_alias = true;
        self.entries[entry].name = name;
        Ok(Joined { shown: vec![Shown::all_of(entry)], ..joined })
    }

    fn add_join(&mut self, columns: Columns, name: Option<String>) -> usize {
        let Columns { names, parts, same } = columns;
        let has_alias = name.is_some();
        let name = name.unwrap_or_else(|| UNNAMED.to_owned());
        let source = RangeSource::Join { columns: parts };
        let entry =
            self.add_entry(RangeEntry { name, has_alias, named_columns: 0, columns: names, source, is_lateral: false });
        self.namespace.joins.insert(entry);
        for (column, same) in same.into_iter().enumerate() {
            if let Some(same) = same {
                self.namespace.same.insert((entry, column), same);
            }
        }
        entry
    }

    /// The condition sees what is joined, and nothing beside it.
    fn join_condition(&mut self, on: &Expr, shown: &mut Vec<Shown>) -> SqlResult<BoundExpr> {
        set_lateral(shown, false, true);
        let others = std::mem::replace(&mut self.namespace.shown, std::mem::take(shown));
        let bound = self.binding(Usage::JoinCondition, |binder| binder.bind_condition(on, "JOIN/ON"));
        *shown = std::mem::replace(&mut self.namespace.shown, others);
        bound
    }

    fn common_names(&self, (left, right): (usize, usize)) -> Vec<String> {
        let others = self.joined_columns(right);
        let is_common = |at: &usize| {
            let name = &self.entries[left].columns[*at].name;
            others.iter().any(|other| self.entries[right].columns[*other].name == *name)
        };
        let common = self.joined_columns(left).into_iter().filter(is_common);
        common.map(|at| self.entries[left].columns[at].name.clone()).collect()
    }

    /// The columns of both sides, the merged ones first, and the condition that they are equal.
    fn merge(
        &mut self,
        kind: JoinKind,
        (left, right): (usize, usize),
        using: &[String],
        columns: &mut Columns,
    ) -> SqlResult<Option<BoundExpr>> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (at, name) in using.iter().enumerate() {
            if using[..at].contains(name) {
                let message = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
            }
            ours.push(self.only_column(left, name, "left")?);
            theirs.push(self.only_column(right, name, "right")?);
        }
        let pairs: Vec<(BoundExpr, BoundExpr)> = ours
            .iter()
            .zip(&theirs)
            .map(|(one, other)| (self.column_of_entry(left, *one), self.column_of_entry(right, *other)))
            .collect();
        for (name, (one, other)) in using.iter().zip(&pairs) {
            self.merged_column(kind, name, one.clone(), other.clone(), columns)?;
        }
        let mut conditions = Vec::new();
        for (one, other) in pairs {
            conditions.push(self.binding(Usage::JoinCondition, |binder| {
                let equal = binder.typing.operation("=", one, other, &|| Place::NOWHERE)?;
                binder.typing.coerce_to_boolean(equal, "JOIN/USING")
            })?);
        }
        for (entry, merged) in [(left, &ours), (right, &theirs)] {
            for at in self.joined_columns(entry).into_iter().filter(|at| !merged.contains(at)) {
                let expr = self.column_of_entry(entry, at);
                let name = self.entries[entry].columns[at].name.clone();
                columns.names.push(RangeColumn { name, ty: expr.ty });
                columns.same.push(same_of(&expr));
                columns.parts.push(JoinColumn::One(expr));
            }
        }
        Ok(match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(BoundExpr::new(ExprKind::And(conditions), ExprType::BOOL, Place::NOWHERE)),
        })
    }

    /// PostgreSQL's `buildMergedJoinVar`.
    fn merged_column(
        &mut self,
        kind: JoinKind,
        name: &str,
        left: BoundExpr,
        right: BoundExpr,
        columns: &mut Columns,
    ) -> SqlResult<()> {
        let (one, other) = self.binding(Usage::JoinCondition, |binder| {
            let common = binder.lookup.common_type([&left, &right], "JOIN/USING")?;
            let typmod = common_modifier([&left, &right], common);
            let one = binder.typing.coerce_to_common(left, common, "JOIN/USING")?;
            let other = binder.typing.coerce_to_common(right, common, "JOIN/USING")?;
            Ok((of_modifier(one, typmod), of_modifier(other, typmod)))
        })?;
        let is_column = |expr: &BoundExpr| matches!(expr.kind, ExprKind::Column { .. });
        let (ty, value) = match kind {
            JoinKind::Inner if is_column(&one) || !is_column(&other) => (one.ty, Some(one.clone())),
            JoinKind::Inner | JoinKind::Right => (other.ty, Some(other.clone())),
            JoinKind::Left => (one.ty, Some(one.clone())),
            JoinKind::Full => (one.ty, None),
        };
        columns.names.push(RangeColumn { name: name.to_owned(), ty });
        columns.same.push(value.as_ref().and_then(same_of));
        let value = value.unwrap_or_else(|| {
            let both = vec![one.clone(), other.clone()];
            BoundExpr::new(ExprKind::Coalesce(both), ty, Place::NOWHERE)
        });
        let (value, left, right) = (Box::new(value), Box::new(one), Box::new(other));
        columns.parts.push(JoinColumn::Merged { value, left, right });
        Ok(())
    }

    /// The columns that a join has of an entry.
    fn joined_columns(&self, entry: usize) -> Vec<usize> {
        (0..self.entries[entry].columns.len()).filter(|column| !self.is_hidden(entry, *column)).collect()
    }

    fn column_of_entry(&self, entry: usize, column: usize) -> BoundExpr {
        self.scope().column(Found { level: 0, entry, column }, Place::NOWHERE)
    }

    fn only_column(&self, entry: usize, name: &str, side: &str) -> SqlResult<usize> {
        let columns = self.entries[entry].columns.iter().enumerate();
        let mut found = columns.filter(|(_, column)| column.name == name).map(|(at, _)| at);
        let (first, second) = (found.next(), found.next());
        match (first, second) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => {
                let message = format!("common column name \"{name}\" appears more than once in {side} table");
                Err(SqlError::new(ErrorKind::AmbiguousColumn, message))
            }
            (None, _) => {
                let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                Err(SqlError::new(ErrorKind::UndefinedColumn, message))
            }
        }
    }
}

/// The same value with the modifier that both sides have, or none.
fn of_modifier(expr: BoundExpr, typmod: i32) -> BoundExpr {
    if expr.ty.typmod == typmod {
        return expr;
    }
    let (ty, place) = (ExprType { typmod, ..expr.ty }, expr.place);
    let (method, context, written) = (CastMethod::Binary, CastContext::Implicit, Written::Implicitly);
    BoundExpr::new(ExprKind::Cast { value: Box::new(expr), method, context, written }, ty, place)
}

fn same_of(expr: &BoundExpr) -> Option<(usize, usize)> {
    match expr.kind {
        ExprKind::Column { level: 0, entry, column } => Some((entry, column)),
        _ => None,
    }
}

fn only_name(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(ObjectNamePart::as_ident).map(folded)
}

fn kind_of(operator: &JoinOperator) -> SqlResult<(JoinKind, &JoinConstraint)> {
    let (kind, constraint) = match operator {
        JoinOperator::CrossJoin(constraint) => return Ok((JoinKind::Inner, constraint)),
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (JoinKind::Inner, constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (JoinKind::Left, constraint),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (JoinKind::Right, constraint),
        JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
        _ => return Err(SqlError::not_supported("this kind of join").at_place(Place::NOWHERE)),
    };
    match constraint {
        JoinConstraint::None => Err(SqlError::new(ErrorKind::Syntax, "syntax error: JOIN needs ON or USING")),
        constraint => Ok((kind, constraint)),
    }
}
