//! A list that is put together while values are made, counted while it grows.

use std::ops::{Deref, DerefMut};
use std::vec::Drain;

use crate::allowance::Allowance;
use crate::error::SqlResult;
use crate::interrupt;

/// Room of the first piece.
const FIRST: usize = 64;
/// So many items are added without a look at whether somebody waits for them.
const ITEMS_UNASKED: usize = 4096;

/// The items so far.
pub(crate) struct Grown<T> {
    items: Vec<T>,
    allowance: Allowance,
}

impl<T> Grown<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), allowance: Allowance::now() }
    }

    /// # Errors
    /// 54000 or 53200 when there is no room for more, 57014 when nobody waits for them.
    pub(crate) fn push(&mut self, item: T) -> SqlResult<()> {
        if self.items.len() == self.items.capacity() {
            self.make_room(1)?;
        }
        if self.items.len().is_multiple_of(ITEMS_UNASKED) {
            interrupt::check_now()?;
        }
        self.items.push(item);
        Ok(())
    }

    /// Makes sure that so many more fit.
    ///
    /// # Errors
    /// As [`Grown::push`].
    fn make_room(&mut self, items: usize) -> SqlResult<()> {
        let (len, capacity) = (self.items.len(), self.items.capacity());
        let needed = len.saturating_add(items);
        if needed <= capacity {
            return Ok(());
        }
        // What it is copied to is counted by the allowance, which counts everything twice.
        let room = needed.max(2 * capacity).max(FIRST);
        self.allowance.check(needed.saturating_mul(size_of::<T>()))?;
        self.items.reserve_exact(room - len);
        Ok(())
    }

    /// # Errors
    /// 54000 or 53200 when there is no room for them.
    pub(crate) fn extend(&mut self, items: impl ExactSizeIterator<Item = T>) -> SqlResult<()> {
        self.make_room(items.len())?;
        self.items.extend(items);
        Ok(())
    }

    /// Takes the items out that stand at this place and behind it.
    pub(crate) fn drain_from(&mut self, place: usize) -> Drain<'_, T> {
        self.items.drain(place..)
    }

    pub(crate) fn truncate(&mut self, items: usize) {
        self.items.truncate(items);
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        self.items
    }
}

impl<T> Default for Grown<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Grown<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Grown<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::allowance::{Memory, within};
    use crate::error::ErrorKind;
    use crate::interrupt::Interrupt;

    /// So many bytes at a time.
    struct Room(usize);

    impl Memory for Room {
        fn hold(&self, _before: usize, bytes: usize) -> bool {
            bytes <= self.0
        }
    }

    #[test]
    fn a_list_ends_where_the_memory_does() {
        let kept = within(Some(Rc::new(Room(8 << 20))), || {
            let mut list = Grown::<u64>::new();
            let refused = (0..).find_map(|number| list.push(number).err()).unwrap();
            assert_eq!(refused.kind, ErrorKind::OutOfMemory);
            list.into_vec()
        });
        assert!((1 << 18..=1 << 19).contains(&kept.len()), "{}", kept.len());
        assert!(kept.iter().zip(0..).all(|(kept, number)| *kept == number));
    }

    #[test]
    fn a_list_ends_when_nobody_waits_for_it() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let refused = interrupt.during(|| Grown::new().push(1));
        assert_eq!(refused.unwrap_err().kind, ErrorKind::QueryCanceled);
    }
}
