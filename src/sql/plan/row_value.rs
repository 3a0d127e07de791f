//! A sub-query's row as one value: `SET (a, b) = (SELECT ...)` runs its sub-query once, for all its columns together.

use std::sync::Arc;

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use sqlparser::ast::{Expr, Query, SetExpr, TableFactor};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::parse_expression;

/// No function of a client's has such a name.
const FUNCTION: &str = "\u{2}row";
const TABLE: &str = "\u{2}row of";

/// A scalar sub-query whose value is the row of `query`, which has so many columns, as a struct of them.
///
/// # Errors
/// None are expected: the template always parses.
pub(crate) fn row_of_query(query: &Query, width: usize) -> SqlResult<Expr> {
    let columns: Vec<String> = (0..width).map(|i| format!("\"{i}\"")).collect();
    let values: Vec<String> = columns.iter().map(|column| format!("\"{TABLE}\".{column}")).collect();
    let (columns, values) = (columns.join(", "), values.join(", "));
    let template = format!("(SELECT \"{FUNCTION}\"({values}) FROM (SELECT 1) AS \"{TABLE}\" ({columns}))");
    let mut row = parse_expression(&template)?;
    if let Expr::Subquery(outer) = &mut row
        && let SetExpr::Select(select) = &mut *outer.body
        && let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation)
    {
        **subquery = query.clone();
        return Ok(row);
    }
    Err(SqlError::new(ErrorKind::Internal, "the template of a row-valued sub-query did not parse"))
}

/// The function that [`row_of_query`] calls.
pub(super) fn function(name: &str) -> Option<Arc<ScalarUDF>> {
    let row = || RowValue { signature: Signature::variadic_any(Volatility::Immutable) };
    (name == FUNCTION).then(|| Arc::new(ScalarUDF::new_from_impl(row())))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RowValue {
    signature: Signature,
}

impl ScalarUDFImpl for RowValue {
    fn name(&self) -> &'static str {
        FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let field = |(i, data_type): (usize, &DataType)| Field::new(i.to_string(), data_type.clone(), true);
        Ok(DataType::Struct(types.iter().enumerate().map(field).collect()))
    }

    /// The fields keep what their columns say about their SQL types.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = |(i, field): (usize, &FieldRef)| {
            Arc::new(field.as_ref().clone().with_name(i.to_string()).with_nullable(true))
        };
        let fields: Fields = args.arg_fields.iter().enumerate().map(field).collect();
        Ok(Arc::new(Field::new(FUNCTION, DataType::Struct(fields), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Struct(fields) = args.return_field.data_type() else {
            return exec_err!("a row value is a struct");
        };
        let columns: Vec<ArrayRef> =
            args.args.iter().map(|value| value.to_array(args.number_rows)).collect::<Result<_>>()?;
        let row = StructArray::try_new_with_length(fields.clone(), columns, None, args.number_rows)?;
        Ok(ColumnarValue::Array(Arc::new(row)))
    }
}
