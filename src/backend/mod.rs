//! Implementations of the table contract. The layers above see them as `dyn TableStore` only.

pub mod azure;
pub mod deferred;
pub mod embedded;
pub mod memory;
