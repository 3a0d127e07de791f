//! What only a remote store can show: answers that get lost, several gateways over one account, requests that cost.
//!
//! The emulator is the remote side, and in its place the program's own door for the Azure SDKs: what the gateway sends, the
//! gateway understands.

mod client;
mod on_azurite;
mod on_our_door;
mod proxy;
mod secrets;
