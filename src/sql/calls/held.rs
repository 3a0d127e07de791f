//! Long values that functions make count as memory of queries for as long as they are there.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::buffer::Buffer;
use bytes::Bytes;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use tablegate_types::error::SqlResult;
use tablegate_types::functions::allowance;

/// Columns that take less come and go without being counted, as other batches under way do.
const COUNTED_BYTES: usize = 1 << 20;

/// How much of the memory is left.
pub(super) fn left(memory: Option<&Arc<dyn MemoryPool>>) -> usize {
    memory.map_or(usize::MAX, |pool| match pool.memory_limit() {
        MemoryLimit::Finite(limit) => limit.saturating_sub(pool.reserved()),
        MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
    })
}

/// The same values, counted until nobody has them any longer.
///
/// # Errors
/// 53200 when there is no memory left for them.
pub(super) fn held(values: ArrayRef, memory: Option<&Arc<dyn MemoryPool>>) -> SqlResult<ArrayRef> {
    let (Some(texts), Some(pool)) = (values.as_any().downcast_ref::<StringArray>(), memory) else { return Ok(values) };
    let bytes = texts.value_data().len();
    if bytes < COUNTED_BYTES {
        return Ok(values);
    }
    let reservation = MemoryConsumer::new("values of a function").register(pool);
    reservation.try_grow(bytes).map_err(|_exhausted| allowance::exceeded(bytes))?;
    let (offsets, bytes, nulls) = texts.clone().into_parts();
    let counted = Counted { bytes, _reservation: reservation };
    Ok(Arc::new(StringArray::try_new(offsets, Buffer::from(Bytes::from_owner(counted)), nulls)?))
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
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use tablegate_types::error::ErrorKind;

    use super::*;

    #[test]
    fn long_values_are_counted_while_they_are_there() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(10 << 20));
        let texts = |bytes: usize| Arc::new(StringArray::from(vec![Some("x".repeat(bytes)), None])) as ArrayRef;
        let (given, long) = (texts(6 << 20), texts(6 << 20));
        let counted = held(given.clone(), Some(&pool)).unwrap();
        assert_eq!(counted.as_ref(), given.as_ref());
        assert_eq!((pool.reserved(), left(Some(&pool))), (6 << 20, 4 << 20));
        assert_eq!(held(long.clone(), Some(&pool)).unwrap_err().kind, ErrorKind::OutOfMemory);
        let part = counted.slice(0, 1);
        drop(counted);
        assert_eq!(pool.reserved(), 6 << 20);
        drop(part);
        assert_eq!(pool.reserved(), 0);
        held(long, Some(&pool)).unwrap();
        held(texts(1000), Some(&pool)).unwrap();
    }
}
