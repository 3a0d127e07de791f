//! Functions whose value is a set of rows.
//!
//! Each is a function that gives a list, whose items become rows: in FROM by a [`RelationPlanner`], in the select list by
//! the planner's `unnest`. In FROM they may refer to what stands before them, and several lists become rows side by side.

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, DataFusionError, NullHandling, Result, ScalarValue, UnnestOptions};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, LogicalPlanBuilder, lit};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, Ident, TableAlias, TableFactor};
use tablegate_types::error::{ErrorKind, SqlError};

use crate::expr::{find_function, refused_call};
use crate::syntax::{call, fold};

/// A function that gives rows.
pub(super) struct SetFunction {
    name: &'static str,
    columns: &'static [SetColumn],
}

/// A column of such a function.
#[derive(Clone, Copy)]
pub(super) struct SetColumn {
    /// `None` when the column is called as the function or its alias is.
    pub name: Option<&'static str>,
    /// The function that gives the column's values as a list.
    pub list: &'static str,
    /// The function that says again what type they are, where a list's items do not.
    pub typed: Option<&'static str>,
}

const fn column(name: Option<&'static str>, list: &'static str, typed: Option<&'static str>) -> SetColumn {
    SetColumn { name, list, typed }
}

const fn set(name: &'static str, columns: &'static [SetColumn]) -> SetFunction {
    SetFunction { name, columns }
}

const JSON: Option<&str> = Some("typed_json");
const JSONB: Option<&str> = Some("typed_jsonb");

const SET_FUNCTIONS: &[SetFunction] = &[
    set("unnest", &[column(None, "unnest_items", None)]),
    set("generate_series", &[column(None, "generate_series", None)]),
    set("generate_subscripts", &[column(None, "generate_subscripts", None)]),
    set("pg_listening_channels", &[column(None, "listening_channels", None)]),
    set("regexp_matches", &[column(None, "regexp_matches", None)]),
    set("regexp_split_to_table", &[column(None, "regexp_split_to_table", None)]),
    set("string_to_table", &[column(None, "string_to_table", None)]),
    set("json_array_elements", &[column(Some("value"), "json_array_elements", JSON)]),
    set("jsonb_array_elements", &[column(Some("value"), "jsonb_array_elements", JSONB)]),
    set("json_array_elements_text", &[column(Some("value"), "json_array_elements_text", None)]),
    set("jsonb_array_elements_text", &[column(Some("value"), "jsonb_array_elements_text", None)]),
    set("json_object_keys", &[column(None, "json_object_keys", None)]),
    set("jsonb_object_keys", &[column(None, "jsonb_object_keys", None)]),
    set("json_each", &[column(Some("key"), "json_each_key", None), column(Some("value"), "json_each", JSON)]),
    set("jsonb_each", &[column(Some("key"), "jsonb_each_key", None), column(Some("value"), "jsonb_each", JSONB)]),
    set("json_each_text", &[column(Some("key"), "json_each_key", None), column(Some("value"), "json_each_text", None)]),
    set(
        "jsonb_each_text",
        &[column(Some("key"), "jsonb_each_text_key", None), column(Some("value"), "jsonb_each_text", None)],
    ),
    // What `plan/names/records` makes rows with defined columns of.
    set("json records", &[column(Some("value"), "json records", JSON)]),
    set("jsonb records", &[column(Some("value"), "jsonb records", JSONB)]),
    // Of the catalogue.
    set(
        "pg_get_keywords",
        &[
            column(Some("word"), "keyword words", None),
            column(Some("catcode"), "keyword codes", Some("catalog_char")),
            column(Some("barelabel"), "keyword labels", None),
            column(Some("catdesc"), "keyword kinds", None),
            column(Some("baredesc"), "keyword label kinds", None),
        ],
    ),
    set(
        "pg_options_to_table",
        &[column(Some("option_name"), "option names", None), column(Some("option_value"), "option values", None)],
    ),
    set(
        "pg_identify_object",
        &[
            column(Some("type"), "identified type", None),
            column(Some("schema"), "identified schema", None),
            column(Some("name"), "identified name", None),
            column(Some("identity"), "identified identity", None),
        ],
    ),
    set(
        "aclexplode",
        &[
            column(Some("grantor"), "acl grantors", None),
            column(Some("grantee"), "acl grantees", None),
            column(Some("privilege_type"), "acl privileges", None),
            column(Some("is_grantable"), "acl grant options", None),
        ],
    ),
    set(
        "ts_token_type",
        &[
            column(Some("tokid"), "token numbers", None),
            column(Some("alias"), "token aliases", None),
            column(Some("description"), "token descriptions", None),
        ],
    ),
    set(
        "pg_partition_tree",
        &[
            column(Some("relid"), "no relations", None),
            column(Some("parentrelid"), "no relations", None),
            column(Some("isleaf"), "no truths", None),
            column(Some("level"), "no numbers", None),
        ],
    ),
    set("pg_partition_ancestors", &[column(Some("relid"), "no relations", None)]),
    set("_pg_expandarray", &[column(Some("x"), "unnest_items", None), column(Some("n"), "item numbers", None)]),
];

/// The columns of a function that gives rows; `None` for any other.
pub(super) fn columns_of(name: &str) -> Option<&'static [SetColumn]> {
    SET_FUNCTIONS.iter().find(|set| set.name == name).map(|set| set.columns)
}

/// The names of the columns that a function in FROM has, before its alias renames them; `None` for what is not a
/// function.
pub(crate) fn column_names(factor: &TableFactor) -> Option<Vec<String>> {
    let (name, alias, arguments, with_ordinality) = match factor {
        TableFactor::Function { name, alias, args, with_ordinality, .. } => {
            (name.0.last().and_then(|part| part.as_ident()).map(fold)?, alias, args.len(), with_ordinality)
        }
        TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
            ("unnest".to_owned(), alias, array_exprs.len(), with_ordinality)
        }
        _ => return None,
    };
    let own = alias.as_ref().map_or_else(|| name.clone(), |alias| fold(&alias.name));
    let mut names: Vec<String> = match columns_of(&name) {
        Some([one]) if arguments > 1 && name == "unnest" => vec![one.name.unwrap_or(&name).to_owned(); arguments],
        Some(columns) => columns.iter().map(|column| column.name.map_or_else(|| own.clone(), str::to_owned)).collect(),
        None => vec![own],
    };
    if *with_ordinality {
        names.push("ordinality".to_owned());
    }
    Some(names)
}

/// Plans functions in FROM.
#[derive(Debug)]
pub(crate) struct Sets;

impl RelationPlanner for Sets {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let Some(names) = column_names(&relation) else { return Ok(RelationPlanning::Original(Box::new(relation))) };
        let Some((name, arguments, alias, with_ordinality)) = parts(relation)? else {
            return Err(refused(SqlError::not_supported("UNNEST WITH OFFSET").with_hint("Use WITH ORDINALITY.")));
        };
        let plan = match long_series(&name, &arguments, with_ordinality, context)? {
            Some(plan) => plan,
            None => rows(&name, arguments, with_ordinality, context)?,
        };
        let mut alias = alias.unwrap_or_else(|| TableAlias {
            explicit: true,
            name: Ident::with_quote('"', name),
            columns: Vec::new(),
            at: None,
        });
        let names = renamed(names, &mut alias)?;
        let columns = plan.schema().columns().into_iter().zip(names);
        let columns: Vec<Expr> = columns.map(|(column, name)| Expr::Column(column).alias(name)).collect();
        let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, Some(alias)))))
    }
}

fn refused(error: Box<SqlError>) -> DataFusionError {
    DataFusionError::External(error)
}

type Parts = (String, Vec<ast::Expr>, Option<TableAlias>, bool);

/// Name, arguments, alias, and whether rows are numbered. `None` for UNNEST WITH OFFSET, which is not PostgreSQL's.
fn parts(relation: TableFactor) -> Result<Option<Parts>> {
    Ok(match relation {
        TableFactor::Function { name, args, alias, with_ordinality, .. } => {
            let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
            let argument = |argument: FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
                other => Err(refused(SqlError::not_supported(format!("the argument {other} of a function in FROM")))),
            };
            Some((name, args.into_iter().map(argument).collect::<Result<_>>()?, alias, with_ordinality))
        }
        TableFactor::UNNEST { array_exprs, alias, with_offset: false, with_ordinality, .. } => {
            Some(("unnest".to_owned(), array_exprs, alias, with_ordinality))
        }
        _ => None,
    })
}

/// The names with those in front that `AS t (a, b)` gives.
fn renamed(mut names: Vec<String>, alias: &mut TableAlias) -> Result<Vec<String>> {
    let given = std::mem::take(&mut alias.columns);
    if given.len() > names.len() {
        let (table, has) = (fold(&alias.name), names.len());
        let message = format!("table \"{table}\" has {has} columns available but {} columns specified", given.len());
        return Err(refused(SqlError::new(ErrorKind::InvalidColumnReference, message)));
    }
    if given.iter().any(|column| column.data_type.is_some()) {
        return Err(refused(SqlError::not_supported("a column definition list")));
    }
    for (name, column) in names.iter_mut().zip(given) {
        *name = fold(&column.name);
    }
    Ok(names)
}

/// One row for each item of the lists, side by side.
fn rows(
    name: &str,
    arguments: Vec<ast::Expr>,
    with_ordinality: bool,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let columns: Vec<(ast::Expr, SetColumn)> = match columns_of(name) {
        Some(_) if name == "unnest" => {
            let unnested = SetColumn { name: None, list: "unnest_items", typed: None };
            arguments.into_iter().map(|argument| (call(unnested.list, vec![argument]), unnested)).collect()
        }
        Some(columns) => columns.iter().map(|column| (call(column.list, arguments.clone()), *column)).collect(),
        None => return one_row(call(name, arguments), with_ordinality, context),
    };
    let mut lists = Vec::with_capacity(columns.len() + 1);
    let mut unnested = Vec::with_capacity(columns.len() + 1);
    let mut results = Vec::with_capacity(columns.len() + 1);
    for (index, (list, column)) in columns.into_iter().enumerate() {
        let item = Column::from_name(format!("item{index}"));
        let list = context.sql_expr_to_logical_expr(list, &DFSchema::empty())?;
        if let Some(error) = refused_call(&list) {
            return Err(refused(error));
        }
        lists.push(list.alias(item.name.clone()));
        let function = |name: &str| find_function(name).or_else(|| context.context_provider().get_function_meta(name));
        results.push(match column.typed.and_then(function) {
            Some(typed) => typed.call(vec![Expr::Column(item.clone())]),
            None => Expr::Column(item.clone()),
        });
        unnested.push(item);
    }
    if with_ordinality && let Some(numbers) = find_function("row_numbers") {
        let number = Column::from_name("number");
        let lists_alone = lists.iter().map(|list| list.clone().unalias()).collect();
        lists.push(numbers.call(lists_alone).alias(number.name.clone()));
        results.push(Expr::Column(number.clone()));
        unnested.push(number);
    }
    let options = UnnestOptions::new().with_null_handling(NullHandling::Drop);
    LogicalPlanBuilder::empty(true)
        .project(lists)?
        .unnest_columns_with_options(unnested, options)?
        .project(results)?
        .build()
}

/// A function that gives one value gives one row.
fn one_row(call: ast::Expr, with_ordinality: bool, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
    let mut columns = vec![context.sql_expr_to_logical_expr(call, &DFSchema::empty())?.alias("item0")];
    if with_ordinality {
        columns.push(lit(1_i64).alias("number"));
    }
    LogicalPlanBuilder::empty(true).project(columns)?.build()
}

/// A series of integers between constants is not made in memory.
fn long_series(
    name: &str,
    arguments: &[ast::Expr],
    with_ordinality: bool,
    context: &mut dyn RelationPlannerContext,
) -> Result<Option<LogicalPlan>> {
    /// Shorter ones are made at once.
    const ROWS_MIN: i64 = 10_000;
    if name != "generate_series" || with_ordinality {
        return Ok(None);
    }
    let ends: Option<Vec<i64>> = arguments.iter().map(integer).collect();
    let (first, last, step) = match ends.as_deref() {
        Some([first, last]) => (*first, *last, 1),
        Some([first, last, step]) => (*first, *last, *step),
        _ => return Ok(None),
    };
    let rows = last.checked_sub(first).and_then(|distance| distance.checked_div(step));
    if rows.is_none_or(|rows| rows < ROWS_MIN) {
        return Ok(None);
    }
    let arguments = [first, last, step].map(|end| Expr::Literal(ScalarValue::Int64(Some(end)), None)).to_vec();
    let source = context.context_provider().get_table_function_source(name, arguments)?;
    let plan = LogicalPlanBuilder::scan(name, source, None)?.build()?;
    let fits = [first, last, step].iter().all(|end| i32::try_from(*end).is_ok());
    let value = plan.schema().columns().into_iter().next().map(Expr::Column);
    let item = if fits { DataType::Int32 } else { DataType::Int64 };
    let value = value.map(|value| Expr::Cast(Cast::new(Box::new(value), item)).alias("item0"));
    LogicalPlanBuilder::from(plan).project(value)?.build().map(Some)
}

/// An integer as it is written.
fn integer(expr: &ast::Expr) -> Option<i64> {
    match expr {
        ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(number, _), .. }) => number.parse().ok(),
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => integer(expr)?.checked_neg(),
        ast::Expr::Nested(inner) => integer(inner),
        _ => None,
    }
}
