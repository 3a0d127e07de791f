//! What takes other programs: real clients, PostgreSQL, the emulator of the Table service, and the server as a process.
//!
//! A suite is a module, so `cargo test --test outside clients::` runs one of them. What a test needs and does not find
//! fails it: `make test` installs all of it first.

mod attack;
mod azure;
mod clients;
mod connections;
mod differential;
mod dump;
mod fuzz;
mod readme;
mod regression;
mod rest;
mod signals;
mod support;
mod tpch;
