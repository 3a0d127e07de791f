//! The keys that an issuer signs with, as it publishes them (JSON Web Key Sets, RFC 7517): read again when a token names one
//! that is not known, and now and then.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::jwt::{Algorithm, Jwt};

/// A key that the issuer has taken back is not used for longer.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Whatever tokens name, keys are not asked for more often.
const MIN_AGE: Duration = Duration::from_secs(10);
/// Keys of one set.
const KEYS_MAX: usize = 100;
/// A coordinate of P-256.
const COORDINATE_BYTES: usize = 32;

/// Where a key set is.
#[async_trait]
pub trait KeySource: Send + Sync + 'static {
    /// The text of the set.
    ///
    /// # Errors
    /// Says why it cannot be had.
    async fn fetch(&self) -> Result<Vec<u8>, String>;
}

/// A key set in a file.
pub struct KeyFile(pub PathBuf);

#[async_trait]
impl KeySource for KeyFile {
    async fn fetch(&self) -> Result<Vec<u8>, String> {
        tokio::fs::read(&self.0).await.map_err(|error| format!("{}: {error}", self.0.display()))
    }
}

/// The keys of an issuer.
pub(super) struct Keys {
    source: Arc<dyn KeySource>,
    kept: RwLock<Kept>,
    /// One at a time asks for new ones.
    asking: Mutex<()>,
}

#[derive(Clone, Default)]
struct Kept {
    keys: Arc<[Key]>,
    /// When they were asked for last, with success or without.
    asked: Option<Instant>,
}

/// A public key.
struct Key {
    id: Option<String>,
    form: Form,
}

enum Form {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// A point of P-256, not compressed.
    P256(Vec<u8>),
}

impl Keys {
    pub(super) fn new(source: Arc<dyn KeySource>) -> Self {
        Self { source, kept: RwLock::default(), asking: Mutex::default() }
    }

    /// Whether one of the keys has signed the token.
    pub(super) async fn have_signed(&self, jwt: &Jwt<'_>) -> bool {
        self.keys_for(jwt).await.iter().any(|key| key.fits(jwt) && key.has_signed(jwt))
    }

    /// Asks for the keys now.
    pub(super) async fn look(&self) {
        let _asking = self.asking.lock().await;
        self.renew().await;
    }

    async fn keys_for(&self, jwt: &Jwt<'_>) -> Arc<[Key]> {
        let kept = self.kept();
        if kept.serves(jwt) {
            return kept.keys;
        }
        // Who is served by old keys does not wait while somebody asks for new ones.
        let asking = match kept.has_key_for(jwt) {
            true => self.asking.try_lock().ok(),
            false => Some(self.asking.lock().await),
        };
        if asking.is_some() && !self.kept().serves(jwt) {
            self.renew().await;
        }
        self.kept().keys
    }

    async fn renew(&self) {
        let fetched = self.source.fetch().await.and_then(|text| parse(&text));
        // Both are replaced at once.
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        kept.asked = Some(Instant::now());
        match fetched {
            Ok(keys) => kept.keys = keys,
            // Those that were known still hold.
            Err(error) => tracing::warn!(%error, "the keys of the issuer of tokens cannot be had"),
        }
    }

    fn kept(&self) -> Kept {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Kept {
    fn has_key_for(&self, jwt: &Jwt<'_>) -> bool {
        self.keys.iter().any(|key| key.fits(jwt))
    }

    /// Whether nothing new is to be asked for.
    fn serves(&self, jwt: &Jwt<'_>) -> bool {
        let most = if self.has_key_for(jwt) { MAX_AGE } else { MIN_AGE };
        self.asked.is_some_and(|asked| asked.elapsed() <= most)
    }
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// Reads a set; keys of other kinds, and for other purposes, are left out.
fn parse(text: &[u8]) -> Result<Arc<[Key]>, String> {
    let set: Set = serde_json::from_slice(text).map_err(|_| "it is no JSON Web Key Set".to_owned())?;
    let keys: Arc<[Key]> = set.keys.iter().take(KEYS_MAX).filter_map(Key::of).collect();
    if keys.is_empty() { Err("no key in it is for RS256 or ES256".to_owned()) } else { Ok(keys) }
}

impl Key {
    fn of(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str();
        let number = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let form = match (text("kty")?, text("crv")) {
            ("RSA", _) => Form::Rsa(RsaPublicKeyComponents { n: number("n")?, e: number("e")? }),
            ("EC", Some("P-256")) => {
                let (x, y) = (number("x")?, number("y")?);
                if x.len() != COORDINATE_BYTES || y.len() != COORDINATE_BYTES {
                    return None;
                }
                Form::P256([&[4][..], &x, &y].concat())
            }
            _ => return None,
        };
        let key = Self { id: text("kid").map(str::to_owned), form };
        // One that says what it is for is for nothing else.
        let is_for_it = text("alg").is_none_or(|name| Algorithm::of(name) == Some(key.algorithm()));
        is_for_it.then_some(key)
    }

    fn algorithm(&self) -> Algorithm {
        match self.form {
            Form::Rsa(_) => Algorithm::Rs256,
            Form::P256(_) => Algorithm::Es256,
        }
    }

    /// Whether it can be the one that the token names.
    fn fits(&self, jwt: &Jwt<'_>) -> bool {
        jwt.algorithm == self.algorithm() && (jwt.key.is_none() || jwt.key == self.id)
    }

    fn has_signed(&self, jwt: &Jwt<'_>) -> bool {
        let (text, signature) = (jwt.signed.as_bytes(), jwt.signature.as_slice());
        match &self.form {
            Form::Rsa(components) => components.verify(&RSA_PKCS1_2048_8192_SHA256, text, signature).is_ok(),
            Form::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, signature).is_ok()
            }
        }
    }
}
