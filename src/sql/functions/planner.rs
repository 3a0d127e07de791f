//! Syntax that means a function: `EXTRACT(year FROM x)`, `SUBSTRING(x FROM 2)`, `POSITION(a IN b)`, `OVERLAY(x PLACING y FROM 2)`.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};

/// Plans the syntax as a call of the function.
#[derive(Debug)]
pub(super) struct Syntax;

fn call(name: &str, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
    Ok(match super::find(name) {
        Some(function) => PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments))),
        None => PlannerResult::Original(arguments),
    })
}

impl ExprPlanner for Syntax {
    fn plan_extract(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // `'day'` and `"day"` come with their quotes.
        if let Some(Expr::Literal(ScalarValue::Utf8(Some(unit)), _)) = args.first_mut() {
            *unit = unit.trim_matches(['\'', '"']).to_owned();
        }
        call("extract", args)
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        call("position", args)
    }

    fn plan_substring(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // `FOR n` alone: the planner supplies the start as a bigint.
        if let Some(Expr::Literal(start @ ScalarValue::Int64(Some(1)), _)) = args.get_mut(1) {
            *start = ScalarValue::Int32(Some(1));
        }
        call("substring", args)
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        call("overlay", args)
    }
}
