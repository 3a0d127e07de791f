//! Folds one expression: which parts are computed, in which order, and which parts are skipped.
//!
//! AND and OR stop at a constant that decides, CASE drops what its constant conditions rule out, COALESCE ends with the
//! first constant that is not NULL, a strict function of NULL is NULL once its arguments are computed.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{BinaryExpr, Case, ColumnarValue, Expr, ExprSchemable, Operator, Subquery, lit};
use datafusion::physical_expr::create_physical_expr;
use tablegate_types::error::{ErrorKind, SqlError};

use super::foldable::{is_coalesce, is_computable, is_constant, is_constant_null, is_null};
use super::{Columns, Fold};
use crate::calls::is_long;
use crate::stoppable;

impl Fold<'_> {
    pub(super) fn expression(&self, expr: Expr, columns: &Columns) -> Result<Expr> {
        let folded = expr.transform_down_up(|expr| self.entered(expr, columns), |expr| self.left(expr, columns))?;
        Ok(folded.data)
    }

    /// Before the parts of an expression: those that are not looked at are left out.
    fn entered(&self, expr: Expr, columns: &Columns) -> Result<Transformed<Expr>> {
        stoppable::check()?;
        let done = |expr| Ok(Transformed::new(expr, true, TreeNodeRecursion::Jump));
        match expr {
            Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => {
                done(self.logic(binary, columns)?)
            }
            Expr::Case(case) if case.expr.is_none() => done(self.case(case, columns)?),
            Expr::ScalarFunction(call) if is_coalesce(&call) => done(self.coalesce(call, columns)?),
            Expr::ScalarSubquery(subquery) => Ok(Transformed::yes(Expr::ScalarSubquery(self.subquery(subquery)?))),
            Expr::Exists(mut exists) => {
                exists.subquery = self.subquery(exists.subquery)?;
                Ok(Transformed::yes(Expr::Exists(exists)))
            }
            Expr::InSubquery(mut within) => {
                within.subquery = self.subquery(within.subquery)?;
                Ok(Transformed::yes(Expr::InSubquery(within)))
            }
            Expr::SetComparison(mut set) => {
                set.subquery = self.subquery(set.subquery)?;
                Ok(Transformed::yes(Expr::SetComparison(set)))
            }
            other => Ok(Transformed::no(other)),
        }
    }

    /// Behind the parts of an expression, which are computed.
    fn left(&self, expr: Expr, columns: &Columns) -> Result<Transformed<Expr>> {
        if is_null(&expr) {
            return Ok(Transformed::yes(null_like(&expr, columns.schema())?));
        }
        if is_computable(&expr) {
            return Ok(match self.value(&expr)? {
                Some(value) => Transformed::yes(value),
                None => Transformed::no(expr),
            });
        }
        match expr {
            Expr::AggregateFunction(mut function) if is_never(function.params.filter.as_deref()) => {
                let AggregateFunction { params, .. } = &mut function;
                for argument in &mut params.args {
                    *argument = null_unless_constant(std::mem::take(argument), columns.schema())?;
                }
                params.filter = Some(Box::new(lit(false)));
                params.order_by.clear();
                Ok(Transformed::yes(Expr::AggregateFunction(function)))
            }
            Expr::WindowFunction(mut function) if is_never(function.params.filter.as_deref()) => {
                for argument in &mut function.params.args {
                    *argument = null_unless_constant(std::mem::take(argument), columns.schema())?;
                }
                function.params.filter = Some(Box::new(lit(false)));
                Ok(Transformed::yes(Expr::WindowFunction(function)))
            }
            other => Ok(Transformed::no(other)),
        }
    }

    fn logic(&self, binary: BinaryExpr, columns: &Columns) -> Result<Expr> {
        let BinaryExpr { left, op, right } = binary;
        let decisive = op == Operator::Or;
        let decides =
            |side: &Expr| matches!(side, Expr::Literal(ScalarValue::Boolean(Some(value)), _) if *value == decisive);
        let left = self.expression(*left, columns)?;
        if decides(&left) {
            return Ok(left);
        }
        let right = self.expression(*right, columns)?;
        if decides(&right) {
            return Ok(right);
        }
        Ok(Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) }))
    }

    fn case(&self, case: Case, columns: &Columns) -> Result<Expr> {
        let nothing = match case.else_expr {
            None => Some(null_like(&Expr::Case(case.clone()), columns.schema())?),
            Some(_) => None,
        };
        let Case { when_then_expr, else_expr: mut last, .. } = case;
        let mut branches = Vec::with_capacity(when_then_expr.len());
        let mut is_decided = false;
        for (when, then) in when_then_expr {
            let when = self.expression(*when, columns)?;
            match &when {
                Expr::Literal(ScalarValue::Boolean(Some(true)), _) => {
                    last = Some(Box::new(self.expression(*then, columns)?));
                    is_decided = true;
                    break;
                }
                Expr::Literal(..) => {}
                _ => branches.push((Box::new(when), Box::new(self.expression(*then, columns)?))),
            }
        }
        if !is_decided {
            last = last.map(|last| self.expression(*last, columns).map(Box::new)).transpose()?;
        }
        match last.or_else(|| nothing.filter(|_| branches.is_empty()).map(Box::new)) {
            Some(last) if branches.is_empty() => Ok(*last),
            last => Ok(Expr::Case(Case::new(None, branches, last))),
        }
    }

    fn coalesce(&self, call: ScalarFunction, columns: &Columns) -> Result<Expr> {
        let ScalarFunction { func, args } = call;
        let mut kept = Vec::with_capacity(args.len());
        let mut null = None;
        for argument in args {
            let argument = self.expression(argument, columns)?;
            if is_constant_null(&argument) {
                null = Some(argument);
                continue;
            }
            let ends = is_constant(&argument);
            kept.push(argument);
            if ends {
                break;
            }
        }
        match (kept.len(), null) {
            (0, Some(null)) => Ok(null),
            (1, _) => Ok(kept.remove(0)),
            _ => Ok(func.call(kept)),
        }
    }

    fn subquery(&self, subquery: Subquery) -> Result<Subquery> {
        let plan = self.plan(Arc::unwrap_or_clone(subquery.subquery))?.data;
        Ok(Subquery { subquery: Arc::new(plan), ..subquery })
    }

    /// The value of an expression of constants, with the type it says it has; `None` for what only a run can tell.
    fn value(&self, expr: &Expr) -> Result<Option<Expr>> {
        let none = DFSchema::empty();
        let (_, field) = expr.to_field(&none)?;
        if matches!(field.data_type(), DataType::Struct(_)) {
            return Ok(None);
        }
        let value = match self.evaluated(expr) {
            Ok(Some(value)) => value,
            Ok(None) => return Ok(None),
            Err(error) => {
                let is_ours = matches!(error.find_root(), DataFusionError::External(_));
                let error: Box<SqlError> = error.into();
                return match error.kind {
                    // What the engine does not do with values it may do with columns.
                    ErrorKind::Internal | ErrorKind::FeatureNotSupported if !is_ours => Ok(None),
                    _ => Err(DataFusionError::External(error)),
                };
            }
        };
        if value.data_type() != *field.data_type() {
            return Ok(None);
        }
        let metadata = FieldMetadata::from(field.as_ref());
        Ok(Some(Expr::Literal(value, (!metadata.is_empty()).then_some(metadata))))
    }

    /// `None` for a value that is so long that it is to be made where it is used, and counted there.
    fn evaluated(&self, expr: &Expr) -> Result<Option<ScalarValue>> {
        let none = DFSchema::empty();
        let physical = create_physical_expr(expr, &none, self.props, &PhysicalPlanningContext::default())?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        match physical.evaluate(&row)? {
            ColumnarValue::Scalar(value) => Ok(Some(value)),
            ColumnarValue::Array(values) if is_long(&values) => Ok(None),
            ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0).map(Some),
        }
    }
}

/// Whether a FILTER lets no row pass: then nothing is computed of the rows.
fn is_never(filter: Option<&Expr>) -> bool {
    match filter {
        Some(Expr::Literal(ScalarValue::Boolean(None | Some(false)), _)) => true,
        Some(Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right })) => {
            is_never(Some(left)) || is_never(Some(right))
        }
        _ => false,
    }
}

fn null_unless_constant(argument: Expr, schema: &DFSchema) -> Result<Expr> {
    if is_constant(&argument) { Ok(argument) } else { null_like(&argument, schema) }
}

/// NULL of the type that the expression has.
fn null_like(expr: &Expr, schema: &DFSchema) -> Result<Expr> {
    let (_, field) = expr.to_field(schema)?;
    let metadata = FieldMetadata::from(field.as_ref());
    let null = ScalarValue::try_from(field.data_type())?;
    Ok(Expr::Literal(null, (!metadata.is_empty()).then_some(metadata)))
}
