//! What is guessed of a plan's rows: how many there are, and which columns are keys.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Distinct, Expr, Filter, JoinType, LogicalPlan, SubqueryAlias, TableScan};

use crate::scan::{RelationProvider, selectivity};

/// Rows of a table whose store does not count them, and of what is not a table.
const TABLE_ROWS: f64 = 1_000_000.0;
const OTHER_ROWS: f64 = 1_000.0;
/// Rows that share what they are grouped by.
const ROWS_OF_A_GROUP: f64 = 4.0;
/// Half of the rows have a match, or have none.
const MATCHED: f64 = 0.5;

/// Guesses about the rows of a plan.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub rows: f64,
    /// How many there would be without filters: what the values of a key are counted by.
    pub base: f64,
    /// Columns that no two rows have in common, by their places.
    pub keys: Vec<Vec<usize>>,
}

impl Facts {
    fn of_rows(rows: f64) -> Self {
        Self { rows, base: rows, keys: Vec::new() }
    }

    pub(super) fn times(self, part: f64) -> Self {
        Self { rows: (self.rows * part).max(1.0), ..self }
    }

    /// How many values the column has, where that is known.
    pub(super) fn values(&self, column: usize) -> Option<f64> {
        self.keys.iter().any(|key| *key == [column]).then_some(self.base)
    }

    /// Whether a row is named by its values in these columns.
    pub(super) fn has_key_among(&self, columns: &[usize]) -> bool {
        self.keys.iter().any(|key| key.iter().all(|column| columns.contains(column)))
    }
}

/// The part of a plan's rows that satisfies a condition.
pub(super) fn part(plan: &LogicalPlan, facts: &Facts, condition: &Expr) -> f64 {
    selectivity(condition, &|column: &Column| {
        let place = plan.schema().maybe_index_of_column(column)?;
        facts.values(place)
    })
}

pub(super) fn of(plan: &LogicalPlan) -> Result<Facts> {
    Ok(match plan {
        LogicalPlan::TableScan(scan) => of_scan(scan)?,
        LogicalPlan::SubqueryAlias(alias) => of(&alias.input)?,
        LogicalPlan::Filter(filter) => {
            let input = of(&filter.input)?;
            let part = part(&filter.input, &input, &filter.predicate);
            input.times(part)
        }
        LogicalPlan::Projection(projection) => {
            let input = of(&projection.input)?;
            let place = |column: usize| {
                let source = projection.input.schema().columns().into_iter().nth(column)?;
                projection.expr.iter().position(|expr| matches!(expr.clone().unalias(), Expr::Column(c) if c == source))
            };
            let keys = input.keys.iter().filter_map(|key| key.iter().map(|column| place(*column)).collect()).collect();
            Facts { keys, ..input }
        }
        LogicalPlan::Aggregate(aggregate) => {
            if aggregate.group_expr.is_empty() {
                return Ok(Facts::of_rows(1.0));
            }
            let rows = (of(&aggregate.input)?.rows / ROWS_OF_A_GROUP).max(1.0);
            Facts { keys: vec![(0..aggregate.group_expr.len()).collect()], ..Facts::of_rows(rows) }
        }
        LogicalPlan::Distinct(Distinct::All(input)) => Facts::of_rows((of(input)?.rows / ROWS_OF_A_GROUP).max(1.0)),
        LogicalPlan::Join(join) => {
            let (left, right) = (of(&join.left)?, of(&join.right)?);
            match join.join_type {
                JoinType::LeftSemi | JoinType::LeftAnti => left.times(MATCHED),
                JoinType::RightSemi | JoinType::RightAnti => right.times(MATCHED),
                JoinType::Left | JoinType::LeftMark => left,
                JoinType::Inner if join.on.is_empty() && join.filter.is_none() => {
                    Facts::of_rows(left.rows * right.rows)
                }
                _ => Facts::of_rows(left.rows.max(right.rows)),
            }
        }
        LogicalPlan::Sort(sort) => {
            let input = of(&sort.input)?;
            #[expect(clippy::cast_precision_loss, reason = "a guess")]
            let most = sort.fetch.map_or(input.rows, |fetch| fetch as f64);
            Facts { rows: input.rows.min(most), ..input }
        }
        LogicalPlan::EmptyRelation(_) => Facts::of_rows(1.0),
        LogicalPlan::Union(union) => {
            let rows = union.inputs.iter().map(|input| of(input).map(|facts| facts.rows)).sum::<Result<f64>>()?;
            Facts::of_rows(rows)
        }
        other => match other.inputs().first() {
            Some(input) => Facts::of_rows(of(input)?.rows),
            None => Facts::of_rows(OTHER_ROWS),
        },
    })
}

fn of_scan(scan: &TableScan) -> Result<Facts> {
    let provider = source_as_provider(&scan.source)?;
    let Some(provider) = provider.downcast_ref::<RelationProvider>() else { return Ok(Facts::of_rows(OTHER_ROWS)) };
    #[expect(clippy::cast_precision_loss, reason = "a guess")]
    let rows = provider.rows().map_or(TABLE_ROWS, |rows| rows as f64).max(1.0);
    let relation = provider.relation();
    let place = |column: usize| scan.projected_schema.index_of_column_by_name(None, &relation.columns[column].name);
    let key: Option<Vec<usize>> = relation.key_columns().into_iter().map(place).collect();
    let keys = key.into_iter().filter(|key| !key.is_empty()).collect();
    let all = Facts { rows, base: rows, keys };
    let part: f64 = scan.filters.iter().map(|filter| selectivity(filter, &|_| None)).product();
    Ok(all.times(part))
}

/// The plan, whose table knows from here on that a column has no more than so many values.
pub(super) fn told(plan: LogicalPlan, column: usize, values: f64) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::TableScan(mut scan) => {
            let provider = source_as_provider(&scan.source)?;
            if let Some(provider) = provider.downcast_ref::<RelationProvider>()
                && let Some((place, _)) = provider.relation().column(scan.projected_schema.field(column).name())
            {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of rows")]
                let values = values as usize;
                scan.source = provider_as_source(Arc::new(provider.clone().with_values(place, values)));
            }
            LogicalPlan::TableScan(scan)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = told(Arc::unwrap_or_clone(alias.input), column, values)?;
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias.alias)?)
        }
        LogicalPlan::Filter(filter) => {
            let input = told(Arc::unwrap_or_clone(filter.input), column, values)?;
            LogicalPlan::Filter(Filter::try_new(filter.predicate, Arc::new(input))?)
        }
        other => other,
    })
}
