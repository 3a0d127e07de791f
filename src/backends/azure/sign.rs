//! Signing requests with an account's key: SharedKey, in the form the Table service has of it.
//!
//! What is signed is the request as it goes out: the path is taken from the URL after it was encoded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use reqwest::Url;
use ring::hmac;

/// The value of the Authorization header.
pub(super) fn shared_key(
    key: &hmac::Key,
    account: &str,
    method: &str,
    url: &Url,
    content_type: &str,
    date: &str,
) -> String {
    let resource = canonical_resource(account, url);
    // The second line is Content-MD5, which is not sent.
    let text = format!("{method}\n\n{content_type}\n{date}\n{resource}");
    let signature = STANDARD.encode(hmac::sign(key, text.as_bytes()));
    format!("SharedKey {account}:{signature}")
}

/// The account, the path as it is sent, and the `comp` parameter alone.
fn canonical_resource(account: &str, url: &Url) -> String {
    let mut resource = format!("/{account}{}", url.path());
    if let Some((_, component)) = url.query_pairs().find(|(name, _)| name == "comp") {
        resource.push_str("?comp=");
        resource.push_str(&component);
    }
    resource
}

/// A moment as RFC 1123 has it, which is what is signed and sent as `x-ms-date`.
pub(super) fn http_date(at: DateTime<Utc>) -> String {
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_resource_is_the_path_as_sent() {
        let host_style =
            url("https://acct.table.core.windows.net/T(PartitionKey='a%27%27b',RowKey='%C3%A9')?$select=x");
        assert_eq!(canonical_resource("acct", &host_style), "/acct/T(PartitionKey='a%27%27b',RowKey='%C3%A9')");
        let emulator = url("http://127.0.0.1:10002/devstoreaccount1/T?comp=acl&timeout=3");
        assert_eq!(canonical_resource("devstoreaccount1", &emulator), "/devstoreaccount1/devstoreaccount1/T?comp=acl");
    }

    #[test]
    fn a_signature_is_that_of_a_known_string() {
        // HMAC-SHA256("key", "GET\n\n\nThu, 01 Jan 1970 00:00:00 GMT\n/a/T") with openssl.
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        let date = http_date(DateTime::<Utc>::UNIX_EPOCH);
        let header = shared_key(&key, "a", "GET", &url("https://a.table.core.windows.net/T"), "", &date);
        assert_eq!(header, "SharedKey a:/Qk1No+6FkAkKZRHftVobIqjYn9l/YrI6BHW31bfzdk=");
    }
}
