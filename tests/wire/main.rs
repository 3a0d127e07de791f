//! The wire front-end, byte by byte: what a client sends and what it must get back.

mod cancel;
mod copy;
mod ddl;
mod extended;
mod harness;
mod isolation;
mod locks;
mod malformed;
mod portals;
mod shutdown;
mod simple;
mod snapshots;
mod startup;
mod values;
