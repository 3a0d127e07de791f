//! The wire front-end, byte by byte: what a client sends and what it must get back.

mod cancel;
mod changed_plans;
mod changes;
mod copy;
mod cursors;
mod ddl;
mod extended;
mod for_update;
mod harness;
mod isolation;
mod limits;
mod locks;
mod logins;
mod lost_updates;
mod malformed;
mod modifiers;
mod portals;
mod read_only;
mod rows;
mod shutdown;
mod simple;
mod snapshots;
mod startup;
mod system_relations;
mod tls;
mod values;
