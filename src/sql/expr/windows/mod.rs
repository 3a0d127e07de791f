//! Window functions that the engine does not have, or has for constants only.
//!
//! ```text
//!     frames      which rows of a partition a frame has: bounds that are computed, and what EXCLUDE leaves out
//!     framed      an aggregate, or a value of a row, over such a frame
//!     placed      lag, lead and ntile with arguments that are computed
//! ```

mod framed;
mod frames;
mod placed;

use std::sync::Arc;

use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::{WindowUDF, WindowUDFImpl};

pub(super) use self::framed::{Framed, Of};
pub(super) use self::frames::{Bound, Bounds, Exclusion};
pub(super) use self::placed::{Displaced, Tiles};

/// A window function of ours as the engine takes one.
pub(super) fn definition(function: impl WindowUDFImpl + 'static) -> WindowFunctionDefinition {
    WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::new_from_impl(function)))
}
