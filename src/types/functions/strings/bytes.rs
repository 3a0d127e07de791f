//! Single bytes and bits of a bytea.

use arrow::array::ArrayRef;
use arrow::datatypes::{Int32Type, Int64Type};

use super::measure::int4;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bytea, Int4, Int8};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("get_byte", &[Bytea, Int4], Int4, get_byte),
    Overload::new("set_byte", &[Bytea, Int4, Int4], Bytea, set_byte),
    Overload::new("get_bit", &[Bytea, Int8], Int4, get_bit),
    Overload::new("set_bit", &[Bytea, Int8, Int4], Bytea, set_bit),
    Overload::new("bit_count", &[Bytea], Int8, |call| {
        let values = call.bytes(0)?;
        call.numbers::<Int64Type>(|row| Ok(values.at(row).iter().map(|byte| i64::from(byte.count_ones())).sum()))
    }),
];

/// A place among `count` bytes or bits.
fn place(index: i64, count: usize) -> SqlResult<usize> {
    usize::try_from(index).ok().filter(|i| *i < count).ok_or_else(|| {
        let last = i64::try_from(count).map_or(i64::MAX, |count| count - 1);
        SqlError::new(ErrorKind::SubscriptError, format!("index {index} out of valid range, 0..{last}"))
    })
}

fn get_byte(call: &Call) -> SqlResult<ArrayRef> {
    let (values, indexes) = (call.bytes(0)?, call.primitive::<Int32Type>(1)?);
    call.numbers::<Int32Type>(|row| {
        let value = values.at(row);
        Ok(value[place(indexes.at(row).into(), value.len())?].into())
    })
}

fn set_byte(call: &Call) -> SqlResult<ArrayRef> {
    let (values, indexes, new) = (call.bytes(0)?, call.primitive::<Int32Type>(1)?, call.primitive::<Int32Type>(2)?);
    call.byte_strings(|row, out| {
        out.extend_from_slice(values.at(row));
        let at = place(indexes.at(row).into(), out.len())?;
        // The lowest byte of the number, whatever is above it.
        out[at] = new.at(row).to_le_bytes()[0];
        Ok(())
    })
}

fn get_bit(call: &Call) -> SqlResult<ArrayRef> {
    let (values, indexes) = (call.bytes(0)?, call.primitive::<Int64Type>(1)?);
    call.numbers::<Int32Type>(|row| {
        let value = values.at(row);
        let at = place(indexes.at(row), value.len().saturating_mul(8))?;
        int4(usize::from(value[at / 8] >> (at % 8) & 1))
    })
}

fn set_bit(call: &Call) -> SqlResult<ArrayRef> {
    let (values, indexes, new) = (call.bytes(0)?, call.primitive::<Int64Type>(1)?, call.primitive::<Int32Type>(2)?);
    call.byte_strings(|row, out| {
        out.extend_from_slice(values.at(row));
        let at = place(indexes.at(row), out.len().saturating_mul(8))?;
        match new.at(row) {
            0 => out[at / 8] &= !(1 << (at % 8)),
            1 => out[at / 8] |= 1 << (at % 8),
            _ => return Err(SqlError::new(ErrorKind::InvalidParameterValue, "new bit must be 0 or 1")),
        }
        Ok(())
    })
}
