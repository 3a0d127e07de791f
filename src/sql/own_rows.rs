//! Makes rows that are kept take no more memory than their own bytes.
//!
//! Operators and stores hand out slices. One that is kept keeps the whole buffer that it was cut from, so what holds much
//! more than its rows is copied, and what is left is accounted for by its own bytes.

use arrow::array::{Array, ArrayData, ArrayRef, MutableArrayData, make_array};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::utils::memory::get_record_batch_memory_size;
use tablegate_types::error::SqlResult;

/// Buffers that are no longer than this are not worth a copy.
const WORTH_BYTES: usize = 16 << 10;

/// The rows over buffers of about their own size, and how many bytes those have.
///
/// # Errors
/// For rows that are more than one array can hold.
pub(crate) fn own_rows(rows: &RecordBatch) -> SqlResult<(RecordBatch, usize)> {
    let columns = rows.columns().iter().map(own_values).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let rows = RecordBatch::try_new_with_options(rows.schema(), columns, &options)?;
    let bytes = get_record_batch_memory_size(&rows);
    Ok((rows, bytes))
}

fn own_values(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let data = column.to_data();
    let held = buffer_bytes(&data);
    if held <= WORTH_BYTES {
        return Ok(column.clone());
    }
    // For values inside of lists and records it is not known how many bytes belong to these rows.
    let own = if data.child_data().is_empty() { data.get_slice_memory_size()? } else { 0 };
    if held <= 2 * own {
        return Ok(column.clone());
    }
    let mut copy = MutableArrayData::new(vec![&data], false, data.len());
    copy.try_extend(0, 0, data.len())?;
    Ok(make_array(copy.freeze()))
}

/// The bytes of all buffers of an array, shared ones too.
fn buffer_bytes(data: &ArrayData) -> usize {
    let buffers: usize = data.buffers().iter().map(arrow::buffer::Buffer::capacity).sum();
    let nulls = data.nulls().map_or(0, |nulls| nulls.inner().inner().capacity());
    buffers + nulls + data.child_data().iter().map(buffer_bytes).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array, ListArray, StringArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn rows() -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
        let texts: ArrayRef =
            Arc::new((0..100_000).map(|n| (n % 5 > 0).then(|| n.to_string())).collect::<StringArray>());
        let lists = (0..100_000).map(|n| Some(vec![Some(n); 3]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts), ("l", lists)]).unwrap()
    }

    #[test]
    fn a_slice_takes_what_its_own_rows_take() {
        let all = rows();
        let (same, bytes) = own_rows(&all).unwrap();
        assert!(same.column(0).to_data().ptr_eq(&all.column(0).to_data()), "what is its own is not copied");
        assert!((3_000_000..8_000_000).contains(&bytes), "{bytes}");
        let slice = all.slice(50_000, 1_000);
        let (own, bytes) = own_rows(&slice).unwrap();
        assert_eq!(own, slice);
        assert!((30_000..80_000).contains(&bytes), "{bytes}");
        assert_eq!(own.column(0).as_primitive::<Int64Type>().value(0), 50_000);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let none = rows().project(&[]).unwrap();
        let (own, bytes) = own_rows(&none).unwrap();
        assert_eq!((own.num_rows(), bytes), (100_000, 0));
    }
}
