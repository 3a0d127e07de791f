//! What is known of the client a session belongs to, beyond its name: proved by the front-end, never by the client.

use std::sync::Arc;

/// What a user may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    ReadWrite,
    /// Its transactions are read-only, and it cannot make them otherwise.
    ReadOnly,
}

/// How a connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// As OpenSSL spells it: `TLSv1.3`.
    pub version: &'static str,
    pub cipher: String,
    /// Of the cipher's key.
    pub bits: i32,
}

/// A session's client.
#[derive(Debug, Clone, Default)]
pub(in crate::sql) struct Login {
    /// The number it knows its session by.
    pub process: i32,
    pub role: Role,
    /// `None` for a connection that is not encrypted.
    pub encryption: Option<Arc<Encryption>>,
}
