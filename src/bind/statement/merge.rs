//! MERGE: PostgreSQL's `transformMergeStmt`.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Merge, MergeAction as ActionSyntax, MergeClauseKind, MergeInsertExpr,
    MergeInsertKind, ObjectName, TableFactor, TableWithJoins,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::assign::NamedColumn;
use super::change::refuse_columns;
use super::insert::inserted_row;
use crate::catalogue::RelationRef;
use crate::namespace::Shown;
use crate::place::{AtPlace, Place};
use crate::query::changes::{BoundChange, BoundMergeClause, ChangeKind, InsertColumn, MergeAction};
use crate::query::{Alias, Level, bind_rows};
use crate::usage::Usage;

/// The column that an action sets, or inserts, when the statement says DO NOTHING: the parser has no form for it.
pub const DO_NOTHING: &str = "do#nothing";
/// The column that an action inserts when the statement says DEFAULT VALUES.
pub const DEFAULT_VALUES: &str = "default#values";

impl Level<'_> {
    pub(super) fn merge_statement(&mut self, merge: &Merge) -> SqlResult<BoundChange> {
        check_form(merge)?;
        check_reachable(merge)?;
        let TableFactor::Table { name, alias, args: None, .. } = &merge.table else {
            return Err(SqlError::new(ErrorKind::Syntax, "only a table's rows are changed"));
        };
        refuse_columns(alias.as_ref())?;
        let target = self.target_table(name, Alias::of(alias.as_ref()))?;
        let mut relation = self.relation_of(target)?;
        let source = TableWithJoins { relation: merge.source.clone(), joins: Vec::new() };
        self.bind_from(std::slice::from_ref(&source))?;
        let sources: Vec<Shown> = self.namespace.shown.clone();
        let name = &self.entries[target].name;
        let is_same = |shown: &Shown| shown.by_name && self.entries[shown.entry].name == *name;
        if sources.iter().any(is_same) {
            let message = format!("name \"{name}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateAlias, message)
                .with_detail("The name is used both as MERGE target table and data source."));
        }
        let mut both = vec![Shown::all_of(target)];
        both.extend_from_slice(&sources);
        self.namespace.shown = both.clone();
        let on = self.binding(Usage::JoinCondition, |binder| binder.bind(&merge.on))?;
        self.query.filter = Some(on);
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            let is_matched = clause.clause_kind == MergeClauseKind::Matched;
            self.namespace.shown = if is_matched { both.clone() } else { sources.clone() };
            let condition = match &clause.predicate {
                None => None,
                Some(predicate) => {
                    Some(self.binding(Usage::MergeWhen, |binder| binder.bind_condition(predicate, "WHEN"))?)
                }
            };
            let action = match &clause.action {
                ActionSyntax::Delete { .. } => MergeAction::Delete,
                ActionSyntax::Update(update) if does_nothing(&update.assignments) => MergeAction::Nothing,
                ActionSyntax::Update(update) => {
                    MergeAction::Update(self.assignments(target, &mut relation, &update.assignments)?)
                }
                ActionSyntax::Insert(insert) => self.merged_insert(insert, &mut relation)?,
            };
            clauses.push(BoundMergeClause { is_matched, condition, action });
        }
        Ok(self.change(target, relation, ChangeKind::Merge(clauses), Vec::new()))
    }

    fn merged_insert(&mut self, insert: &MergeInsertExpr, relation: &mut RelationRef) -> SqlResult<MergeAction> {
        match insert.columns.as_slice() {
            [name] if is_marked(name, DO_NOTHING) => return Ok(MergeAction::Nothing),
            [name] if is_marked(name, DEFAULT_VALUES) => {
                return Ok(MergeAction::Insert { columns: Vec::new(), values: None });
            }
            _ => {}
        }
        let named = self.named_columns(relation, &insert.columns)?;
        let are_named = named.is_some();
        let columns = named.unwrap_or_else(|| {
            let all = relation.shown_columns();
            all.map(|(column, _)| NamedColumn { column, place: Place::NOWHERE }).collect()
        });
        let MergeInsertKind::Values(values) = &insert.kind else {
            return Err(SqlError::not_supported("INSERT ROW"));
        };
        let rows = self.binding(Usage::OnlyValues, |binder| {
            bind_rows(binder, &values.rows, &mut |binder, row| inserted_row(binder, row, relation, &columns, are_named))
        })?;
        let [values] = rows.as_slice() else {
            return Err(SqlError::new(ErrorKind::Syntax, "MERGE inserts one row"));
        };
        let column = |named: &NamedColumn| InsertColumn { column: named.column };
        let columns = columns.iter().take(values.len()).map(column).collect();
        Ok(MergeAction::Insert { columns, values: Some(values.clone()) })
    }
}

fn does_nothing(set: &[Assignment]) -> bool {
    matches!(set, [Assignment { target: AssignmentTarget::ColumnName(name), .. }] if is_marked(name, DO_NOTHING))
}

fn is_marked(name: &ObjectName, mark: &str) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|ident| ident.value == mark))
}

/// What the parser reads and PostgreSQL 15 does not.
///
/// # Errors
/// 42601.
fn check_form(merge: &Merge) -> SqlResult<()> {
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
    for clause in &merge.clauses {
        if matches!(clause.clause_kind, MergeClauseKind::NotMatchedByTarget | MergeClauseKind::NotMatchedBySource) {
            return syntax("BY");
        }
        let has_condition = match &clause.action {
            ActionSyntax::Insert(insert) => insert.insert_predicate.is_some(),
            ActionSyntax::Update(update) => update.update_predicate.is_some() || update.delete_predicate.is_some(),
            ActionSyntax::Delete { .. } => false,
        };
        if has_condition {
            return syntax("WHERE");
        }
    }
    Ok(())
}

/// What comes behind a clause without a condition is never done.
fn check_reachable(merge: &Merge) -> SqlResult<()> {
    let mut unconditional = [false, false];
    for clause in &merge.clauses {
        let seen = &mut unconditional[usize::from(clause.clause_kind == MergeClauseKind::Matched)];
        if *seen {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(Place::NOWHERE));
        }
        *seen = clause.predicate.is_none();
    }
    Ok(())
}
