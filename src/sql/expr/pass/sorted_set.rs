//! `mode`, `percentile_disc` and `percentile_cont`, of the array of the sorted values.

use datafusion::logical_expr::Expr;
use tablegate_types::conversion::{Category, category, name};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::Pass;
use crate::expr::kernels::{
    Computation, Kernel, MODE, PERCENTILE_CONT, PERCENTILE_CONT_UNSORTED, PERCENTILE_DISC, PERCENTILES_CONT,
    PERCENTILES_CONT_UNSORTED, PERCENTILES_DISC,
};
use crate::expr::meaning::{Collected, SortedSet, array_of, sorted_set_type};
use crate::expr::operand::Operand;
use crate::expr::typed::ValueType;

impl Pass<'_> {
    /// The aggregate of the values in the first operand; the second is the fraction of a percentile.
    pub(super) fn of_sorted(&self, set: SortedSet, mut operands: Vec<Operand>) -> SqlResult<Expr> {
        let refused = missing(set, &operands);
        let fraction = operands.get(1).cloned();
        operands.truncate(1);
        let Some(mut values) = operands.pop() else { return Err(refused) };
        let Some(result) = sorted_set_type(set, &values) else { return Err(refused) };
        let kernel: &'static Kernel = match set {
            SortedSet::Mode => &MODE,
            SortedSet::PercentileDisc => &PERCENTILE_DISC,
            SortedSet::PercentileCont(Collected::AsTheyCame) => &PERCENTILE_CONT_UNSORTED,
            SortedSet::PercentileCont(_) => &PERCENTILE_CONT,
        };
        if matches!(set, SortedSet::PercentileCont(_)) && result.sql_type == SqlType::Float8 {
            let is_number = matches!(values.sql_type(), SqlType::Array(item) if category(item) == Category::Number);
            if !is_number {
                return Err(refused);
            }
            let floats = ValueType::of(SqlType::Array(Box::new(SqlType::Float8)));
            let value_type = floats.clone();
            values = Operand { expr: values.converted_to(&floats, self.parameters())?, value_type };
        }
        let mut arguments = vec![values.expr];
        if let Some(fraction) = fraction {
            if let SqlType::Array(item) = fraction.sql_type() {
                if category(item) != Category::Number {
                    return Err(refused);
                }
                let floats = ValueType::of(SqlType::Array(Box::new(SqlType::Float8)));
                arguments.push(fraction.converted_to(&floats, self.parameters())?);
                let kernel: &'static Kernel = match set {
                    SortedSet::PercentileCont(Collected::AsTheyCame) => &PERCENTILES_CONT_UNSORTED,
                    SortedSet::PercentileCont(_) => &PERCENTILES_CONT,
                    SortedSet::PercentileDisc | SortedSet::Mode => &PERCENTILES_DISC,
                };
                return Ok(Computation::call(kernel, None, array_of(&result), arguments));
            }
            if !fraction.is_unknown() && category(fraction.sql_type()) != Category::Number {
                return Err(refused);
            }
            arguments.push(fraction.coerced(&SqlType::Float8, self.parameters())?);
        }
        Ok(Computation::call(kernel, None, result, arguments))
    }
}

/// PostgreSQL names the fraction first.
fn missing(set: SortedSet, operands: &[Operand]) -> Box<SqlError> {
    let fractions = operands.iter().skip(1).map(|operand| name(operand.sql_type()));
    let values = operands.first().map(|values| match values.sql_type() {
        SqlType::Array(item) => name(item),
        other => name(other),
    });
    let types: Vec<String> = fractions.chain(values).collect();
    let message = format!("function {}({}) does not exist", set.name(), types.join(", "));
    SqlError::new(ErrorKind::UndefinedFunction, message)
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
