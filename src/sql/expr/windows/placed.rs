//! `lag`, `lead` and `ntile` with arguments that are computed for each row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{PartitionEvaluator, Signature, Volatility, WindowUDFImpl};
use tablegate_types::error::{ErrorKind, SqlError};

/// The value of the row that is so far from this one: the value, the distance, and what stands for a row that is not there.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Displaced {
    /// `lead`, and not `lag`.
    is_ahead: bool,
    signature: Signature,
}

/// The number of the part that the row is in, where the partition is cut in so many parts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Tiles {
    signature: Signature,
}

impl Displaced {
    pub(in crate::expr) fn new(is_ahead: bool) -> Self {
        Self { is_ahead, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl Tiles {
    pub(in crate::expr) fn new() -> Self {
        Self { signature: Signature::exact(vec![DataType::Int64], Volatility::Immutable) }
    }
}

impl WindowUDFImpl for Displaced {
    fn name(&self) -> &str {
        if self.is_ahead { "lead" } else { "lag" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        match args.get_input_field(0) {
            Some(field) => Ok(Arc::new(field.as_ref().clone().with_name(args.name()).with_nullable(true))),
            None => internal_err!("{} has no argument", args.name()),
        }
    }

    fn partition_evaluator(&self, _args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Displacing { is_ahead: self.is_ahead }))
    }
}

impl WindowUDFImpl for Tiles {
    fn name(&self) -> &str {
        "ntile"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Int32, true)))
    }

    fn partition_evaluator(&self, _args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Cutting))
    }
}

#[derive(Debug)]
struct Displacing {
    is_ahead: bool,
}

impl PartitionEvaluator for Displacing {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let [value, distances, default @ ..] = values else { return internal_err!("two arguments are there at least") };
        let distances = distances.as_primitive::<Int64Type>();
        let nothing = arrow::array::new_null_array(value.data_type(), 1);
        let (other, has_default) = match default {
            [default, ..] => (default, true),
            [] => (&nothing, false),
        };
        // Of the value, the default, and NULL.
        let sources = [value.as_ref(), other.as_ref(), nothing.as_ref()];
        let place = |row: usize| {
            if distances.is_null(row) {
                return (2, 0);
            }
            match moved(row, distances.value(row), self.is_ahead).filter(|from| *from < rows) {
                Some(from) => (0, from),
                None => (1, if has_default { row } else { 0 }),
            }
        };
        Ok(interleave(&sources, &(0..rows).map(place).collect::<Vec<_>>())?)
    }
}

fn moved(row: usize, distance: i64, is_ahead: bool) -> Option<usize> {
    let row = i64::try_from(row).ok()?;
    let moved = if is_ahead { row.checked_add(distance)? } else { row.checked_sub(distance)? };
    usize::try_from(moved).ok()
}

#[derive(Debug)]
struct Cutting;

impl PartitionEvaluator for Cutting {
    /// As in PostgreSQL the number of parts is that of the first row that says one, and rows are counted from there.
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let parts = values[0].as_primitive::<Int64Type>();
        let Some(first) = (0..rows).find(|row| parts.is_valid(*row)) else {
            return Ok(Arc::new(Int32Array::new_null(rows)));
        };
        let parts = usize::try_from(parts.value(first)).unwrap_or(0);
        if parts == 0 {
            let message = "argument of ntile must be greater than zero";
            return Err(DataFusionError::External(SqlError::new(ErrorKind::InvalidNtile, message)));
        }
        // The first parts have one row more where they are not all alike.
        let (size, longer) = (rows / parts, rows % parts);
        let border = longer * (size + 1);
        let part = |row: usize| {
            let row = row.checked_sub(first)?;
            let part = if row < border { row / (size + 1) } else { longer + (row - border) / size.max(1) };
            i32::try_from(part + 1).ok()
        };
        Ok(Arc::new((0..rows).map(part).collect::<Int32Array>()))
    }
}
