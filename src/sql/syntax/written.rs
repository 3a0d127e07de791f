//! Which columns of its table a statement gives values for, as far as its text tells.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Insert, Merge, MergeAction, MergeInsertKind, ObjectName, Parens, Query, Select,
    SelectItem, SetExpr,
};
use tablegate_bind::Identifier;
use tablegate_types::error::{Shown, SqlError};

use super::dialect::copy::CopySource;
use crate::syntax::{Command, fold};

/// The columns that a statement writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WrittenColumns {
    All,
    /// So many of the table's columns, in its order.
    First(usize),
    Named(Vec<String>),
}

impl WrittenColumns {
    pub(crate) fn by(command: &Command) -> Self {
        match command {
            Command::Insert(insert) => Self::by_insert(&insert.insert),
            Command::Update(update) => Self::Named(assigned(&update.0.assignments).collect()),
            Command::Merge(merge) => Self::by_merge(&merge.0),
            Command::Copy(copy) => match &copy.source {
                CopySource::Table { columns, .. } => Self::by_copy(columns),
                CopySource::Query(_) => Self::none(),
            },
            Command::Explain(explain) => Self::by(&explain.inner.command),
            _ => Self::none(),
        }
    }

    /// COPY into these columns; all of them where none is named.
    pub(crate) fn by_copy(columns: &[Identifier]) -> Self {
        if columns.is_empty() { Self::All } else { Self::Named(columns.iter().map(Identifier::folded).collect()) }
    }

    /// The error as it is told to one who may write to its table and not read it: with what the statement itself gave, and
    /// nothing that it did not.
    pub(crate) fn conceal(&self, mut error: Box<SqlError>) -> Box<SqlError> {
        let Some(Shown { sentence, columns, .. }) = error.shown.take().map(|shown| *shown) else { return error };
        let own = columns.into_iter().enumerate().filter(|(place, (name, _))| self.has(name, *place));
        let (names, values): (Vec<String>, Vec<String>) = own.map(|(_, column)| column).unzip();
        let kept = match names.is_empty() {
            true => String::new(),
            false => format!("Failing row contains ({}) = ({}).", names.join(", "), values.join(", ")),
        };
        // What else the DETAIL says is for everybody.
        let detail = error.detail.take().map(|detail| detail.replacen(&sentence, &kept, 1).trim().to_owned());
        error.detail = detail.filter(|detail| !detail.is_empty());
        error
    }

    /// None that is known.
    pub(crate) fn none() -> Self {
        Self::Named(Vec::new())
    }

    /// Whether the column of this name, which has this place among those that the table shows, is one of them.
    fn has(&self, name: &str, place: usize) -> bool {
        match self {
            Self::All => true,
            Self::First(count) => place < *count,
            Self::Named(names) => names.iter().any(|written| written == name),
        }
    }

    fn by_insert(insert: &Insert) -> Self {
        if !insert.columns.is_empty() {
            return Self::Named(insert.columns.iter().filter_map(column).collect());
        }
        match &insert.source {
            None => Self::none(),
            Some(query) => given_by(query).map_or(Self::All, Self::First),
        }
    }

    fn by_merge(merge: &Merge) -> Self {
        let mut names = Vec::new();
        for clause in &merge.clauses {
            match &clause.action {
                MergeAction::Insert(insert) if insert.columns.is_empty() => match &insert.kind {
                    MergeInsertKind::Values(_) => return Self::All,
                    MergeInsertKind::Row => {}
                },
                MergeAction::Insert(insert) => names.extend(insert.columns.iter().filter_map(column)),
                MergeAction::Update(update) => names.extend(assigned(&update.assignments)),
                MergeAction::Delete { .. } => {}
            }
        }
        Self::Named(names)
    }
}

/// How many values each row of a query has, where its text tells.
fn given_by(query: &Query) -> Option<usize> {
    match &*query.body {
        SetExpr::Values(values) => values.rows.first().map(|row: &Parens<Vec<Expr>>| row.content.len()),
        SetExpr::Select(select) => of_list(select),
        _ => None,
    }
}

fn of_list(select: &Select) -> Option<usize> {
    let counts = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    select.projection.iter().all(counts).then_some(select.projection.len())
}

fn assigned(assignments: &[Assignment]) -> impl Iterator<Item = String> {
    assignments.iter().flat_map(|assignment| match &assignment.target {
        AssignmentTarget::ColumnName(name) => column(name).into_iter().collect::<Vec<_>>(),
        AssignmentTarget::Tuple(names) => names.iter().filter_map(column).collect(),
    })
}

fn column(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(fold)
}
