//! What only a remote store can show: answers that get lost, several gateways over one account, requests that cost.

mod blocks;
mod client;
mod discovery;
mod faults;
mod gateways;
mod mounts;
mod proxy;
mod pushdown;
mod secrets;
mod sql;
