//! SET: what UPDATE, ON CONFLICT DO UPDATE and MERGE assign.
//!
//! The right sides become columns of the query that computes the new values. `(a, b) = (SELECT ...)` is one column that
//! holds a whole row, so that the sub-query runs once for both.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart,
    Query, SetExpr, TableFactor, Value,
};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::defaults::{default_expression, is_default};
use super::generated::check_not_given;
use super::own_types::{evolved, stored_type};
use super::target::{TargetColumn, target_column, undefined_column};
use super::untyped::is_untyped;
use crate::expr::parameter_number;
use crate::plan::{Planner, Receiver, resolve_column};
use crate::relation::Relation;
use crate::syntax::parse_expression;
use crate::syntax::{AtSpan, fold};

/// The assignments of one statement, or of one action of it.
#[derive(Debug)]
pub(super) struct SetClause {
    relation: Arc<Relation>,
    assignments: Vec<Assigned>,
    /// Columns that the values are computed in.
    width: usize,
    /// When the transaction began.
    reading: Reading,
}

/// One column and where its value stands.
#[derive(Debug)]
struct Assigned {
    target: TargetColumn,
    /// The expression is a bare string literal or parameter: its text is read as the column's type.
    untyped: bool,
    /// Which of the computed columns.
    column: usize,
    /// For a column of rows: which of their fields.
    field: Option<usize>,
    /// The type its values keep, where that is not the column's.
    own_type: Option<SqlType>,
}

impl SetClause {
    /// Reads a SET clause. Also the expressions to compute; types of parameters in them are added to `declared`.
    ///
    /// # Errors
    /// 42703 for an unknown column, 42601 for a wrong number of values, 428C9 for a generated column.
    pub(super) async fn read(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        assignments: &[Assignment],
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<(Self, Vec<Expr>)> {
        let mut set =
            Self { relation: relation.clone(), assignments: Vec::new(), width: 0, reading: planner.reading() };
        let mut values = Vec::new();
        for assignment in assignments {
            match &assignment.target {
                AssignmentTarget::ColumnName(name) => set.assign(name, &assignment.value, &mut values, declared)?,
                AssignmentTarget::Tuple(names) => match row_source(&assignment.value)? {
                    RowSource::Values(given) => {
                        check_width(names.len(), given.len())?;
                        for (name, value) in names.iter().zip(given) {
                            set.assign(name, value, &mut values, declared)?;
                        }
                    }
                    RowSource::Query(query) => {
                        set.assign_row(names, query, &mut values)?;
                    }
                },
            }
        }
        set.width = values.len();
        Ok((set, values))
    }

    /// How many columns the values are computed in.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &TargetColumn> {
        self.assignments.iter().map(|assigned| &assigned.target)
    }

    /// Whether it may change the keys of rows.
    pub(super) fn assigns_key(&self) -> bool {
        let key_columns = self.relation.key_columns();
        self.targets().any(|target| key_columns.iter().any(|c| *target == TargetColumn::Known(*c)))
    }

    /// The columns that take the values, which begin at `first`. What is not declared takes values of all types.
    pub(super) fn receivers(&self, first: usize) -> Vec<Receiver> {
        let receiver = |assigned: &Assigned| {
            let column = assigned.target.column(&self.relation)?;
            (assigned.field.is_none() && column.observed.is_none()).then(|| Receiver {
                place: first + assigned.column,
                name: column.name.clone(),
                sql_type: column.sql_type.clone(),
                untyped: assigned.untyped,
            })
        };
        self.assignments.iter().filter_map(receiver).collect()
    }

    /// Lets values of undeclared properties keep their own types, which a plan's schema tells; the values begin at
    /// `first`. The table as it shows then.
    pub(super) fn keep_own_types(&mut self, schema: &Schema, first: usize) -> Arc<Relation> {
        for assigned in self.assignments.iter_mut().filter(|assigned| assigned.field.is_none()) {
            let from = SqlType::of_field(schema.field(first + assigned.column));
            let stored = assigned.target.column(&self.relation).map(|c| stored_type(c, &from, assigned.untyped));
            assigned.own_type = stored;
        }
        let stored = self.assignments.iter().filter_map(|a| Some((&a.target, a.own_type.clone()?)));
        evolved(&self.relation, stored)
    }

    /// The new values, each as its column's type, from a batch whose column at `first` is the first computed one.
    ///
    /// # Errors
    /// The errors of assigning them to their columns.
    pub(super) fn values(&self, batch: &RecordBatch, first: usize) -> SqlResult<Vec<ArrayRef>> {
        let schema = batch.schema();
        let value = |assigned: &Assigned| {
            let index = first + assigned.column;
            let (values, from) = match assigned.field {
                None => (batch.column(index).clone(), SqlType::of_field(schema.field(index))),
                Some(field) => field_of(batch.column(index), field)?,
            };
            match assigned.target.column(&self.relation) {
                Some(column) => {
                    let to = assigned.own_type.as_ref().unwrap_or(&column.sql_type);
                    edm::assign_as(&values, &from, to, assigned.untyped, self.reading)
                        .map_err(|e| e.for_column(&column.name))
                }
                None => Ok(values),
            }
        };
        self.assignments.iter().map(value).collect()
    }

    fn assign(
        &mut self,
        name: &ObjectName,
        value: &Expr,
        values: &mut Vec<Expr>,
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<()> {
        let target = set_target(&self.relation, name)?;
        let Some(value) = assigned_value(&self.relation, &target, value)? else { return Ok(()) };
        declare_parameter(&value, target.column(&self.relation).map(|c| &c.sql_type), declared);
        let untyped = is_untyped(&value);
        self.assignments.push(Assigned { target, untyped, column: values.len(), field: None, own_type: None });
        values.push(value);
        Ok(())
    }

    fn assign_row(&mut self, names: &[ObjectName], query: &Query, values: &mut Vec<Expr>) -> SqlResult<()> {
        for (field, name) in names.iter().enumerate() {
            let target = set_target(&self.relation, name)?;
            check_not_given(&self.relation, &target, true)?;
            // A sub-query's literals are text, as in PostgreSQL.
            let column = values.len();
            let assigned = Assigned { target, untyped: false, column, field: Some(field), own_type: None };
            self.assignments.push(assigned);
        }
        values.push(row_of_query(query, names.len())?);
        Ok(())
    }

    /// What PostgreSQL says once everything else of the statement is right.
    ///
    /// # Errors
    /// 42601 for a column that is assigned twice.
    pub(super) fn check_assigned_once(&self) -> SqlResult<()> {
        let mut names = HashSet::new();
        for target in self.targets() {
            let name = target.name(&self.relation);
            if !names.insert(name) {
                let message = format!("multiple assignments to same column \"{name}\"");
                return Err(SqlError::new(ErrorKind::Syntax, message));
            }
        }
        Ok(())
    }
}

/// The right side of `(a, b) = ...`.
enum RowSource<'e> {
    Values(Vec<&'e Expr>),
    Query(&'e Query),
}

fn row_source(value: &Expr) -> SqlResult<RowSource<'_>> {
    let refused = || {
        let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
        SqlError::new(ErrorKind::FeatureNotSupported, message)
    };
    match value {
        Expr::Tuple(values) => Ok(RowSource::Values(values.iter().collect())),
        Expr::Subquery(query) => Ok(RowSource::Query(query)),
        Expr::Nested(inner) if matches!(&**inner, Expr::Subquery(_) | Expr::Nested(_)) => row_source(inner),
        Expr::Function(call) if is_row(&call.name) => match &call.args {
            FunctionArguments::List(list) => {
                let argument = |arg: &'_ FunctionArg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(_)) => Ok(()),
                    _ => Err(refused()),
                };
                list.args.iter().try_for_each(argument)?;
                let expr = |arg| match arg {
                    &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
                    _ => None,
                };
                Ok(RowSource::Values(list.args.iter().filter_map(expr).collect()))
            }
            _ => Err(refused()),
        },
        _ => Err(refused()),
    }
}

fn is_row(name: &ObjectName) -> bool {
    let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return false };
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("row")
}

fn check_width(columns: usize, values: usize) -> SqlResult<()> {
    if columns == values {
        return Ok(());
    }
    Err(SqlError::new(ErrorKind::Syntax, "number of columns does not match number of values"))
}

/// The column on the left side. A name with a dot means a field of a composite value, which there is none of.
fn set_target(relation: &Relation, name: &ObjectName) -> SqlResult<TargetColumn> {
    let parts: Option<Vec<_>> = name.0.iter().map(ObjectNamePart::as_ident).collect();
    match parts.as_deref() {
        Some([column]) => target_column(relation, column),
        Some([column, field, ..]) => {
            let names: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
            let known = resolve_column(names.iter(), column)?.and_then(|stored| relation.column(stored));
            let Some((_, known)) = known else {
                return Err(undefined_column(relation, &fold(column)).at_span(column.span));
            };
            let message = format!(
                "cannot assign to field \"{}\" of column \"{}\" because its type {} is not a composite type",
                fold(field),
                known.name,
                known.sql_type
            );
            Err(SqlError::new(ErrorKind::DatatypeMismatch, message))
        }
        _ => Err(SqlError::not_supported(format!("SET {name}"))),
    }
}

/// What SET gives a column, DEFAULT spelled out; `None` for DEFAULT of a generated column, which is computed anyway.
fn assigned_value(relation: &Relation, target: &TargetColumn, value: &Expr) -> SqlResult<Option<Expr>> {
    if !is_default(value) {
        check_not_given(relation, target, true)?;
        return Ok(Some(value.clone()));
    }
    if target.column(relation).is_some_and(|column| column.generated.is_some()) {
        return Ok(None);
    }
    default_expression(relation, target).map(Some)
}

/// A bare parameter has the type of the column it is assigned to, unless the client said otherwise.
pub(super) fn declare_parameter(expr: &Expr, sql_type: Option<&SqlType>, declared: &mut Vec<SqlType>) {
    let Expr::Value(value) = expr else { return };
    let Value::Placeholder(name) = &value.value else { return };
    let Some(index) = parameter_number(name).filter(|number| *number > 0) else { return };
    if declared.len() < index {
        declared.resize(index, SqlType::Unknown);
    }
    if declared[index - 1] == SqlType::Unknown {
        declared[index - 1] = sql_type.cloned().unwrap_or(SqlType::Text);
    }
}

/// One field of a column of rows; NULL where there is no row.
fn field_of(rows: &ArrayRef, field: usize) -> SqlResult<(ArrayRef, SqlType)> {
    let row = rows.as_struct_opt().filter(|row| field < row.num_columns());
    let row = row.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a row-valued sub-query did not give rows"))?;
    let from = SqlType::of_field(&row.fields()[field]);
    let values = row.column(field);
    if row.null_count() == 0 {
        return Ok((values.clone(), from));
    }
    let absent = arrow::compute::is_null(row)?;
    Ok((arrow::compute::nullif(values, &absent)?, from))
}

/// A scalar sub-query whose value is the row of `query`, which has so many columns: it runs once for all of them.
///
/// # Errors
/// None are expected: the template always parses.
fn row_of_query(query: &Query, width: usize) -> SqlResult<Expr> {
    let columns: Vec<String> = (0..width).map(|i| format!("\"{i}\"")).collect();
    let columns = columns.join(", ");
    let mut row = parse_expression(&format!("(SELECT ROW({columns}) FROM (SELECT 1) AS \"row#\" ({columns}))"))?;
    if let Expr::Subquery(outer) = &mut row
        && let SetExpr::Select(select) = &mut *outer.body
        && let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation)
    {
        **subquery = query.clone();
        return Ok(row);
    }
    Err(SqlError::new(ErrorKind::Internal, "the template of a row-valued sub-query did not parse"))
}
