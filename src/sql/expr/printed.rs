//! Expressions of the engine as PostgreSQL's EXPLAIN writes them.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{AggregateFunction, InList, Like};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator, ScalarUDF};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr, expressions as physical};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use tablegate_types::conversion::{is_text, name};
use tablegate_types::output::TextColumn;
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::kernels::Computation;
use super::quantified::Quantified;
use super::sample::Sampled;
use super::typed::ValueType;
use super::{array_constructor, comparison, is_number_of_set};
use crate::syntax::shown_labels;

/// The expression, in parentheses where it is none of one word.
pub(crate) fn printed(expr: &Expr) -> String {
    match expr {
        Expr::Alias(alias) => printed(&alias.expr),
        Expr::Column(column) => quote_ident(&column.name),
        Expr::OuterReferenceColumn(_, column) => quote_ident(&column.name),
        Expr::Literal(value, metadata) => {
            let sql_type = metadata.as_ref().and_then(|metadata| {
                let field = metadata.add_to_field(Field::new("", value.data_type(), true));
                (!metadata.inner().is_empty()).then(|| SqlType::declared_in(&field))
            });
            literal(value, sql_type.as_ref())
        }
        Expr::BinaryExpr(binary) => of_two(binary),
        Expr::Not(operand) => format!("(NOT {})", printed(operand)),
        Expr::Negative(operand) => format!("(- {})", printed(operand)),
        Expr::IsNull(operand) => behind(operand, "IS NULL"),
        Expr::IsNotNull(operand) => behind(operand, "IS NOT NULL"),
        Expr::IsTrue(operand) => behind(operand, "IS TRUE"),
        Expr::IsFalse(operand) => behind(operand, "IS FALSE"),
        Expr::IsUnknown(operand) => behind(operand, "IS UNKNOWN"),
        Expr::IsNotTrue(operand) => behind(operand, "IS NOT TRUE"),
        Expr::IsNotFalse(operand) => behind(operand, "IS NOT FALSE"),
        Expr::IsNotUnknown(operand) => behind(operand, "IS NOT UNKNOWN"),
        Expr::Like(Like { negated, expr, pattern, case_insensitive, .. }) => {
            of_like(*negated, *case_insensitive, &printed(expr), &printed(pattern))
        }
        Expr::InList(InList { expr, list, negated }) => of_list(*negated, &printed(expr), list.iter().map(printed)),
        Expr::Between(Between { expr, negated, low, high }) => {
            let (value, low, high) = (printed(expr), printed(low), printed(high));
            match negated {
                false => format!("(({value} >= {low}) AND ({value} <= {high}))"),
                true => format!("(({value} < {low}) OR ({value} > {high}))"),
            }
        }
        Expr::Case(case) => {
            let branches = case.when_then_expr.iter().map(|(when, then)| (printed(when), printed(then)));
            of_case(case.expr.as_deref().map(printed), branches, case.else_expr.as_deref().map(printed))
        }
        Expr::Cast(cast) => cast_to(&printed(&cast.expr), &ValueType::of_field(&cast.field)),
        Expr::ScalarFunction(call) => of_call(&call.func, call.args.iter().map(printed).collect()),
        Expr::AggregateFunction(call) => of_aggregate(call),
        Expr::WindowFunction(call) => {
            let arguments = call.params.args.iter().map(printed).collect::<Vec<_>>();
            format!("{} OVER (?)", called(call.fun.name(), &arguments))
        }
        Expr::Placeholder(parameter) => parameter.id.clone(),
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => {
            "(SubPlan)".to_owned()
        }
        other => other.schema_name().to_string(),
    }
}

/// The same of an expression that runs, with other names for its columns where there are such.
pub(crate) fn printed_physical(
    expr: &Arc<dyn PhysicalExpr>,
    named: &dyn Fn(&physical::Column) -> Option<String>,
) -> String {
    let printed_physical = |expr: &Arc<dyn PhysicalExpr>| printed_physical(expr, named);
    if let Some(column) = expr.downcast_ref::<physical::Column>() {
        named(column).unwrap_or_else(|| of_column(column.name()))
    } else if let Some(value) = expr.downcast_ref::<physical::Literal>() {
        literal(value.value(), None)
    } else if let Some(binary) = expr.downcast_ref::<physical::BinaryExpr>() {
        let (left, right) = (printed_physical(binary.left()), printed_physical(binary.right()));
        format!("({left} {} {right})", symbol_of(*binary.op()))
    } else if let Some(not) = expr.downcast_ref::<physical::NotExpr>() {
        format!("(NOT {})", printed_physical(not.arg()))
    } else if let Some(test) = expr.downcast_ref::<physical::IsNullExpr>() {
        format!("({} IS NULL)", printed_physical(test.arg()))
    } else if let Some(test) = expr.downcast_ref::<physical::IsNotNullExpr>() {
        format!("({} IS NOT NULL)", printed_physical(test.arg()))
    } else if let Some(cast) = expr.downcast_ref::<physical::CastExpr>() {
        let to = Field::new("", cast.cast_type().clone(), true);
        if *to.data_type() == DataType::Boolean && cast.expr().is::<physical::BinaryExpr>() {
            return printed_physical(cast.expr());
        }
        cast_to(&printed_physical(cast.expr()), &ValueType::of_field(&to))
    } else if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        let function = Arc::new(call.fun().clone());
        of_call(&function, call.args().iter().map(printed_physical).collect())
    } else if let Some(case) = expr.downcast_ref::<physical::CaseExpr>() {
        let branches =
            case.when_then_expr().iter().map(|(when, then)| (printed_physical(when), printed_physical(then)));
        of_case(case.expr().map(printed_physical), branches, case.else_expr().map(printed_physical))
    } else if let Some(list) = expr.downcast_ref::<physical::InListExpr>() {
        of_list(list.negated(), &printed_physical(list.expr()), list.list().iter().map(printed_physical))
    } else if let Some(like) = expr.downcast_ref::<physical::LikeExpr>() {
        let (value, pattern) = (printed_physical(like.expr()), printed_physical(like.pattern()));
        of_like(like.negated(), like.case_insensitive(), &value, &pattern)
    } else {
        fmt_sql(expr.as_ref()).to_string()
    }
}

/// An expression without the parentheses around it.
pub(super) fn bare(text: &str) -> &str {
    let mut depth = 0_usize;
    let closes_at_end = text.starts_with('(')
        && text.char_indices().all(|(at, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth > 0 || at + 1 == text.len()
        });
    if closes_at_end { &text[1..text.len() - 1] } else { text }
}

pub(super) fn called(function: &str, arguments: &[String]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(|argument| bare(argument)).collect();
    format!("{function}({})", arguments.join(", "))
}

/// A column that the plan has named after what is computed in it stands in parentheses, as in PostgreSQL. A number that keeps it apart
/// from others is left out.
pub(crate) fn of_column(name: &str) -> String {
    if is_number_of_set(name) {
        return "GROUPING".to_owned();
    }
    let name = shown_labels(name);
    let name = match name.rsplit_once('#') {
        Some((own, number)) if !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) => own.into(),
        _ => name,
    };
    if name.contains('(') { format!("({name})") } else { quote_ident(&name) }
}

fn of_aggregate(call: &AggregateFunction) -> String {
    let params = &call.params;
    let is_of_rows =
        matches!(params.args.as_slice(), [Expr::Literal(value, _)] if call.func.name() == "count" && !value.is_null());
    let arguments = match is_of_rows {
        true => "*".to_owned(),
        false => params.args.iter().map(|argument| bare(&printed(argument)).to_owned()).collect::<Vec<_>>().join(", "),
    };
    let distinct = if params.distinct { "DISTINCT " } else { "" };
    let filter = params.filter.as_ref().map(|filter| format!(" FILTER (WHERE {})", printed(filter)));
    format!("{}({distinct}{arguments}){}", call.func.name(), filter.unwrap_or_default())
}

fn of_call(function: &ScalarUDF, arguments: Vec<String>) -> String {
    if let Some(computation) = function.inner().downcast_ref::<Computation>() {
        return computation.printed(arguments);
    }
    if let Some(sampled) = function.inner().downcast_ref::<Sampled>() {
        return sampled.printed(&arguments);
    }
    match (function.inner().downcast_ref::<Quantified>(), arguments.as_slice()) {
        (Some(condition), [value, array]) => condition.printed(value, array),
        _ if array_constructor::is_it(function) => array_constructor::printed(&arguments),
        _ => called(function.name(), &arguments),
    }
}

fn cast_to(value: &str, to: &ValueType) -> String {
    format!("({})::{}", bare(value), name(&to.sql_type))
}

fn symbol_of(op: Operator) -> String {
    match op {
        Operator::IsDistinctFrom => "IS DISTINCT FROM".to_owned(),
        Operator::IsNotDistinctFrom => "IS NOT DISTINCT FROM".to_owned(),
        op => comparison::symbol(op).map_or_else(|| op.to_string(), str::to_owned),
    }
}

fn behind(operand: &Expr, words: &str) -> String {
    format!("({} {words})", printed(operand))
}

/// AND and OR are lists.
fn of_two(binary: &BinaryExpr) -> String {
    let word = match binary.op {
        Operator::And => " AND ",
        Operator::Or => " OR ",
        op => return format!("({} {} {})", printed(&binary.left), symbol_of(op), printed(&binary.right)),
    };
    let mut parts = Vec::new();
    let mut waiting = VecDeque::from([&*binary.left, &*binary.right]);
    while let Some(next) = waiting.pop_front() {
        match next {
            Expr::BinaryExpr(inner) if inner.op == binary.op => {
                waiting.push_front(&inner.right);
                waiting.push_front(&inner.left);
            }
            part => parts.push(printed(part)),
        }
    }
    format!("({})", parts.join(word))
}

fn of_case(
    operand: Option<String>,
    branches: impl Iterator<Item = (String, String)>,
    otherwise: Option<String>,
) -> String {
    let operand = operand.map(|operand| format!(" {operand}")).unwrap_or_default();
    let branches: String = branches.map(|(when, then)| format!(" WHEN {when} THEN {then}")).collect();
    let otherwise = otherwise.map(|otherwise| format!(" ELSE {otherwise}")).unwrap_or_default();
    format!("CASE{operand}{branches}{otherwise} END")
}

fn of_like(negated: bool, case_insensitive: bool, value: &str, pattern: &str) -> String {
    let operator = match (negated, case_insensitive) {
        (false, false) => "~~",
        (true, false) => "!~~",
        (false, true) => "~~*",
        (true, true) => "!~~*",
    };
    format!("({value} {operator} {pattern})")
}

fn of_list(negated: bool, value: &str, items: impl Iterator<Item = String>) -> String {
    let (operator, which) = if negated { ("<>", "ALL") } else { ("=", "ANY") };
    format!("({value} {operator} {which} (ARRAY[{}]))", items.collect::<Vec<_>>().join(", "))
}

/// Numbers and truth values as they are written, all else in quotes and with its type.
fn literal(value: &ScalarValue, sql_type: Option<&SqlType>) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let own = ValueType::of_field(&Field::new("", value.data_type(), true)).sql_type;
    let sql_type = sql_type.unwrap_or(&own);
    let mut text = String::new();
    match value.to_array() {
        Ok(array) => {
            let _ = TextColumn::plain(&array, sql_type).write_to(0, &mut text);
        }
        Err(_) => text = value.to_string(),
    }
    let is_bare = matches!(
        sql_type,
        SqlType::Bool | SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(_) | SqlType::Float8
    );
    match sql_type {
        SqlType::Bool => if text == "t" { "true" } else { "false" }.to_owned(),
        _ if is_bare && !text.starts_with(['-', 'N', 'I']) => text,
        _ if is_text(sql_type) => format!("'{}'::text", text.replace('\'', "''")),
        other => format!("'{}'::{}", text.replace('\'', "''"), name(other)),
    }
}
