//! Bearer tokens: of one issuer, for one audience, signed with a key that the issuer publishes.
//!
//! Who has one may as much as its `roles` say, by the names that the service's own roles have. Service properties and the
//! policies of tables are for who has a key.

mod jwt;
mod keys;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tablegate_store::model::EdmDateTime;

use self::jwt::{Claims, Jwt};
use self::keys::Keys;
pub use self::keys::{KeyFile, KeySource};
use super::Circumstances;
use super::access::Access;
use crate::error::{Refusal, RestResult};

/// How far the issuer's clock may be from ours, in seconds.
const LEEWAY: i64 = 60;
const TICKS_PER_SECOND: i64 = 10_000_000;

/// Whose tokens are let in.
#[derive(Clone)]
pub struct TokenConfig {
    /// As tokens name it.
    pub issuer: String,
    /// Whom tokens are for, as they name it.
    pub audience: String,
    /// Where the issuer's public keys are.
    pub keys: Arc<dyn KeySource>,
}

/// What the bearer of a token may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Reader,
    Contributor,
}

impl Role {
    fn of(name: &str) -> Option<Self> {
        match name {
            "Storage Table Data Reader" => Some(Role::Reader),
            "Storage Table Data Contributor" => Some(Role::Contributor),
            _ => None,
        }
    }
}

/// The issuer whose tokens are let in, and its keys.
pub(crate) struct Tokens {
    issuer: String,
    audience: String,
    keys: Keys,
}

impl Tokens {
    pub(crate) fn new(config: TokenConfig) -> Self {
        let TokenConfig { issuer, audience, keys } = config;
        Self { issuer, audience, keys: Keys::new(keys) }
    }

    /// Looks at the keys, so that who starts the server learns at once when there are none.
    pub(crate) async fn prepare(&self) {
        self.keys.look().await;
    }

    /// # Errors
    /// When the token does not hold, not here or not now, or is for somebody who may nothing.
    pub(crate) async fn check(&self, token: &str, circumstances: &Circumstances<'_>) -> RestResult<Access> {
        if !circumstances.is_encrypted && !circumstances.peer.ip().to_canonical().is_loopback() {
            return Err(Refusal::NotThisProtocol);
        }
        let claims = self.claims(token, circumstances.now).await.ok_or_else(|| self.needed(true))?;
        // Somebody who is known asks for an account that is not.
        circumstances.keys.ok_or(Refusal::NotAuthenticated)?;
        let role = claims.roles.iter().filter_map(|name| Role::of(name)).max();
        role.map(Access::Token).ok_or(Refusal::NoPermission)
    }

    /// What the token says, if it is one that holds.
    async fn claims(&self, token: &str, now: EdmDateTime) -> Option<Claims> {
        let jwt = Jwt::parse(token)?;
        if !self.keys.have_signed(&jwt).await {
            return None;
        }
        let claims = jwt.claims()?;
        let now = now.unix_ticks() / TICKS_PER_SECOND;
        let is_in_time = now < claims.ends.saturating_add(LEEWAY) && claims.begins.saturating_sub(LEEWAY) <= now;
        let is_for_us = claims.audience.iter().any(|audience| is_same(audience, &self.audience));
        (claims.issuer == self.issuer && is_for_us && is_in_time).then_some(claims)
    }

    /// What is told to who says nothing of itself, so that it finds out where it gets a token.
    pub(crate) fn challenge(&self) -> Refusal {
        self.needed(false)
    }

    fn needed(&self, one_came: bool) -> Refusal {
        Refusal::TokenNeeded { one_came, issuer: self.issuer.clone(), audience: self.audience.clone() }
    }
}

/// Identity services add a slash to the end of an audience, and drop it.
fn is_same(audience: &str, expected: &str) -> bool {
    audience.trim_end_matches('/') == expected.trim_end_matches('/')
}
