//! Who a request is of, and what it may do.
//!
//! Before a signature holds nothing is told of what is here: an account that is not known is refused as a wrong
//! signature is.

mod access;
mod sas;
mod shared_key;
#[cfg(test)]
mod tests;
mod token;

use std::net::SocketAddr;

use hyper::header::AUTHORIZATION;
use tablegate_store::model::EdmDateTime;

pub(crate) use self::access::{Access, EntityAction, Need};
pub(crate) use self::sas::{Policy, StoredPolicies};
pub(crate) use self::token::Tokens;
pub use self::token::{KeyFile, KeySource, TokenConfig};
use crate::accounts::{AccountKey, AccountKeys};
use crate::error::{Refusal, RestResult};
use crate::head::Head;

/// How far a client's clock may be from ours, in 100 ns: 15 minutes.
const CLOCK_SKEW_TICKS: i64 = 15 * 60 * 10_000_000;

/// What is known of a request besides what it says.
pub(crate) struct Circumstances<'a> {
    pub now: EdmDateTime,
    pub peer: SocketAddr,
    pub is_encrypted: bool,
    /// The keys of the account that it names, if there is one.
    pub keys: Option<&'a AccountKeys>,
    /// Where policies are that a shared access signature names.
    pub policies: &'a dyn StoredPolicies,
    /// Whose tokens are let in, if anybody's.
    pub tokens: Option<&'a Tokens>,
}

/// Finds out what a request may do.
///
/// # Errors
/// When it is not signed, not in the right way or not in time.
pub(crate) async fn authorize(head: &Head, circumstances: &Circumstances<'_>) -> RestResult<Access> {
    match head.headers.get(AUTHORIZATION) {
        Some(header) => {
            let header = header.to_str().map_err(|_| Refusal::InvalidAuthentication)?;
            if let Some(token) = bearer(header) {
                let tokens = circumstances.tokens.ok_or(Refusal::NoTokens)?;
                return tokens.check(token, circumstances).await;
            }
            shared_key::check(head, header, circumstances)?;
            Ok(Access::Owner)
        }
        None if head.query.get("sig").is_some() => sas::check(head, circumstances).await.map(Access::Sas),
        None => Err(circumstances.tokens.map_or(Refusal::NotAuthenticated, Tokens::challenge)),
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    scheme.eq_ignore_ascii_case("Bearer").then_some(token.trim())
}

/// Whether one of the account's keys has signed the text. Where there is no account it takes as long, and is not so.
fn is_signed(keys: Option<&AccountKeys>, text: &str, signature: &[u8]) -> bool {
    match keys {
        Some([first, second]) => first.has_signed(text, signature) | second.has_signed(text, signature),
        None => {
            let decoy = AccountKey::parse("AAAA");
            let _ = decoy.map(|key| key.has_signed(text, signature) | key.has_signed(text, signature));
            false
        }
    }
}
