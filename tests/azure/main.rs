//! What only a remote store can show: answers that get lost.

#[path = "../azurite/mod.rs"]
mod azurite;
mod faults;
mod proxy;
