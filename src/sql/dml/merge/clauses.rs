//! The WHEN clauses of a MERGE: which rows they take, and what they compute.

use std::sync::Arc;

use sqlparser::ast::{
    self, CaseWhen, Expr, Ident, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind,
    ObjectName, Value,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::scope::SourceScope;
use crate::dml::defaults::is_default;
use crate::dml::generated::check_not_given;
use crate::dml::given_rows::{GivenRows, fit, targets_of};
use crate::dml::new_rows::NewRows;
use crate::dml::row_update::RowUpdate;
use crate::dml::set_clause::{SetClause, declare_parameter};
use crate::dml::target::and;
use crate::dml::untyped::is_untyped;
use crate::plan::{Planner, Receiver};
use crate::relation::Relation;
use crate::syntax::LockStrength;
use crate::syntax::dialect::respell::{DEFAULT_VALUES, DO_NOTHING};

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
    pub which: Expr,
    pub values: Vec<Expr>,
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

/// Refuses what sqlparser reads and PostgreSQL 15 does not.
///
/// # Errors
/// 42601.
pub(super) fn check(merge: &ast::Merge) -> SqlResult<()> {
    let syntax = |what: &str| Err(SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{what}\"")));
    if !merge.into {
        return syntax("MERGE");
    }
    if merge.output.is_some() {
        return syntax("RETURNING");
    }
    if merge.clauses.is_empty() {
        return Err(SqlError::new(ErrorKind::Syntax, "syntax error at end of input"));
    }
    // Whether a clause takes all that is left of its kind.
    let mut closed = [false; 2];
    for clause in &merge.clauses {
        let kind = match clause.clause_kind {
            MergeClauseKind::Matched => 0,
            MergeClauseKind::NotMatched => 1,
            MergeClauseKind::NotMatchedByTarget | MergeClauseKind::NotMatchedBySource => return syntax("BY"),
        };
        if closed[kind] {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(ErrorKind::Syntax, message));
        }
        closed[kind] = clause.predicate.is_none();
        let has_condition = match &clause.action {
            MergeAction::Insert(insert) => insert.insert_predicate.is_some(),
            MergeAction::Update(update) => update.update_predicate.is_some() || update.delete_predicate.is_some(),
            MergeAction::Delete { .. } => false,
        };
        if has_condition {
            return syntax("WHERE");
        }
    }
    Ok(())
}

/// Reads the clauses; types of parameters in them are added to `declared`.
///
/// # Errors
/// The errors of planning their names, and with the numbers of columns and values.
pub(super) async fn read(
    planner: &Planner<'_>,
    relation: &Arc<Relation>,
    target: &Ident,
    scope: &SourceScope,
    clauses: &[MergeClause],
    declared: &mut Vec<SqlType>,
) -> SqlResult<Read> {
    let which = which_clause(planner, target, scope, clauses).await?;
    let mut read = Read { clauses: Vec::new(), which, values: Vec::new() };
    for (index, clause) in clauses.iter().enumerate() {
        let first = read.values.len();
        let (action, values) = match &clause.action {
            MergeAction::Delete { .. } => (Action::Delete, Vec::new()),
            MergeAction::Update(update) if is_nothing(&update.assignments) => (Action::Nothing, Vec::new()),
            MergeAction::Insert(insert) if is_marked(&insert.columns, DO_NOTHING) => (Action::Nothing, Vec::new()),
            MergeAction::Update(update) => {
                let (set, values) = SetClause::read(planner, relation, &update.assignments, declared).await?;
                set.check_assigned_once()?;
                (Action::Update(Box::new(RowUpdate::prepare(planner, relation, set)?)), values)
            }
            MergeAction::Insert(insert) => insertion(planner, relation, scope, insert, declared).await?,
        };
        read.values.extend(values.into_iter().map(|value| guarded(value, &read.which, index)));
        let matched = clause.clause_kind == MergeClauseKind::Matched;
        read.clauses.push(Clause { matched, action, first });
    }
    Ok(read)
}

/// `CASE WHEN <matched> AND <condition> THEN 0 ... END`: the first clause that fits.
async fn which_clause(
    planner: &Planner<'_>,
    target: &Ident,
    scope: &SourceScope,
    clauses: &[MergeClause],
) -> SqlResult<Expr> {
    let key = || Box::new(Expr::CompoundIdentifier(vec![target.clone(), Ident::with_quote('"', "PartitionKey")]));
    let mut conditions = Vec::with_capacity(clauses.len());
    for (index, clause) in clauses.iter().enumerate() {
        let is_matched = clause.clause_kind == MergeClauseKind::Matched;
        let kind = if is_matched { Expr::IsNotNull(key()) } else { Expr::IsNull(key()) };
        let condition = match &clause.predicate {
            None => kind,
            Some(predicate) if is_matched => and(Some(kind), predicate.clone()),
            Some(predicate) => and(Some(kind), scope.expression(planner, predicate).await?),
        };
        conditions.push(CaseWhen { condition, result: number(index) });
    }
    Ok(case(None, conditions))
}

async fn insertion(
    planner: &Planner<'_>,
    relation: &Arc<Relation>,
    scope: &SourceScope,
    insert: &MergeInsertExpr,
    declared: &mut Vec<SqlType>,
) -> SqlResult<(Action, Vec<Expr>)> {
    let mut given = Vec::new();
    if !is_marked(&insert.columns, DEFAULT_VALUES) {
        let MergeInsertKind::Values(list) = &insert.kind else {
            return Err(SqlError::not_supported("INSERT ROW"));
        };
        let [row] = list.rows.as_slice() else {
            return Err(SqlError::new(ErrorKind::Syntax, "INSERT of MERGE takes one row of VALUES"));
        };
        let mut targets = targets_of(relation, &insert.columns)?;
        fit(&mut targets, row.len(), insert.columns.is_empty())?;
        for (target, value) in targets.into_iter().zip(row.iter()) {
            // A column that is not given gets its default as well.
            if !is_default(value) {
                check_not_given(relation, &target, false)?;
                declare_parameter(value, target.column(relation).map(|c| &c.sql_type), declared);
                given.push((target, scope.expression(planner, value).await?));
            }
        }
    }
    let untyped = given.iter().map(|(_, value)| is_untyped(value)).collect();
    let (targets, values): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    let rows = Arc::new(NewRows::prepare(planner, relation, &targets, &[])?);
    Ok((Action::Insert { given: GivenRows::new(relation, targets, untyped, planner.reading()), rows }, values))
}

/// A value that is computed only for rows that take the clause: for others it might fail.
fn guarded(value: Expr, which: &Expr, index: usize) -> Expr {
    match value {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Subquery(_) => value,
        _ if is_untyped(&value) => value,
        _ => case(Some(Box::new(which.clone())), vec![CaseWhen { condition: number(index), result: value }]),
    }
}

fn case(operand: Option<Box<Expr>>, conditions: Vec<CaseWhen>) -> Expr {
    let token = ast::helpers::attached_token::AttachedToken::empty;
    Expr::Case { case_token: token(), end_token: token(), operand, conditions, else_result: None }
}

fn number(index: usize) -> Expr {
    Expr::Value(Value::Number(index.to_string(), false).into())
}

fn is_nothing(assignments: &[ast::Assignment]) -> bool {
    let [assignment] = assignments else { return false };
    matches!(&assignment.target, ast::AssignmentTarget::ColumnName(name) if is_marked(std::slice::from_ref(name), DO_NOTHING))
}

fn is_marked(columns: &[ObjectName], marker: &str) -> bool {
    let [column] = columns else { return false };
    column.0.first().and_then(|part| part.as_ident()).is_some_and(|ident| ident.value == marker)
}
