//! Operators on texts and byte strings that Arrow has no kernel for.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Datum};
use arrow::compute::kernels::comparison;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Kernel, Operands};

pub(crate) static STARTS_WITH: Kernel = Kernel { name: "starts_with", evaluate: |o, _| starts_with(o) };
/// Whether a text matches the start of a pattern that ends with a backslash: an error where it reaches that.
pub(crate) static LIKE_UNENDED: Kernel = Kernel { name: "like_unended", evaluate: |o, _| unended(o, comparison::like) };
pub(crate) static ILIKE_UNENDED: Kernel =
    Kernel { name: "ilike_unended", evaluate: |o, _| unended(o, comparison::ilike) };

type Compare = fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>;

fn unended(operands: &Operands<'_>, like: Compare) -> SqlResult<ArrayRef> {
    let (text, start) = (operands.get(0)?.cast(&DataType::Utf8)?, operands.get(1)?.cast(&DataType::Utf8)?);
    let reached = like(&*text.datum(), &*start.datum())?;
    if reached.true_count() > 0 {
        return Err(unended_pattern());
    }
    Ok(Arc::new(reached))
}

pub(super) fn unended_pattern() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidEscape, "LIKE pattern must not end with escape character")
}

fn starts_with(operands: &Operands<'_>) -> SqlResult<ArrayRef> {
    let (text, prefix) = (operands.get(0)?.cast(&DataType::Utf8)?, operands.get(1)?.cast(&DataType::Utf8)?);
    Ok(Arc::new(comparison::starts_with(&*text.datum(), &*prefix.datum())?))
}
