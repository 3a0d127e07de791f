//! What runs in one process: suites that bring their own stores, servers and clients with them.
//!
//! A suite is a module, so `cargo test --test inside wire::` runs one of them. They share the process: no test may change
//! its environment, its folder, its panic hook or what is logged where.

mod block_rows;
mod bulk_writes;
mod constant_rows;
mod copy;
mod cursor_memory;
mod direct_reads;
mod filter_pushdown;
mod join_blocks;
mod layering;
mod little_memory;
mod long_copies;
mod misfits;
mod monitoring;
mod parameter_rows;
mod psql_catalog;
mod rest_door;
mod rest_rules;
mod rewritten_tables;
mod short_queries;
mod split_scans;
mod sqllogictest;
mod store_contract;
mod support;
mod wire;
