//! Long values that functions make count as memory of queries for as long as they are there.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, make_array};
use arrow::buffer::Buffer;
use bytes::Bytes;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use tablegate_types::error::SqlResult;
use tablegate_types::functions::Argument;
use tablegate_types::functions::allowance::{self, Memory};

/// Columns that take less come and go without being counted, as other batches under way do.
const COUNTED_BYTES: usize = 1 << 20;

/// What values take while they are made. Most take too little to be counted.
pub(super) struct Making {
    pool: Arc<dyn MemoryPool>,
    held: OnceCell<MemoryReservation>,
}

impl Making {
    pub(super) fn of(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { pool: Arc::clone(pool), held: OnceCell::new() }
    }
}

impl Memory for Making {
    fn hold(&self, bytes: usize) -> bool {
        let held = self.held.get_or_init(|| MemoryConsumer::new("values being made").register(&self.pool));
        held.size() >= bytes || held.try_resize(bytes).is_ok()
    }
}

/// The same values, counted until nobody has them any longer. What a function hands on of its arguments is theirs.
///
/// # Errors
/// 53200 when there is no memory left for them.
pub(super) fn held(
    values: ArrayRef,
    arguments: &[Argument],
    memory: Option<&Arc<dyn MemoryPool>>,
) -> SqlResult<ArrayRef> {
    let Some(pool) = memory else { return Ok(values) };
    // Most are told by what they have at most.
    if values.get_buffer_memory_size() < COUNTED_BYTES {
        return Ok(values);
    }
    let data = values.to_data();
    let bytes = data.get_slice_memory_size()?;
    let longest = longest_buffer(&data);
    let is_handed_on = |argument: &Argument| longest_buffer(&argument.array.to_data()) == longest;
    if bytes < COUNTED_BYTES || arguments.iter().any(is_handed_on) {
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
    use tablegate_types::sql_type::SqlType;

    use super::*;

    #[test]
    fn long_values_are_counted_while_they_are_there() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(10 << 20));
        let texts = |bytes: usize| Arc::new(StringArray::from(vec![Some("x".repeat(bytes)), None])) as ArrayRef;
        let (given, long) = (texts(6 << 20), texts(6 << 20));
        let counted = held(given.clone(), &[], Some(&pool)).unwrap();
        assert_eq!(counted.as_ref(), given.as_ref());
        let all = given.to_data().get_slice_memory_size().unwrap();
        assert!(all >= 6 << 20);
        assert_eq!(pool.reserved(), all);
        let making = Making::of(&pool);
        assert!(making.hold(2 << 20) && making.hold(3 << 20) && making.hold(1 << 20));
        assert!(!making.hold(5 << 20));
        drop(making);
        assert_eq!(held(long.clone(), &[], Some(&pool)).unwrap_err().kind, ErrorKind::OutOfMemory);
        let part = counted.slice(0, 1);
        drop(counted);
        assert_eq!(pool.reserved(), all);
        drop(part);
        assert_eq!(pool.reserved(), 0);
        held(long, &[], Some(&pool)).unwrap();
        held(texts(1000), &[], Some(&pool)).unwrap();
    }

    #[test]
    fn lists_are_counted_too() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100 << 20));
        let numbers = Arc::new(Int64Array::from_iter_values(0..1 << 20)) as ArrayRef;
        let field = Arc::new(Field::new_list_field(DataType::Int64, true));
        let offsets = OffsetBuffer::from_lengths([1 << 19, 1 << 19]);
        let lists = Arc::new(ListArray::new(field, offsets, numbers, None)) as ArrayRef;
        let counted = held(lists.clone(), &[], Some(&pool)).unwrap();
        assert_eq!(counted.as_ref(), lists.as_ref());
        assert!(pool.reserved() >= 8 << 20, "{}", pool.reserved());
        let second = counted.as_any().downcast_ref::<ListArray>().unwrap().value(1);
        drop(counted);
        assert!(pool.reserved() > 0, "a part of it is still there");
        drop(second);
        assert_eq!(pool.reserved(), 0);
        let argument = Argument { array: lists.clone(), sql_type: SqlType::Text, constant: false };
        let handed_on = held(lists, &[argument], Some(&pool)).unwrap();
        assert_eq!((pool.reserved(), handed_on.len()), (0, 2));
    }
}
