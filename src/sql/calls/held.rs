//! Long values that functions make count as memory of queries for as long as they are there.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, make_array};
use arrow::buffer::Buffer;
use bytes::Bytes;
use datafusion::common::ScalarValue;
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::ColumnarValue;
use tablegate_types::allowance::{self, Memory};
use tablegate_types::error::SqlResult;

use super::moments::{memory_of, own_interrupt_of};
use crate::stoppable;

/// Columns that take less come and go without being counted, as other batches under way do.
const COUNTED_BYTES: usize = 1 << 20;

/// Makes values of arguments for the statement that runs with these options: as long as somebody waits for them, in the memory
/// of queries. `arrays` gives the arguments' own.
///
/// # Errors
/// 57014 when nobody waits any longer, 53200 when there is no memory left, and those of making them.
pub(crate) fn made<A>(
    options: &ConfigOptions,
    given: &[ColumnarValue],
    arguments: impl FnOnce() -> SqlResult<A>,
    make: impl FnOnce(&A) -> SqlResult<ArrayRef>,
    arrays: impl Fn(&A) -> Vec<ArrayRef>,
) -> SqlResult<ArrayRef> {
    let memory = memory_of(options);
    let making = memory.as_ref().map(|pool| Rc::new(Making::of(pool)));
    let copied: usize = given.iter().map(copied_bytes).sum();
    if let Some(making) = making.as_ref().filter(|_| copied > 0)
        && !making.hold(0, copied)
    {
        return Err(allowance::exceeded(copied));
    }
    let arguments = arguments()?;
    let evaluate = || allowance::within(making.map(|making| making as Rc<dyn Memory>), || make(&arguments));
    let values = match own_interrupt_of(options) {
        Some(interrupt) => {
            interrupt.check()?;
            interrupt.during(evaluate)?
        }
        None => evaluate()?,
    };
    held(values, || arrays(&arguments), memory.as_ref())
}

/// What a constant takes once more as an array, when that is long.
fn copied_bytes(value: &ColumnarValue) -> usize {
    let bytes = match value {
        ColumnarValue::Scalar(ScalarValue::Utf8(Some(text))) => text.len(),
        ColumnarValue::Scalar(ScalarValue::Binary(Some(bytes))) => bytes.len(),
        _ => 0,
    };
    if bytes < COUNTED_BYTES { 0 } else { bytes }
}

/// The only value of a column as a constant. A long one stays a column, so that it is counted, where there is but one row.
///
/// # Errors
/// While a plan is being made, long values are refused: they are not counted in it, and the optimizer leaves what it cannot
/// compute to whoever runs the plan.
pub(crate) fn constant(value: ArrayRef, rows: usize) -> SqlResult<ColumnarValue> {
    match is_long(&value) {
        true if stoppable::is_optimizing() => return Err(allowance::exceeded(value.get_buffer_memory_size())),
        true if rows == 1 => return Ok(ColumnarValue::Array(value)),
        _ => {}
    }
    Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?))
}

/// Whether values are so long that they are counted.
pub(crate) fn is_long(values: &ArrayRef) -> bool {
    values.get_buffer_memory_size() >= COUNTED_BYTES
}

/// What values take while they are made. Most take too little to be counted.
struct Making {
    pool: Arc<dyn MemoryPool>,
    held: OnceCell<MemoryReservation>,
}

impl Making {
    fn of(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { pool: Arc::clone(pool), held: OnceCell::new() }
    }
}

impl Memory for Making {
    fn hold(&self, before: usize, bytes: usize) -> bool {
        let held = self.held.get_or_init(|| MemoryConsumer::new("values being made").register(&self.pool));
        let all = held.size().saturating_sub(before) + bytes;
        held.try_resize(all).is_ok()
    }
}

/// The same values, counted until nobody has them any longer. What a function hands on of its arguments is theirs.
///
/// # Errors
/// 53200 when there is no memory left for them.
fn held(
    values: ArrayRef,
    arguments: impl FnOnce() -> Vec<ArrayRef>,
    memory: Option<&Arc<dyn MemoryPool>>,
) -> SqlResult<ArrayRef> {
    let Some(pool) = memory else { return Ok(values) };
    // Most are told by what they have at most.
    if !is_long(&values) {
        return Ok(values);
    }
    let data = values.to_data();
    let bytes = data.get_slice_memory_size()?;
    let longest = longest_buffer(&data);
    let is_handed_on = |argument: &ArrayRef| longest_buffer(&argument.to_data()) == longest;
    if bytes < COUNTED_BYTES || arguments().iter().any(is_handed_on) {
        return Ok(values);
    }
    let reservation = MemoryConsumer::new("values of a function").register(pool);
    reservation.try_grow(bytes).map_err(|_exhausted| allowance::exceeded(bytes))?;
    let mut reservation = Some(reservation);
    let counted = counted(data, &mut reservation)?;
    Ok(make_array(counted))
}

/// Where the longest buffer of the data is.
fn longest_buffer(data: &ArrayData) -> Option<(usize, *const u8)> {
    let own = data.buffers().iter().map(|buffer| (buffer.len(), buffer.as_ptr()));
    own.chain(data.child_data().iter().filter_map(longest_buffer)).max()
}

/// The same data, in which the longest buffer holds the reservation: whoever has the values, or a part of them, has it.
fn counted(data: ArrayData, reservation: &mut Option<MemoryReservation>) -> SqlResult<ArrayData> {
    let longest = longest_buffer(&data);
    if let Some(place) = data.child_data().iter().position(|child| longest_buffer(child) == longest) {
        let mut children = data.child_data().to_vec();
        children[place] = counted(children[place].clone(), reservation)?;
        return Ok(data.into_builder().child_data(children).build()?);
    }
    let mut buffers = data.buffers().to_vec();
    let Some(longest) = buffers.iter_mut().max_by_key(|buffer| buffer.len()) else { return Ok(data) };
    if let Some(reservation) = reservation.take() {
        let bytes = std::mem::replace(longest, Buffer::from(Vec::<u8>::new()));
        *longest = Buffer::from(Bytes::from_owner(Counted { bytes, _reservation: reservation }));
    }
    Ok(data.into_builder().buffers(buffers).build()?)
}

/// A buffer and what it takes of the memory.
struct Counted {
    bytes: Buffer,
    _reservation: MemoryReservation,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray, StringArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{DataType, Field};
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use tablegate_types::error::ErrorKind;

    use super::*;

    #[test]
    fn long_values_are_counted_while_they_are_there() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(10 << 20));
        let texts = |bytes: usize| Arc::new(StringArray::from(vec![Some("x".repeat(bytes)), None])) as ArrayRef;
        let (given, long) = (texts(6 << 20), texts(6 << 20));
        let counted = held(given.clone(), Vec::new, Some(&pool)).unwrap();
        assert_eq!(counted.as_ref(), given.as_ref());
        let all = given.to_data().get_slice_memory_size().unwrap();
        assert!(all >= 6 << 20);
        assert_eq!(pool.reserved(), all);
        let making = Making::of(&pool);
        // Of two that are made at the same time; then of one that grows.
        assert!(making.hold(0, 1 << 20) && making.hold(0, 1 << 20) && making.hold(1 << 20, 2 << 20));
        assert!(!making.hold(2 << 20, 4 << 20));
        drop(making);
        assert_eq!(held(long.clone(), Vec::new, Some(&pool)).unwrap_err().kind, ErrorKind::OutOfMemory);
        let part = counted.slice(0, 1);
        drop(counted);
        assert_eq!(pool.reserved(), all);
        drop(part);
        assert_eq!(pool.reserved(), 0);
        held(long, Vec::new, Some(&pool)).unwrap();
        held(texts(1000), Vec::new, Some(&pool)).unwrap();
    }

    #[test]
    fn lists_are_counted_too() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100 << 20));
        let numbers = Arc::new(Int64Array::from_iter_values(0..1 << 20)) as ArrayRef;
        let field = Arc::new(Field::new_list_field(DataType::Int64, true));
        let offsets = OffsetBuffer::from_lengths([1 << 19, 1 << 19]);
        let lists = Arc::new(ListArray::new(field, offsets, numbers, None)) as ArrayRef;
        let counted = held(lists.clone(), Vec::new, Some(&pool)).unwrap();
        assert_eq!(counted.as_ref(), lists.as_ref());
        assert!(pool.reserved() >= 8 << 20, "{}", pool.reserved());
        let second = counted.as_any().downcast_ref::<ListArray>().unwrap().value(1);
        drop(counted);
        assert!(pool.reserved() > 0, "a part of it is still there");
        drop(second);
        assert_eq!(pool.reserved(), 0);
        let handed_on = held(lists.clone(), || vec![lists.clone()], Some(&pool)).unwrap();
        assert_eq!((pool.reserved(), handed_on.len()), (0, 2));
    }
}
