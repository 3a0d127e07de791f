//! Implementations of the table contract. The layers above see them as `dyn TableStore` only.
//!
//! `memory` is what the others are held against. `embedded` and `azure` are features, so that who needs one does not build
//! what the other stands on.

#![warn(clippy::panic, clippy::unwrap_used)]

#[cfg(feature = "azure")]
pub mod azure;
pub mod deferred;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod memory;
