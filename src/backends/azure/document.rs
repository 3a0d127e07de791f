//! A small public document behind a URL, such as the keys that an issuer signs its tokens with.

use std::time::Duration;

use reqwest::Url;
use tablegate_store::table::StoreError;

use super::client::{IDLE_TIMEOUT, http, without_url};

/// Who asks for it waits.
const TIMEOUT: Duration = Duration::from_secs(10);
const BYTES_MAX: usize = 1 << 20;

pub struct PublicDocument {
    http: reqwest::Client,
    url: Url,
}

impl PublicDocument {
    /// # Errors
    /// [`StoreError::Unavailable`] for what is no URL, and when this machine's certificates cannot be used.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let url = Url::parse(url).map_err(|error| StoreError::Unavailable(format!("{url}: {error}")))?;
        Ok(Self { http: http(TIMEOUT, IDLE_TIMEOUT)?, url })
    }

    /// # Errors
    /// Says why it cannot be had, and where it should be.
    pub async fn fetch(&self) -> Result<Vec<u8>, String> {
        let failed = |error: reqwest::Error| format!("{}: {}", self.url, without_url(error));
        let mut response = self.http.get(self.url.clone()).send().await.map_err(failed)?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(format!("{}: the answer is {}", self.url, response.status()));
        }
        let mut document = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            document.extend_from_slice(&piece);
            if document.len() > BYTES_MAX {
                return Err(format!("{}: it is longer than {BYTES_MAX} bytes", self.url));
            }
        }
        Ok(document)
    }
}
