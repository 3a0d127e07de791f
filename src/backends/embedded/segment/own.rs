//! Arrays whose buffers are no longer than what they hold.
//!
//! A slice of a mapped file has the whole mapping for its buffer, and a slice of a batch the whole batch; both say so when
//! they are asked what they take of the memory. Queries reserve memory by that: a sort would reserve the file once for
//! each column of each batch. Here every buffer gets ends of its own, and keeps what it is a part of alive. No value is
//! copied; of texts the offsets are, where the rows are not the first ones.

use arrow::array::{Array as _, ArrayData, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;

/// Buffers that are longer than their part by no more than this are left as they are.
const WORTH_BYTES: usize = 1024;

/// The array over buffers of its own length.
pub(super) fn own(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        // Those who group by it know the batches of one dictionary by its values.
        DataType::Dictionary(..) => array,
        _ => make_array(own_data(array.to_data())),
    }
}

#[expect(
    unsafe_code,
    reason = "the same values over the same bytes, which were checked when the array was made: only the ends of the buffers \
              are nearer, and the offsets count from the new beginning. Checking texts again for each batch would take \
              longer than reading them."
)]
fn own_data(data: ArrayData) -> ArrayData {
    let (offset, buffers) = match data.data_type() {
        DataType::Utf8 | DataType::Binary => (0, own_bytes(&data)),
        DataType::Boolean => own_bits(&data.buffers()[0], data.offset(), data.len()),
        _ => (data.offset(), data.buffers().iter().map(own_buffer).collect()),
    };
    let nulls = data.nulls().map(own_nulls);
    let children = data.child_data().iter().cloned().map(own_data).collect();
    let own = data.into_builder().offset(offset).buffers(buffers).nulls(nulls).child_data(children);
    unsafe { own.build_unchecked() }
}

/// The offsets and the bytes of texts.
fn own_bytes(data: &ArrayData) -> Vec<Buffer> {
    let offsets = ScalarBuffer::<i32>::new(data.buffers()[0].clone(), data.offset(), data.len() + 1);
    let (from, to) = (offsets[0], offsets[data.len()]);
    let bytes = data.buffers()[1].slice_with_length(place(from), place(to - from));
    let offsets = match from {
        0 => own_buffer(offsets.inner()),
        _ => Buffer::from_iter(offsets.iter().map(|offset| offset - from)),
    };
    vec![offsets, own_buffer(&bytes)]
}

/// Offsets into texts are never negative.
fn place(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

/// Bits from one of them on, and where that is among those that are left.
fn own_bits(bits: &Buffer, from: usize, count: usize) -> (usize, Vec<Buffer>) {
    let bytes = from / 8..(from + count).div_ceil(8);
    (from % 8, vec![own_buffer(&bits.slice_with_length(bytes.start, bytes.len()))])
}

fn own_nulls(nulls: &NullBuffer) -> NullBuffer {
    let (from, mut bits) = own_bits(nulls.inner().inner(), nulls.offset(), nulls.len());
    let bits = bits.pop().unwrap_or_else(|| nulls.inner().inner().clone());
    NullBuffer::new(BooleanBuffer::new(bits, from, nulls.len()))
}

fn own_buffer(part: &Buffer) -> Buffer {
    if part.capacity() <= part.len() + WORTH_BYTES {
        return part.clone();
    }
    match part.is_empty() {
        true => MutableBuffer::new(0).into(),
        false => Buffer::from(Bytes::from_owner(Part(part.clone()))),
    }
}

/// A part of a buffer, which keeps it alive.
struct Part(Buffer);

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryArray, BooleanArray, FixedSizeBinaryArray, Int64Array, ListArray, RunArray, StringArray,
        TimestampMicrosecondArray,
    };
    use arrow::datatypes::Int64Type;

    use super::*;

    const ROWS: usize = 10_000;

    fn arrays() -> Vec<ArrayRef> {
        let some = |row: usize| (row % 7 != 3).then_some(row);
        let rows = || (0..ROWS).map(some);
        let text = |row: usize| format!("text {row} größe");
        let lists = rows().map(|row| row.map(|row| (0..3).map(move |n| i64::try_from(row + n).ok())));
        let runs: RunArray<arrow::datatypes::Int32Type> = (0..ROWS).map(|row| Some(["a", "b"][row / 5_100])).collect();
        vec![
            Arc::new(rows().map(|row| row.map(text)).collect::<StringArray>()),
            Arc::new((0..ROWS).map(|row| Some(text(row))).collect::<StringArray>()),
            Arc::new(rows().map(|row| row.map(|row| text(row).into_bytes())).collect::<BinaryArray>()),
            Arc::new(rows().map(|row| row.map(|row| row % 3 == 0)).collect::<BooleanArray>()),
            Arc::new(rows().map(|row| row.map(|row| i64::try_from(row).unwrap())).collect::<Int64Array>()),
            Arc::new((0..10_000).map(Some).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
            Arc::new(FixedSizeBinaryArray::try_from_iter((0..ROWS).map(|row| [row.to_le_bytes()[0]; 16])).unwrap()),
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
            Arc::new(StringArray::new_null(ROWS)),
            Arc::new(runs),
        ]
    }

    #[test]
    fn the_values_are_the_same() {
        for array in arrays() {
            for (from, rows) in [(0, ROWS), (0, 0), (0, 9), (1, 9), (7, 1), (4_099, 2_000), (ROWS - 1, 1), (ROWS, 0)] {
                let slice = array.slice(from, rows);
                let own = own(Arc::clone(&slice));
                assert_eq!(own.to_data(), slice.to_data(), "{from} {rows}");
                own.to_data().validate_full().unwrap();
            }
        }
    }

    #[test]
    fn a_slice_takes_what_it_holds() {
        for array in arrays().iter().filter(|array| !array.data_type().is_nested()) {
            let slice = array.slice(5_003, 1_000);
            assert!(slice.get_array_memory_size() >= array.get_array_memory_size() / 2);
            let own = own(slice);
            let bytes = own.to_data().get_slice_memory_size().unwrap();
            let taken = own.get_array_memory_size();
            assert!(taken <= bytes + 3 * WORTH_BYTES, "{taken} for {bytes} of {}", array.data_type());
        }
    }
}
