//! `json_agg`, `json_object_agg` and those of jsonb: lists that are collected first and then written.
//!
//! Their names are known to the planner as aggregates ([`collected`]), and every call is planned as a function of the
//! arrays that `array_agg` collects, which knows of DISTINCT, FILTER and ORDER BY.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::planner::{PlannerResult, RawAggregateExpr};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility};

use super::build::texts;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::functions::call::Call;
use crate::sql::functions::signature::Overload;
use crate::sql::functions::signature::Type::{self, Json as JsonType, Jsonb, Text};

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("json_of_items", &[TEXTS], JsonType, |call| array(call, false)),
    Overload::new("jsonb_of_items", &[TEXTS], Jsonb, |call| array(call, true)),
    Overload::new("json_of_members", &[TEXTS], JsonType, |call| object(call, false)),
    Overload::new("jsonb_of_members", &[TEXTS], Jsonb, |call| object(call, true)),
    // One member, its key and its value.
    Overload::new("json_member", &[Type::Any, Type::Any], Text, member).of_nulls().stable(),
    // One item, with a mark in front where a line is to begin.
    Overload::new("json_item", &[Type::Any], Text, item).of_nulls().stable(),
];

/// The aggregates: name, function of one row, function of all rows.
const AGGREGATES: &[(&str, &str, &str)] = &[
    ("json_agg", "json_item", "json_of_items"),
    ("jsonb_agg", "json_item", "jsonb_of_items"),
    ("json_object_agg", "json_member", "json_of_members"),
    ("jsonb_object_agg", "json_member", "jsonb_of_members"),
];

/// In front of an item before which PostgreSQL begins a line: arrays and rows.
const LINE: char = '\n';

fn array(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    texts(call, binary, |row, out| {
        let items = lists.at(row);
        let items = items.as_string::<i32>();
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            let item = item.unwrap_or("null");
            let (item, begins_line) = item.strip_prefix(LINE).map_or((item, false), |item| (item, true));
            if index > 0 {
                out.push_str(if begins_line { ", \n " } else { ", " });
            }
            out.push_str(item);
        }
        out.push(']');
        Ok(())
    })
}

fn object(call: &Call, binary: bool) -> SqlResult<ArrayRef> {
    let lists = call.lists(0)?;
    texts(call, binary, |row, out| {
        let members = lists.at(row);
        out.push_str("{ ");
        for (index, member) in members.as_string::<i32>().iter().flatten().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            out.push_str(member);
        }
        out.push_str(" }");
        Ok(())
    })
}

fn item(call: &Call) -> SqlResult<ArrayRef> {
    let value = super::write::JsonArgument::of(&call.arguments[0]);
    texts(call, false, |row, out| {
        let place = value.index(row);
        if value.column.is_composite() && !value.column.is_null(place) {
            out.push(LINE);
        }
        value.column.write(place, out);
        Ok(())
    })
}

fn member(call: &Call) -> SqlResult<ArrayRef> {
    let key = super::write::JsonArgument::of(&call.arguments[0]);
    let value = super::write::JsonArgument::of(&call.arguments[1]);
    texts(call, false, |row, out| {
        if key.column.is_null(key.index(row)) {
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, "field name must not be null"));
        }
        key.column.write_key(key.index(row), out)?;
        out.push_str(" : ");
        value.column.write(value.index(row), out);
        Ok(())
    })
}

/// The aggregates, for the planner to know their names.
pub(in crate::sql::functions) fn collected() -> impl Iterator<Item = Arc<AggregateUDF>> {
    AGGREGATES.iter().map(|(name, ..)| {
        Arc::new(AggregateUDF::new_from_impl(Collected { name, signature: Signature::variadic_any(Volatility::Stable) }))
    })
}

/// Plans a call of one of the aggregates.
pub(in crate::sql::functions) fn plan(call: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
    let Some((name, of_row, of_all)) = AGGREGATES.iter().find(|(name, ..)| *name == call.func.name()) else {
        return Ok(PlannerResult::Original(call));
    };
    let (Some(of_row), Some(of_all)) = (super::super::find(of_row), super::super::find(of_all)) else {
        return internal_err!("{name} is written by a function that is missing");
    };
    let row = Expr::ScalarFunction(ScalarFunction::new_udf(of_row, call.args));
    let list = Expr::AggregateFunction(AggregateFunction::new_udf(
        array_agg_udaf(),
        vec![row],
        call.distinct,
        call.filter,
        call.order_by,
        call.null_treatment,
    ));
    Ok(PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(of_all, vec![list]))))
}

/// The name of an aggregate that is planned as something else.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Collected {
    name: &'static str,
    signature: Signature,
}

impl AggregateUDFImpl for Collected {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Err(datafusion::error::DataFusionError::External(SqlError::not_supported(format!("{} here", self.name))))
    }
}
