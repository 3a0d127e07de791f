//! Functions of no family: counting NULLs, random values, numbers of transactions.

use arrow::array::{ArrayRef, FixedSizeBinaryBuilder};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use xxhash_rust::xxh64::xxh64;

use super::call::{Argument, Call};
use super::signature::Overload;
use super::signature::Type::{Any, Float8, Int4, Int8, Uuid, Xid};
use crate::error::SqlResult;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("num_nulls", &[Any], Int4, |call| count(call, true)).variadic().of_nulls(),
    Overload::new("num_nonnulls", &[Any], Int4, |call| count(call, false)).variadic().of_nulls(),
    // A transaction has no number of its own: when it began tells it from those before and behind it.
    Overload::new("txid_current", &[], Int8, began).stable(),
    Overload::new("txid_current_if_assigned", &[], Int8, began).stable(),
    Overload::new("pg_current_xact_id", &[], Int8, began).stable(),
    Overload::new("pg_current_xact_id_if_assigned", &[], Int8, began).stable(),
    // No number of a transaction grows old, so none is near its end.
    Overload::new("age", &[Xid], Int4, of_no_age).stable(),
    Overload::new("mxid_age", &[Xid], Int4, of_no_age).stable(),
    Overload::new("gen_random_uuid", &[], Uuid, random_uuids).volatile(),
    Overload::new("random", &[], Float8, random).volatile(),
];

fn count(call: &Call, nulls: bool) -> SqlResult<ArrayRef> {
    let is_null = |argument: &Argument, row: usize| argument.array.is_null(if argument.constant { 0 } else { row });
    call.numbers::<Int32Type>(|row| {
        let counted = call.arguments.iter().filter(|argument| is_null(argument, row) == nulls);
        super::strings::int4(counted.count())
    })
}

fn began(call: &Call) -> SqlResult<ArrayRef> {
    call.numbers::<Int64Type>(|_| Ok(call.moments.transaction()))
}

fn of_no_age(call: &Call) -> SqlResult<ArrayRef> {
    call.numbers::<Int32Type>(|_| Ok(0))
}

/// From 0 to less than 1: each row's number, scattered by a seed that is new for each batch.
fn random(call: &Call) -> SqlResult<ArrayRef> {
    /// So many bits a double has for a fraction.
    const BITS: u32 = f64::MANTISSA_DIGITS;
    let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
    call.numbers::<Float64Type>(|row| {
        let scattered = xxh64(&row.to_le_bytes(), seed) >> (u64::BITS - BITS);
        Ok(scattered as f64 / (1_u64 << BITS) as f64)
    })
}

fn random_uuids(call: &Call) -> SqlResult<ArrayRef> {
    let mut out = FixedSizeBinaryBuilder::with_capacity(call.rows, 16);
    for _ in 0..call.rows {
        out.append_value(uuid::Uuid::new_v4().as_bytes())?;
    }
    Ok(std::sync::Arc::new(out.finish()))
}
