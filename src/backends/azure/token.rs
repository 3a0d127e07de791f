//! Bearer tokens: had from somewhere, kept while they serve, and renewed before they end.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Mutex;

use super::secret::Secret;

/// A token is renewed that long before its end, so that no request is on its way with one that has ended.
const RENEWED_BEFORE: TimeDelta = TimeDelta::minutes(5);

/// Lets its bearer in until it ends.
#[derive(Debug, Clone)]
pub struct Token {
    pub secret: Secret,
    pub ends: DateTime<Utc>,
}

/// Where tokens come from.
#[async_trait]
pub trait TokenSource: fmt::Debug + Send + Sync + 'static {
    /// A token for the service that the scope names.
    ///
    /// # Errors
    /// Why there is none, in words that tell no secret.
    async fn token(&self, scope: &str) -> Result<Token, String>;
}

/// The token that requests to one account carry.
#[derive(Debug)]
pub(super) struct Bearer {
    source: Arc<dyn TokenSource>,
    scope: &'static str,
    held: Mutex<Option<Token>>,
}

impl Bearer {
    pub(super) fn new(source: Arc<dyn TokenSource>, scope: &'static str) -> Self {
        Self { source, scope, held: Mutex::default() }
    }

    /// A token that serves for a while. One request fetches it, the others wait for it.
    pub(super) async fn token(&self) -> Result<Secret, String> {
        let mut held = self.held.lock().await;
        let now = Utc::now();
        if let Some(token) = held.as_ref().filter(|token| now + RENEWED_BEFORE < token.ends) {
            return Ok(token.secret.clone());
        }
        match self.source.token(self.scope).await {
            Ok(token) => Ok(held.insert(token).secret.clone()),
            // What is held still serves for some minutes: by then there may be a new one.
            Err(reason) => held.as_ref().filter(|token| now < token.ends).map(|t| t.secret.clone()).ok_or(reason),
        }
    }

    /// The service does not take this one, whatever it says of its end.
    pub(super) async fn forget(&self, refused: &Secret) {
        self.held.lock().await.take_if(|token| token.secret == *refused);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Tokens with numbers, which serve for so long; the third one and all behind it cannot be had.
    #[derive(Debug)]
    struct Numbered {
        serves: TimeDelta,
        given: AtomicUsize,
    }

    #[async_trait]
    impl TokenSource for Numbered {
        async fn token(&self, scope: &str) -> Result<Token, String> {
            let number = self.given.fetch_add(1, Ordering::SeqCst);
            if number >= 2 {
                return Err("as planned".to_owned());
            }
            Ok(Token { secret: Secret::new(format!("{scope}#{number}")), ends: Utc::now() + self.serves })
        }
    }

    fn bearer(serves: TimeDelta) -> Bearer {
        Bearer::new(Arc::new(Numbered { serves, given: AtomicUsize::new(0) }), "scope")
    }

    #[tokio::test]
    async fn a_token_is_kept_until_shortly_before_its_end() {
        let hour = bearer(TimeDelta::hours(1));
        for _ in 0..3 {
            assert_eq!(hour.token().await.unwrap().expose(), "scope#0");
        }
        let short = bearer(TimeDelta::minutes(4));
        assert_eq!(short.token().await.unwrap().expose(), "scope#0");
        assert_eq!(short.token().await.unwrap().expose(), "scope#1");
        // There is no third one yet, and the second has not ended.
        assert_eq!(short.token().await.unwrap().expose(), "scope#1");
        let ended = bearer(TimeDelta::zero());
        ended.token().await.unwrap();
        ended.token().await.unwrap();
        assert_eq!(ended.token().await.unwrap_err(), "as planned");
    }

    #[tokio::test]
    async fn a_token_that_is_refused_is_not_used_again() {
        let bearer = bearer(TimeDelta::hours(1));
        let first = bearer.token().await.unwrap();
        bearer.forget(&first).await;
        let second = bearer.token().await.unwrap();
        assert_eq!(second.expose(), "scope#1");
        // A late refusal of the first does not cost the second.
        bearer.forget(&first).await;
        assert_eq!(bearer.token().await.unwrap(), second);
        assert!(!format!("{bearer:?}").contains("scope#"));
    }
}
