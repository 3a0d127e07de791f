//! Where the rows of an INSERT come from: a VALUES list, or any query.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use tablegate_bind::BoundExpr;
use tablegate_bind::expr::ExprKind;
use tablegate_bind::query::bound::{JoinTree, RangeSource};
use tablegate_bind::query::changes::{InsertSource, Overriding};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::assigned_values::{as_given, has_no_type};
use super::defaults::counts;
use super::given_rows::receivers;
use super::own_types::stored_type;
use super::target::TargetColumn;
use super::values::ValuesList;
use crate::plan::{MeantChange, PlannedQuery, Planner};
use crate::relation::Relation;

/// Where the rows come from.
pub(super) enum Source {
    Values(ValuesList),
    /// Any query.
    Query {
        input: Box<PlannedQuery>,
        /// The query's columns that are inserted, and whether each has no type of its own.
        columns: Vec<(usize, bool)>,
    },
    /// Rows that are there, each column as its target's type.
    Columns(Arc<[RecordBatch]>),
}

impl Source {
    /// The source, whose columns go to these of the table.
    pub(super) fn assigned_to(self, relation: &Relation, targets: &[TargetColumn]) -> SqlResult<Self> {
        let Source::Query { input, columns } = self else { return Ok(self) };
        let receivers = receivers(relation, targets, &columns, 0);
        Ok(Source::Query { input: Box::new(input.assigned_to(receivers)?), columns })
    }

    fn remove_column(&mut self, position: usize) {
        match self {
            Source::Values(values) => values.remove_column(position),
            Source::Query { columns, .. } => drop(columns.remove(position)),
            Source::Columns(_) => {}
        }
    }

    /// The types that values of undeclared properties keep; the types of new properties. Where a statement updates,
    /// EXCLUDED is assigned as it shows: values of known properties have the types of their columns then.
    pub(super) fn own_types(
        &self,
        relation: &Relation,
        targets: &[TargetColumn],
        updates: bool,
    ) -> Vec<Option<SqlType>> {
        let own = |(position, target): (usize, &TargetColumn)| match (self, target.column(relation)) {
            (_, Some(_)) if updates => None,
            (Source::Values(values), Some(column)) => {
                values.own_type(position).map(|from| stored_type(column, &from, false))
            }
            (Source::Values(values), None) => values.own_type(position),
            (Source::Query { input, columns }, column) => {
                let (index, untyped) = columns[position];
                let from = SqlType::of_field(input.plan.schema().field(index));
                column.map(|column| stored_type(column, &from, untyped))
            }
            (Source::Columns(_), _) => None,
        };
        targets.iter().enumerate().map(own).collect()
    }

    /// The columns in which a VALUES list says DEFAULT.
    pub(super) fn asked_defaults(&self, targets: &[TargetColumn]) -> Vec<usize> {
        let Source::Values(values) = self else { return Vec::new() };
        let asked = targets.iter().enumerate().filter_map(|(position, target)| match target {
            TargetColumn::Known(index) if values.asks_default(position) => Some(*index),
            _ => None,
        });
        asked.collect()
    }
}

/// Plans where the rows come from.
///
/// # Errors
/// The errors of planning it.
pub(super) async fn source(
    planner: &Planner<'_>,
    meant: &MeantChange,
    source: &InsertSource,
    targets: &mut Vec<TargetColumn>,
) -> SqlResult<Source> {
    let (from, values): (_, Vec<&BoundExpr>) = match source {
        InsertSource::Defaults => return Ok(Source::Values(ValuesList::of_defaults())),
        InsertSource::Query { entry, values } => {
            let read = &meant.change.range[*entry].source;
            if let RangeSource::SubQuery(query) = read
                && let Some(input) = meant.plan_alone(planner, query).await?
            {
                let given = query.results().take(values.len());
                let columns = given.map(|target| has_no_type(&target.expr)).enumerate().collect();
                return Ok(Source::Query { input: Box::new(input), columns });
            }
            (
                vec![JoinTree::Entry(*entry)],
                values.iter().map(|value| constant_of(value, read).unwrap_or(value)).collect(),
            )
        }
        InsertSource::Rows(rows) => match rows.as_slice() {
            [row] if row.iter().any(BoundExpr::gives_rows) => (Vec::new(), without_defaults(row, targets)),
            _ => {
                let defaults_count = gets_counted(meant.relation(), targets, rows);
                return Ok(Source::Values(ValuesList::prepare(planner, meant, rows, defaults_count).await?));
            }
        },
    };
    let columns = values.iter().map(|value| has_no_type(as_given(value))).enumerate().collect();
    let query = meant.query(from, None, values.into_iter().cloned().collect());
    Ok(Source::Query { input: Box::new(meant.plan(planner, &query).await?), columns })
}

/// The constant that a value is in all rows of a query: what is wrong with it is told before there is any row.
fn constant_of<'v>(value: &'v BoundExpr, read: &'v RangeSource) -> Option<&'v BoundExpr> {
    let (RangeSource::SubQuery(query), ExprKind::Column { level: 0, column, .. }) = (read, &as_given(value).kind)
    else {
        return None;
    };
    let given = &query.results().nth(*column).filter(|_| query.set.is_none())?.expr;
    matches!(given.kind, ExprKind::Constant(_)).then_some(given)
}

/// The values of the one row of a list that calls a function of rows, which is the list of a SELECT then. Columns that get their
/// defaults are not given.
fn without_defaults<'r>(row: &'r [BoundExpr], targets: &mut Vec<TargetColumn>) -> Vec<&'r BoundExpr> {
    let is_given = |value: &&BoundExpr| !value.is_default();
    let mut given = row.iter().map(|value| is_given(&value));
    targets.retain(|_| given.next().unwrap_or(true));
    row.iter().filter(is_given).collect()
}

/// Whether a default that counts is wanted: of a column that the list does not give, or gives as DEFAULT.
fn gets_counted(relation: &Relation, targets: &[TargetColumn], rows: &[Vec<BoundExpr>]) -> bool {
    let is_given = |index: usize| match targets.iter().position(|target| *target == TargetColumn::Known(index)) {
        Some(position) => rows.iter().all(|row| row.get(position).is_some_and(|value| !value.is_default())),
        None => false,
    };
    relation.columns.iter().enumerate().any(|(index, column)| counts(column) && !is_given(index))
}

/// Takes away the columns that get their own values: generated ones, which a statement may name only to say DEFAULT,
/// and under OVERRIDING USER VALUE those that count.
pub(super) fn leave_out_own(
    relation: &Relation,
    targets: &mut Vec<TargetColumn>,
    source: &mut Source,
    overriding: Overriding,
) {
    for position in (0..targets.len()).rev() {
        let Some(column) = targets[position].column(relation) else { continue };
        if column.generated.is_some() || (column.identity.is_some() && overriding == Overriding::User) {
            source.remove_column(position);
            targets.remove(position);
        }
    }
}
