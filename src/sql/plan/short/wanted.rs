//! Which rows of a node are looked for, by the values that rows of another node hold.

use std::collections::HashSet;

use arrow::array::{Array, ArrayRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;

/// So many keys are looked up one after the other.
pub(super) const KEYS_MAX: usize = 256;

/// The values that a column has in all rows that are looked for. A node may give other rows too.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// The column's place among those of the node.
    pub column: usize,
    values: Vec<ScalarValue>,
}

impl Wanted {
    /// The values of an array, but for NULL, which is equal to nothing; `None` where they are too many.
    ///
    /// # Errors
    /// None are expected: each value of an array is a value.
    pub(super) fn of(column: usize, array: &ArrayRef) -> Result<Option<Self>> {
        let mut values = HashSet::new();
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            values.insert(ScalarValue::try_from_array(array, row)?);
            if values.len() > KEYS_MAX {
                return Ok(None);
            }
        }
        Ok(Some(Self { column, values: values.into_iter().collect() }))
    }

    /// Each once, in no order.
    pub(super) fn values(&self) -> &[ScalarValue] {
        &self.values
    }

    /// The same of the column at another place.
    pub(super) fn at(&self, column: usize) -> Self {
        Self { column, values: self.values.clone() }
    }

    /// The same of the columns below, where `source` says which these are; what has none is not looked for there.
    pub(super) fn below(all: &[Self], source: impl Fn(usize) -> Option<usize>) -> Vec<Self> {
        all.iter().filter_map(|wanted| Some(wanted.at(source(wanted.column)?))).collect()
    }

    /// The condition that rows meet.
    pub(super) fn condition(&self, column: Expr) -> Expr {
        if self.values.is_empty() {
            return Expr::Literal(ScalarValue::Boolean(Some(false)), None);
        }
        let values = self.values.iter().map(|value| Expr::Literal(value.clone(), None)).collect();
        column.in_list(values, false)
    }
}
