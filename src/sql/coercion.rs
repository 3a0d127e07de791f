//! The engine's own casts, put into a plan whose operators have their types.
//!
//! The engine has a rule for this, which asks the type of every argument of every call; and to tell the type of a call it
//! asks all that is in it. In calls within each other that adds up. Here those calls are passed over that take arguments of
//! any type, as all of PostgreSQL's functions and operators do by then (`expr`); all else is left to the engine.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRewriter};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, TypeSignature};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;

use super::stoppable;

/// The engine's rule that this one stands for.
pub(super) const RULE: &str = "type_coercion";

#[derive(Debug)]
pub(super) struct Coercion;

impl AnalyzerRule for Coercion {
    fn name(&self) -> &str {
        RULE
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(coerced)?.data)
    }
}

/// One node, whose inputs are coerced.
fn coerced(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    stoppable::check()?;
    let mut schema = merge_schema(&plan.inputs());
    // Its filters may be of columns that it does not give.
    if let LogicalPlan::TableScan(scan) = &plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    let plan = match plan {
        LogicalPlan::Filter(mut filter) => {
            filter.predicate = filter.predicate.cast_to(&DataType::Boolean, &schema)?;
            LogicalPlan::Filter(filter)
        }
        other => other,
    };
    let names = NamePreserver::new(&plan);
    let mut casts = Casts(TypeCoercionRewriter::new(&schema));
    let rewritten = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(expr.rewrite(&mut casts)?.update_data(|expr| name.restore(expr)))
    })?;
    rewritten.map_data(|plan| casts.0.coerce_plan(plan))?.map_data(LogicalPlan::recompute_schema)
}

struct Casts<'s>(TypeCoercionRewriter<'s>);

impl TreeNodeRewriter for Casts<'_> {
    type Node = Expr;

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        stoppable::check()?;
        if takes_anything(&expr) || joins_truths(&expr) { Ok(Transformed::no(expr)) } else { self.0.f_up(expr) }
    }
}

/// AND and OR of what is boolean by its form: of a long row of them the engine would ask each part for its type once for each level
/// above it.
fn joins_truths(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            is_truth(left) && is_truth(right)
        }
        _ => false,
    }
}

fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(binary) => binary.op.supports_propagation() || binary.op.is_logic_operator(),
        Expr::Literal(value, _) => matches!(value, ScalarValue::Boolean(_)),
        Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::Between(_) => true,
        _ => false,
    }
}

fn takes_anything(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => match &call.func.signature().type_signature {
            TypeSignature::Any(count) => *count == call.args.len(),
            _ => false,
        },
        _ => false,
    }
}
