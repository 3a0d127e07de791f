//! Tells a visitor of an expression whether it is in the expression itself or in one of its sub-queries, where other
//! names are in scope.

use std::ops::ControlFlow;

/// How many sub-queries are around the place being visited. Each is dealt with as a whole where it is met, and its
/// parts are then passed over.
#[derive(Debug, Default)]
pub(super) struct Nesting(usize);

impl Nesting {
    /// Goes into a sub-query; `meet` is called for one of the expression's own.
    pub(crate) fn enter<B>(&mut self, meet: impl FnOnce() -> Result<(), B>) -> ControlFlow<B> {
        if self.0 == 0
            && let Err(broken) = meet()
        {
            return ControlFlow::Break(broken);
        }
        self.0 += 1;
        ControlFlow::Continue(())
    }

    pub(crate) fn leave<B>(&mut self) -> ControlFlow<B> {
        self.0 = self.0.saturating_sub(1);
        ControlFlow::Continue(())
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.0 > 0
    }
}
