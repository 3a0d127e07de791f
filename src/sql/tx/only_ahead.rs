//! What a statement has written ahead and does not keep any more: too much of it to be committed in another way.

use std::sync::Arc;

use tablegate_store::table::{NewEntities, StagedRows, StoreError};

use super::ahead::Ahead;
use super::held_back_space::HeldBackSpace;
use super::seen_keys::SeenKeys;

pub(super) struct OnlyAhead {
    ahead: Ahead,
    seen: SeenKeys,
    transactions: usize,
    rows: usize,
}

impl OnlyAhead {
    /// Of what was handed over already, which is kept until this has looked at it. `None` where it is not known that no key is among it twice.
    pub(super) fn of<'a>(
        ahead: &mut Option<Ahead>,
        windows: impl Iterator<Item = &'a NewEntities>,
        space: &Arc<HeldBackSpace>,
    ) -> Option<Self> {
        ahead.as_ref().filter(|ahead| ahead.goes_on())?;
        let mut seen = SeenKeys::new(space);
        let (mut transactions, mut rows) = (0, 0);
        for new in windows {
            if !seen.take(new) {
                return None;
            }
            (transactions, rows) = (transactions + new.transactions(), rows + new.len());
        }
        Some(Self { ahead: ahead.take()?, seen, transactions, rows })
    }

    /// Whether it takes these rows next: none of their keys came before, and writing goes on.
    pub(super) fn takes(&mut self, new: &NewEntities) -> bool {
        self.ahead.goes_on() && self.seen.take(new)
    }

    /// Hands over rows that it takes.
    pub(super) async fn push(&mut self, new: NewEntities) {
        (self.transactions, self.rows) = (self.transactions + new.transactions(), self.rows + new.len());
        self.ahead.push(new).await;
    }

    /// How many entity group transactions there are, and rows.
    pub(super) fn extent(&self) -> (usize, usize) {
        (self.transactions, self.rows)
    }

    /// All of them.
    ///
    /// # Errors
    /// Why they could not be written: nothing is in the table.
    pub(super) async fn finish(self) -> Result<Box<dyn StagedRows>, StoreError> {
        let refused = || StoreError::Unavailable("the rows that were written ahead are gone".to_owned());
        self.ahead.finish().await?.ok_or_else(refused)
    }
}
