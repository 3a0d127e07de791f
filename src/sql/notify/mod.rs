//! LISTEN and NOTIFY: messages between the sessions of one server.
//!
//! A session's notifications are collected while its transaction runs ([`Listener`]), sent when it commits, and wait in
//! the mailboxes of those who listen until these are between transactions ([`Hub`]). Nothing is kept: a session that is
//! not there does not get them.

mod hub;
mod listener;

pub(crate) use self::hub::Hub;
pub use self::hub::{Mailbox, Notification};
pub(crate) use self::listener::Listener;
