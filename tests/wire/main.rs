//! The wire front-end, byte by byte: what a client sends and what it must get back.

mod cancel;
mod changed_plans;
mod changes;
mod copy;
mod ddl;
mod extended;
mod for_update;
mod harness;
mod isolation;
mod locks;
mod lost_updates;
mod malformed;
mod portals;
mod rows;
mod shutdown;
mod simple;
mod snapshots;
mod startup;
mod values;
