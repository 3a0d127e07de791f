//! The keys that tokens of the Azure SDKs are checked with: in a file, or where their issuer publishes them.

use std::path::PathBuf;
use std::sync::Arc;

use tablegate_backends::azure::PublicDocument;
use tablegate_rest::{KeyFile, KeySource, TokenConfig};
use tablegate_store::table::StoreError;

/// Whose tokens are let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenIssuer {
    pub issuer: String,
    pub audience: String,
    pub keys: KeysAt,
}

/// Where a key set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeysAt {
    File(PathBuf),
    Url(String),
}

impl TokenIssuer {
    /// # Errors
    /// When this machine's certificates cannot be used.
    pub(super) fn open(&self) -> Result<TokenConfig, StoreError> {
        let keys: Arc<dyn KeySource> = match &self.keys {
            KeysAt::File(file) => Arc::new(KeyFile(file.clone())),
            KeysAt::Url(url) => Arc::new(Published(PublicDocument::new(url)?)),
        };
        Ok(TokenConfig { issuer: self.issuer.clone(), audience: self.audience.clone(), keys })
    }
}

struct Published(PublicDocument);

#[async_trait::async_trait]
impl KeySource for Published {
    async fn fetch(&self) -> Result<Vec<u8>, String> {
        self.0.fetch().await
    }
}
