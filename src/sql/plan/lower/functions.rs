//! Functions in FROM: their rows side by side.
//!
//! A function that gives rows is one or several that give lists, whose items become rows. One that gives a value gives one
//! row of it.

use arrow::datatypes::DataType;
use datafusion::catalog::TableFunctionArgs;
use datafusion::common::{Column, NullHandling, ScalarValue, TableReference, UnnestOptions};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, LogicalPlanBuilder};
use tablegate_bind::expr::{BoundExpr, ExprKind, Literal};
use tablegate_bind::query::bound::{RangeColumn, RangeFunction};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::SqlType;

use super::level::{Around, Level};
use super::{Lowering, columns_of};
use crate::expr::set_columns;

/// Functions whose columns the statement defines.
const OF_OBJECTS: &[OfObjects] = &[
    OfObjects { name: "json_to_record", objects: "json record", typed: None },
    OfObjects { name: "jsonb_to_record", objects: "jsonb record", typed: None },
    OfObjects { name: "json_to_recordset", objects: "json records", typed: Some("typed_json") },
    OfObjects { name: "jsonb_to_recordset", objects: "jsonb records", typed: Some("typed_jsonb") },
];

/// Functions whose columns are those of a table, and what gives the same where these columns are defined.
const OF_TABLES: &[(&str, &str)] = &[
    ("json_populate_record", "json_to_record"),
    ("jsonb_populate_record", "jsonb_to_record"),
    ("json_populate_recordset", "json_to_recordset"),
    ("jsonb_populate_recordset", "jsonb_to_recordset"),
];

struct OfObjects {
    name: &'static str,
    /// The function that gives the object, or a list of them.
    objects: &'static str,
    /// Of a list: the function that says again what type an item has.
    typed: Option<&'static str>,
}

/// Shorter series are made in memory at once.
const LONG_SERIES: i64 = 10_000;

/// The columns of the rows that functions give: lists beside each other, and what is computed of their items.
#[derive(Default)]
struct Sides<'b> {
    lists: Vec<Expr>,
    results: Vec<Made<'b>>,
}

enum Made<'b> {
    /// An item, by the function that says again what type it has, if its list does not.
    Item { column: Column, typed: Option<&'static str> },
    /// A member of an object.
    Member { column: Column, typed: Option<&'static str>, member: &'b RangeColumn },
}

impl Sides<'_> {
    /// A list; gives the column that has its items.
    fn list(&mut self, list: Expr) -> Column {
        let column = Column::from_name(format!("item{}", self.lists.len()));
        self.lists.push(list.alias(column.name.clone()));
        column
    }

    fn item(&mut self, list: Expr, typed: Option<&'static str>) {
        let column = self.list(list);
        self.results.push(Made::Item { column, typed });
    }
}

impl Lowering<'_> {
    pub(super) fn functions(
        &self,
        functions: &[RangeFunction],
        with_ordinality: bool,
        level: &Level<'_>,
    ) -> SqlResult<LogicalPlan> {
        let around = Around::beside(self, level);
        if let ([only], false) = (functions, with_ordinality) {
            if let Some(series) = self.long_series(&only.call)? {
                return Ok(series);
            }
            if let Some(relation) = self.system.relation_of(name_of(&only.call)) {
                return self.relation(relation, &only.columns);
            }
            if !gives_rows(&only.call) && !only.is_defined && of_table(name_of(&only.call)).is_none() {
                let value = around.expr(&only.call)?.alias("item0");
                return Ok(LogicalPlanBuilder::empty(true).project([value])?.build()?);
            }
        }
        let mut sides = Sides::default();
        for function in functions {
            self.function(function, &mut sides, &around)?;
        }
        if with_ordinality {
            let alone = sides.lists.iter().map(|list| list.clone().unalias()).collect();
            sides.item(self.forms.call("row_numbers", alone, &around)?, None);
        }
        let columns = (0..sides.lists.len()).map(|at| Column::from_name(format!("item{at}"))).collect();
        let options = UnnestOptions::new().with_null_handling(NullHandling::Drop);
        let lists = LogicalPlanBuilder::empty(true).project(sides.lists)?;
        let items = self.forms.node(lists.unnest_columns_with_options(columns, options)?.build()?)?;
        let around = Around::new(self, level, items.schema().clone());
        let mut results = Vec::with_capacity(sides.results.len());
        for (at, result) in sides.results.iter().enumerate() {
            results.push(self.made(result, &around)?.alias(format!("column{at}")));
        }
        Ok(LogicalPlanBuilder::from(items).project(results)?.build()?)
    }

    fn function<'b>(
        &self,
        function: &'b RangeFunction,
        sides: &mut Sides<'b>,
        around: &Around<'_, '_>,
    ) -> SqlResult<()> {
        let ExprKind::Call { function: called, arguments, names, variadic, .. } = &function.call.kind else {
            return self.value_as_row(&function.call, sides, around);
        };
        if !names.is_empty() || *variadic {
            return Err(SqlError::not_supported("arguments by name, or of VARIADIC, of a function in FROM"));
        }
        if function.is_defined {
            return self.objects(&called.name, arguments, &function.columns, sides, around);
        }
        if let (Some(name), [row, objects]) = (of_table(&called.name), arguments.as_slice()) {
            if !row.is_null_literal() {
                let message = format!("{} with a row that is not NULL", called.name);
                return Err(
                    SqlError::not_supported(message).with_hint("Put NULL::table there, and fill gaps with coalesce.")
                );
            }
            return self.objects(name, std::slice::from_ref(objects), &function.columns, sides, around);
        }
        let Some(columns) = set_columns(&called.name).filter(|columns| called.gives_rows || columns.len() > 1) else {
            return self.value_as_row(&function.call, sides, around);
        };
        let arguments = around.exprs(arguments)?;
        for column in columns {
            sides.item(self.forms.call(column.list, arguments.clone(), around)?, column.typed);
        }
        Ok(())
    }

    /// A function that gives a value, as one row beside those of others.
    fn value_as_row(&self, call: &BoundExpr, sides: &mut Sides<'_>, around: &Around<'_, '_>) -> SqlResult<()> {
        if gives_rows(call) {
            return Err(SqlError::not_supported(format!("the rows of {}", name_of(call))));
        }
        sides.item(self.forms.list_of(around.expr(call)?, around)?, None);
        Ok(())
    }

    /// The columns that the statement defines of objects.
    fn objects<'b>(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        columns: &'b [RangeColumn],
        sides: &mut Sides<'b>,
        around: &Around<'_, '_>,
    ) -> SqlResult<()> {
        let Some(known) = OF_OBJECTS.iter().find(|known| known.name == name) else {
            return Err(SqlError::not_supported(format!("{name} with defined columns")));
        };
        let objects = self.forms.call(known.objects, around.exprs(arguments)?, around)?;
        let list = if known.typed.is_some() { objects } else { self.forms.list_of(objects, around)? };
        let column = sides.list(list);
        let member = |member| Made::Member { column: column.clone(), typed: known.typed, member };
        sides.results.extend(columns.iter().map(member));
        Ok(())
    }

    fn made(&self, result: &Made<'_>, around: &Around<'_, '_>) -> SqlResult<Expr> {
        match result {
            Made::Item { column, typed: None } => Ok(Expr::Column(column.clone())),
            Made::Item { column, typed: Some(typed) } => {
                self.forms.call(typed, vec![Expr::Column(column.clone())], around)
            }
            Made::Member { column, typed, member } => {
                let object = match typed {
                    Some(typed) => self.forms.call(typed, vec![Expr::Column(column.clone())], around)?,
                    None => Expr::Column(column.clone()),
                };
                let sql_type = declared_of_oid(member.ty.oid, member.ty.typmod);
                let sql_type = sql_type.filter(|sql_type| !matches!(sql_type, SqlType::Array(_) | SqlType::Record(_)));
                let sql_type = sql_type.ok_or_else(|| {
                    SqlError::not_supported("an array in a column definition list")
                        .with_hint("Declare the column as jsonb and take its elements with jsonb_array_elements_text.")
                })?;
                self.forms.member(object, &member.name, &sql_type, around)
            }
        }
    }

    /// The rows of a system relation, with the columns that the function has of it.
    fn relation(&self, name: &str, columns: &[RangeColumn]) -> SqlResult<LogicalPlan> {
        let key = format!("pg_catalog.{name}");
        let entry = self.tables.values().find(|entry| entry.key == key);
        let entry = entry.ok_or_else(|| SqlError::not_supported(format!("the rows of {name}")))?;
        let source = provider_as_source(entry.provider.clone());
        let plan = LogicalPlanBuilder::scan(TableReference::bare(key.as_str()), source, None)?;
        let column = |column: &RangeColumn| {
            Expr::Column(Column::new(Some(TableReference::bare(key.as_str())), column.name.as_str()))
        };
        Ok(plan.project(columns.iter().map(column))?.build()?)
    }

    /// A series of integers between constants is not made in memory.
    fn long_series(&self, call: &BoundExpr) -> SqlResult<Option<LogicalPlan>> {
        let ExprKind::Call { function, arguments, .. } = &call.kind else { return Ok(None) };
        if function.name != "generate_series" {
            return Ok(None);
        }
        let ends: Option<Vec<i64>> = arguments.iter().map(integer).collect();
        let (first, last, step) = match ends.as_deref() {
            Some([first, last]) => (*first, *last, 1),
            Some([first, last, step]) => (*first, *last, *step),
            _ => return Ok(None),
        };
        let rows = last.checked_sub(first).and_then(|distance| distance.checked_div(step));
        if rows.is_none_or(|rows| rows < LONG_SERIES) {
            return Ok(None);
        }
        let Some(series) = self.state.table_functions().get("generate_series") else { return Ok(None) };
        let arguments = [first, last, step].map(|end| Expr::Literal(ScalarValue::Int64(Some(end)), None));
        let provider = series.create_table_provider_with_args(TableFunctionArgs::new(&arguments, self.state))?;
        let plan = LogicalPlanBuilder::scan("generate_series", provider_as_source(provider), None)?.build()?;
        let fits = [first, last, step].iter().all(|end| i32::try_from(*end).is_ok());
        let item = if fits { DataType::Int32 } else { DataType::Int64 };
        let value = columns_of(&plan).next();
        let value = value.map(|value| Expr::Cast(Cast::new(Box::new(value), item)).alias("item0"));
        Ok(Some(LogicalPlanBuilder::from(plan).project(value)?.build()?))
    }
}

fn name_of(call: &BoundExpr) -> &str {
    match &call.kind {
        ExprKind::Call { function, .. } => &function.name,
        _ => "this function",
    }
}

/// What gives the same rows as a function whose columns are those of a table.
fn of_table(name: &str) -> Option<&'static str> {
    OF_TABLES.iter().find(|(of_table, _)| *of_table == name).map(|(_, defined)| *defined)
}

/// Whether it gives rows, or one of several columns.
fn gives_rows(call: &BoundExpr) -> bool {
    let ExprKind::Call { function, .. } = &call.kind else { return false };
    function.gives_rows || set_columns(&function.name).is_some_and(|columns| columns.len() > 1)
}

/// An integer that is written out.
fn integer(expr: &BoundExpr) -> Option<i64> {
    match &expr.without_implicit_casts().kind {
        ExprKind::Constant(Literal::Value(ScalarValue::Int32(Some(value)))) => Some((*value).into()),
        ExprKind::Constant(Literal::Value(ScalarValue::Int64(Some(value)))) => Some(*value),
        ExprKind::Prefix { operator, operand } if operator.name == "-" => integer(operand)?.checked_neg(),
        _ => None,
    }
}
