//! The WHEN clauses of a MERGE: which rows they take, and what they compute.

use std::sync::Arc;

use tablegate_bind::catalogue::{Relation as BoundRelation, oids};
use tablegate_bind::expr::{ExprKind, Literal, Test};
use tablegate_bind::query::LockStrength;
use tablegate_bind::query::changes::{BoundMergeClause, InsertColumn, MergeAction};
use tablegate_bind::{BoundExpr, ExprType, Place};
use tablegate_types::ScalarValue;
use tablegate_types::error::SqlResult;

use crate::dml::assigned_values::{as_given, has_no_type};
use crate::dml::given_rows::{GivenRows, targets_of};
use crate::dml::new_rows::NewRows;
use crate::dml::row_update::RowUpdate;
use crate::dml::set_clause::SetClause;
use crate::plan::{MeantChange, Planner, Receiver};
use crate::relation::Relation;

/// One WHEN clause.
pub(super) struct Clause {
    matched: bool,
    pub action: Action,
    /// Where its values begin among those of all clauses.
    pub first: usize,
}

pub(super) enum Action {
    Nothing,
    Delete,
    Update(Box<RowUpdate>),
    Insert { given: GivenRows, rows: Arc<NewRows> },
}

impl Action {
    /// How it locks the rows of the target that it takes, if it takes such.
    pub(super) fn locks(&self) -> Option<LockStrength> {
        match self {
            Action::Nothing | Action::Insert { .. } => None,
            Action::Update(rows) if !rows.assigns_key() => Some(LockStrength::NoKeyUpdate),
            Action::Update(_) | Action::Delete => Some(LockStrength::Update),
        }
    }
}

/// The clauses, the expression that says which of them a row takes, and the values they write.
pub(super) struct Read {
    pub clauses: Vec<Clause>,
    pub which: BoundExpr,
    pub values: Vec<BoundExpr>,
}

impl Clause {
    /// Whether it takes rows of the target.
    pub(super) fn is_matched(&self) -> bool {
        self.matched
    }

    pub(super) fn needs_whole_rows(&self) -> bool {
        matches!(&self.action, Action::Update(rows) if rows.need_whole_rows())
    }

    /// The columns that take its values; those of all clauses begin at `first`.
    pub(super) fn receivers(&self, first: usize) -> Vec<Receiver> {
        match &self.action {
            Action::Nothing | Action::Delete => Vec::new(),
            Action::Update(rows) => rows.set.receivers(first + self.first),
            Action::Insert { given, .. } => given.receivers(first + self.first),
        }
    }

    pub(super) fn assigns_key(&self) -> bool {
        matches!(&self.action, Action::Update(rows) if rows.assigns_key())
    }
}

/// The clauses of a MERGE.
///
/// # Errors
/// The errors of planning what the table computes, and for columns that no property can be.
pub(super) fn read(planner: &Planner<'_>, meant: &MeantChange, merged: &[BoundMergeClause]) -> SqlResult<Read> {
    let (relation, bound) = (meant.relation(), &*meant.change.relation);
    let conditions = conditions_of(meant, merged)?;
    let which = which_of(&conditions);
    let mut read = Read { clauses: Vec::new(), which, values: Vec::new() };
    for (index, clause) in merged.iter().enumerate() {
        let first = read.values.len();
        let (action, values) = match &clause.action {
            MergeAction::Delete => (Action::Delete, Vec::new()),
            MergeAction::Nothing => (Action::Nothing, Vec::new()),
            MergeAction::Update(assigned) => {
                let (set, values) = SetClause::of(relation, bound, assigned, planner.reading())?;
                (Action::Update(Box::new(RowUpdate::prepare(planner, relation, set)?)), values)
            }
            MergeAction::Insert { columns, values } => {
                insertion(planner, relation, bound, columns, values.as_deref().unwrap_or_default())?
            }
        };
        read.values.extend(values.into_iter().map(|value| guarded(value, &conditions[..=index])));
        read.clauses.push(Clause { matched: clause.is_matched, action, first });
    }
    Ok(read)
}

/// Of each clause whether it fits a row: if there is one of the target, or none, and the clause's condition holds.
fn conditions_of(meant: &MeantChange, merged: &[BoundMergeClause]) -> SqlResult<Vec<BoundExpr>> {
    let key = meant.identity()?.swap_remove(0);
    let condition = |clause: &BoundMergeClause| {
        let value = Box::new(key.clone());
        let kind = truth(ExprKind::Test { value, test: Test::Null, negated: clause.is_matched });
        match &clause.condition {
            None => kind,
            Some(condition) => truth(ExprKind::And(vec![kind, condition.clone()])),
        }
    };
    Ok(merged.iter().map(condition).collect())
}

fn truth(kind: ExprKind) -> BoundExpr {
    BoundExpr::new(kind, ExprType::BOOL, Place::NOWHERE)
}

/// `CASE WHEN <matched> AND <condition> THEN 0 ... END`: the first clause that fits.
fn which_of(conditions: &[BoundExpr]) -> BoundExpr {
    let number = |index: usize| {
        let number = ScalarValue::Int32(i32::try_from(index).ok());
        BoundExpr::new(ExprKind::Constant(Literal::Value(number)), ExprType::plain(oids::INT4), Place::NOWHERE)
    };
    let branches = conditions.iter().enumerate().map(|(index, condition)| (condition.clone(), number(index)));
    case(branches.collect(), ExprType::plain(oids::INT4))
}

/// A value that is computed only for rows that take the last of these clauses: for others it might fail.
fn guarded(value: BoundExpr, conditions: &[BoundExpr]) -> BoundExpr {
    let is_sure = matches!(
        value.kind,
        ExprKind::Column { .. } | ExprKind::Constant(_) | ExprKind::Parameter(_) | ExprKind::SubQuery { .. }
    );
    let Some((own, before)) = conditions.split_last().filter(|_| !is_sure) else { return value };
    let ty = value.ty;
    let mut branches: Vec<_> = before.iter().map(|other| (other.clone(), BoundExpr::null(ty))).collect();
    branches.push((own.clone(), value));
    case(branches, ty)
}

fn case(branches: Vec<(BoundExpr, BoundExpr)>, ty: ExprType) -> BoundExpr {
    let otherwise = Box::new(BoundExpr::null(ty));
    BoundExpr::new(ExprKind::Case { operand: None, branches, otherwise }, ty, Place::NOWHERE)
}

fn insertion(
    planner: &Planner<'_>,
    relation: &Arc<Relation>,
    bound: &BoundRelation,
    columns: &[InsertColumn],
    values: &[BoundExpr],
) -> SqlResult<(Action, Vec<BoundExpr>)> {
    // A column that is not given gets its default as well.
    let targets = targets_of(relation, bound, columns)?;
    let given = targets.into_iter().zip(values).filter(|(_, value)| !value.is_default());
    let (targets, values): (Vec<_>, Vec<_>) = given.map(|(target, value)| (target, as_given(value).clone())).unzip();
    let untyped = values.iter().map(has_no_type).collect();
    let rows = Arc::new(NewRows::prepare(planner, relation, &targets, &[])?);
    Ok((Action::Insert { given: GivenRows::new(relation, targets, untyped, planner.reading()), rows }, values))
}
