//! Where the rows of an INSERT come from: a VALUES list, or any query.

use sqlparser::ast;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::defaults::{counts, is_default};
use super::generated::check_not_given;
use super::given_rows::{fit, receivers};
use super::own_types::stored_type;
use super::row_functions::gives_rows;
use super::set_clause::declare_parameter;
use super::target::{TargetColumn, select};
use super::untyped::untyped_columns;
use super::values::{ValuesList, values_list};
use crate::plan::{PlannedQuery, Planner};
use crate::relation::Relation;
use crate::syntax::dialect::overriding::Overriding;

/// Where the rows come from.
pub(super) enum Source {
    Values(ValuesList),
    /// Any query.
    Query {
        input: Box<PlannedQuery>,
        /// The query's columns that are inserted, and whether each has no type of its own.
        columns: Vec<(usize, bool)>,
    },
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
        }
    }

    /// The types that values of undeclared properties keep; the types of new properties. Where a statement updates,
    /// EXCLUDED is assigned as it shows: values of known properties have the types of their columns then.
    pub(super) fn own_types(
        &self,
        relation: &Relation,
        targets: &[TargetColumn],
        declared: &[SqlType],
        updates: bool,
    ) -> Vec<Option<SqlType>> {
        let own = |(position, target): (usize, &TargetColumn)| match (self, target.column(relation)) {
            (_, Some(_)) if updates => None,
            (Source::Values(values), Some(column)) => {
                values.own_type(position).map(|from| stored_type(column, &from, false))
            }
            (Source::Values(values), None) => {
                let parameter = || declared.get(values.parameter(position)?).cloned();
                values.own_type(position).or_else(parameter).filter(|own| *own != SqlType::Unknown)
            }
            (Source::Query { input, columns }, column) => {
                let (index, untyped) = columns[position];
                let from = SqlType::of_field(input.plan.schema().field(index));
                column.map(|column| stored_type(column, &from, untyped))
            }
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

/// Plans where the rows come from, and fits the columns to what comes.
///
/// # Errors
/// The errors of planning it; 42601 for too many values, or too few.
pub(super) async fn source(
    planner: &Planner<'_>,
    relation: &Relation,
    targets: &mut Vec<TargetColumn>,
    insert: &ast::Insert,
    declared: &mut Vec<SqlType>,
) -> SqlResult<Source> {
    let unnamed = insert.columns.is_empty();
    let Some(query) = &insert.source else {
        targets.clear();
        return Ok(Source::Values(ValuesList::of_defaults()));
    };
    let mut of_row = None;
    if let Some(values) = values_list(query) {
        fit(targets, values.first().map_or(0, |row| row.len()), unnamed)?;
        of_row = row_as_query(values, targets);
    }
    if let (Some(values), None) = (values_list(query), &of_row) {
        for row in values {
            for (target, expr) in targets.iter().zip(row.iter()) {
                declare_parameter(expr, target.column(relation).map(|c| &c.sql_type), declared);
            }
        }
        let defaults_count = gets_counted(relation, targets, values);
        return Ok(Source::Values(ValuesList::prepare(planner, values, declared, defaults_count).await?));
    }
    let query = of_row.as_ref().unwrap_or(query);
    let input = planner.plan(query, declared).await?;
    input.learn(declared);
    fit(targets, input.columns.len(), unnamed)?;
    let columns = untyped_columns(query, targets.len()).into_iter().enumerate().collect();
    Ok(Source::Query { input: Box::new(input), columns })
}

/// The one row of a list that calls a function of rows, as the list of a SELECT, without the columns that get their defaults.
fn row_as_query(rows: &[ast::Parens<Vec<ast::Expr>>], targets: &mut Vec<TargetColumn>) -> Option<ast::Query> {
    let [row] = rows else { return None };
    if !row.iter().any(gives_rows) {
        return None;
    }
    let mut given = row.iter().map(|expr| !is_default(expr));
    targets.retain(|_| given.next().unwrap_or(true));
    let items = row.iter().filter(|expr| !is_default(expr)).cloned().map(ast::SelectItem::UnnamedExpr).collect();
    Some(select(items, Vec::new(), None))
}

/// Whether a default that counts is wanted: of a column that the list does not give, or gives as DEFAULT.
fn gets_counted(relation: &Relation, targets: &[TargetColumn], rows: &[ast::Parens<Vec<ast::Expr>>]) -> bool {
    let is_given = |index: usize| match targets.iter().position(|target| *target == TargetColumn::Known(index)) {
        Some(position) => rows.iter().all(|row| row.get(position).is_some_and(|expr| !is_default(expr))),
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
    overriding: Option<Overriding>,
) -> SqlResult<()> {
    for position in (0..targets.len()).rev() {
        let Some(column) = targets[position].column(relation) else { continue };
        let counts = column.identity.is_some();
        let left_out = column.generated.is_some() || (counts && overriding == Some(Overriding::User));
        let may_be_given = counts && overriding.is_some();
        let all_default = matches!(source, Source::Values(values) if values.is_all_default(position));
        if !may_be_given && !all_default {
            check_not_given(relation, &targets[position], false)?;
        }
        if left_out {
            source.remove_column(position);
            targets.remove(position);
        }
    }
    Ok(())
}
