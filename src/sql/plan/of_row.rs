//! Expressions with parameters that are made once, for runs that compute them of a single row: there the parameters are columns
//! beside those of the row.
//!
//! To put values into an expression, to compute what is constant then, and to make it ready takes longer than to compute it of
//! one row. Of many rows it is computed faster with constants.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, ScalarValue, TableReference};
use datafusion::logical_expr::{Expr, Operator, Volatility};
use tablegate_types::sql_type::SqlType;

use super::outputs::{Exprs, physical};
use crate::engine::Engine;
use crate::expr::{has_constant_part, is_cast, parameter_number, parameter_value};

/// The table of the columns that stand for parameters.
const PARAMETERS: &str = "parameters of a run";

/// Such expressions.
#[derive(Debug)]
pub(super) struct OfRow {
    exprs: Exprs,
    /// The parameters, each once: its place and its type.
    parameters: Vec<(usize, SqlType)>,
    /// The columns of the row, and behind them the parameters.
    schema: SchemaRef,
}

impl OfRow {
    /// These expressions over columns that are `read`; `None` where one of them has to be computed otherwise: where a part of it is
    /// constant in a run, which is computed whether there is a row or not, or is compared.
    ///
    /// # Errors
    /// DataFusion's, for an expression that it cannot compute.
    pub(super) fn of(exprs: &[Expr], read: &DFSchemaRef, engine: &Engine) -> Result<Option<Self>> {
        if !exprs.iter().all(is_plain) {
            return Ok(None);
        }
        let mut parameters = Vec::new();
        let mut fields = Vec::new();
        let mut over_columns = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let with_columns = expr.clone().transform(|part| {
                let Expr::Placeholder(placeholder) = &part else { return Ok(Transformed::no(part)) };
                let place = parameter_number(&placeholder.id).and_then(|number| number.checked_sub(1));
                let Some((place, field)) = place.zip(placeholder.field.as_ref()) else {
                    return Ok(Transformed::no(part));
                };
                if parameters.iter().all(|(known, _)| *known != place) {
                    parameters.push((place, SqlType::of_field(field)));
                    let field = field.as_ref().clone().with_name(&placeholder.id).with_nullable(true);
                    fields.push((Some(TableReference::bare(PARAMETERS)), Arc::new(field)));
                }
                let column = Column::new(Some(PARAMETERS), &placeholder.id);
                Ok(Transformed::yes(Expr::Column(column)))
            });
            over_columns.push(with_columns.data()?);
        }
        for expr in &over_columns {
            if has_constant_part(expr)? {
                return Ok(None);
            }
        }
        let beside = DFSchema::new_with_metadata(fields, read.metadata().clone())?;
        let all = Arc::new(read.join(&beside)?);
        let exprs = physical(&over_columns, &all, engine.timeless())?;
        Ok(Some(Self { exprs, parameters, schema: Arc::clone(all.inner()) }))
    }

    /// They, and what they are computed with in a run; `None` where a parameter is not laid out as was expected.
    pub(super) fn in_run(&self, values: &[ScalarValue]) -> Option<(Exprs, Beside)> {
        let behind = self.schema.fields().len() - self.parameters.len();
        let fields = self.schema.fields()[behind..].iter();
        let columns = self.parameters.iter().zip(fields).map(|((place, sql_type), field)| {
            let value = parameter_value(values.get(*place)?, sql_type).value;
            (value.data_type() == *field.data_type()).then(|| value.to_array_of_size(1).ok())?
        });
        let beside = Beside { schema: Arc::clone(&self.schema), columns: columns.collect::<Option<_>>()? };
        Some((Arc::clone(&self.exprs), beside))
    }
}

/// The parameters of one run, as columns of one row.
pub(super) struct Beside {
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
}

impl Beside {
    /// They and the row, which is all of `rows`; or nothing of them where there is no row.
    ///
    /// # Errors
    /// XX000 for more rows, which would be a defect here.
    pub(super) fn with(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let parameters = self.columns.iter().map(|column| column.slice(0, rows.num_rows().min(1)));
        let columns = rows.columns().iter().cloned().chain(parameters).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Whether an expression is computed of its row: what has no column in it is a literal, a parameter, or a parameter as another
/// type. Comparisons are not: zeros are told apart in constants.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) | Expr::Placeholder(_) => true,
        Expr::Alias(alias) => is_plain(&alias.expr),
        Expr::Cast(cast) => is_plain(&cast.expr),
        Expr::BinaryExpr(binary) => {
            use Operator::{Divide, Minus, Modulo, Multiply, Plus, StringConcat};
            matches!(binary.op, Plus | Minus | Multiply | Divide | Modulo | StringConcat)
                && [&binary.left, &binary.right].into_iter().all(|side| is_plain(side))
                && expr.any_column_refs()
        }
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility == Volatility::Immutable
                && call.args.iter().all(is_plain)
                && (is_cast(call) || expr.any_column_refs())
        }
        _ => false,
    }
}
