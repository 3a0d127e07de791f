//! Answers: a status, headers and a body, with the headers that every answer has.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION};
use hyper::{HeaderMap, Response, StatusCode};
use tablegate_store::model::{Clock, EdmDateTime, SystemClock};
use uuid::Uuid;

use crate::edm::{Metadata, write_string};
use crate::error::Refusal;

pub(crate) const XML: &str = "application/xml";
const SERVER: &str = concat!("tablegate/", env!("CARGO_PKG_VERSION"));

/// An answer to a request, or to one of those in a batch.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Entities that were returned or written.
    pub entities: u64,
    /// Entities that were looked at.
    pub scanned: u64,
}

impl Answer {
    pub(crate) fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new(), entities: 0, scanned: 0 }
    }

    pub(crate) fn json(status: StatusCode, metadata: Metadata, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::new(status) }.with(CONTENT_TYPE, metadata.content_type())
    }

    pub(crate) fn xml(status: StatusCode, body: String) -> Self {
        Self { body: body.into(), ..Self::new(status) }.with(CONTENT_TYPE, XML)
    }

    /// With a header; one whose value cannot stand in a header is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    pub(crate) fn with_name(self, name: &'static str, value: &str) -> Self {
        self.with(HeaderName::from_static(name), value)
    }

    pub(crate) fn with_etag(self, etag: &str) -> Self {
        self.with(ETAG, etag)
    }

    /// Where the thing that was made is, as the service says it twice.
    pub(crate) fn with_location(self, location: &str) -> Self {
        self.with(LOCATION, location).with_name("dataserviceid", location)
    }

    pub(crate) fn with_entities(self, entities: u64) -> Self {
        Self { entities, ..self }
    }

    /// The refusal as the client wants it: JSON, or XML where the service speaks that.
    pub(crate) fn refusal(refusal: &Refusal, request: Uuid, in_xml: bool) -> Self {
        let (status, code) = refusal.code();
        let message = format!("{refusal}\nRequestId:{request}\nTime:{}", time());
        let answer = if in_xml {
            let text = format!(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error \
                 xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>{code}</m:code>\
                 <m:message xml:lang=\"en-US\">{}</m:message></m:error>",
                crate::xml::escaped(&message)
            );
            Self::xml(status, text)
        } else {
            Self::json(status, Metadata::Minimal, error_body(code, &message))
        };
        let answer =
            if in_xml || refusal.is_at_the_door() { answer.with_name("x-ms-error-code", code) } else { answer };
        match refusal {
            Refusal::NoTokens => answer.with_name("www-authenticate", "SharedKey"),
            Refusal::TokenNeeded { issuer, audience, .. } => answer
                .with_name("www-authenticate", &format!("Bearer authorization_uri={issuer} resource_id={audience}")),
            Refusal::Busy => answer.with_name("retry-after", "1"),
            _ => answer,
        }
    }

    /// With what every answer says.
    pub(crate) fn into_response(
        self,
        request: Uuid,
        client_request: Option<&HeaderValue>,
        version: &str,
    ) -> Response<Full<Bytes>> {
        let answer = self
            .with_name("x-ms-request-id", &request.to_string())
            .with_name("x-ms-version", version)
            .with_name("x-content-type-options", "nosniff")
            .with_name("server", SERVER)
            .with(CACHE_CONTROL, "no-cache");
        let mut response = Response::new(Full::new(answer.body));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        if let Some(id) = client_request {
            response.headers_mut().insert("x-ms-client-request-id", id.clone());
        }
        response
    }
}

/// The JSON of an error.
pub(crate) fn error_body(code: &str, message: &str) -> Vec<u8> {
    let mut body =
        format!("{{\"odata.error\":{{\"code\":\"{code}\",\"message\":{{\"lang\":\"en-US\",\"value\":").into_bytes();
    write_string(&mut body, message);
    body.extend_from_slice(b"}}}");
    body
}

/// A moment as headers have it: RFC 1123.
pub(crate) fn http_date(at: EdmDateTime) -> String {
    let at = chrono::DateTime::from_timestamp_micros(at.unix_micros()).unwrap_or_default();
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Now, as errors say it.
pub(crate) fn time() -> String {
    SystemClock.now().to_fixed_width()
}
