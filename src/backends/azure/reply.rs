//! Answers of the service: what it refuses, and what its codes mean here.

use std::fmt;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use tablegate_store::model::TableName;
use tablegate_store::table::{Rejection, StoreError};

/// A whole answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as text.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is none.
    pub(super) fn text(&self) -> Result<&str, StoreError> {
        std::str::from_utf8(&self.body).map_err(|error| damaged(&error))
    }
}

/// An answer that is not what the protocol says.
pub(super) fn damaged(detail: &dyn fmt::Display) -> StoreError {
    StoreError::Damaged { place: "an answer of the Table service".to_owned(), detail: detail.to_string() }
}

/// A request that the service refused, or could not carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: u16,
    /// As the service calls it; empty when it does not say.
    pub code: String,
    pub message: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(rename = "odata.error")]
    error: Error,
}

#[derive(Deserialize)]
struct Error {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: Message,
}

#[derive(Deserialize, Default)]
struct Message {
    #[serde(default)]
    value: String,
}

impl Refusal {
    pub(super) fn of(reply: &Reply) -> Self {
        let mut refusal = Self::of_body(reply.status, &reply.body);
        if refusal.code.is_empty() {
            refusal.code = reply.header("x-ms-error-code").unwrap_or_default().to_owned();
        }
        refusal
    }

    pub(super) fn of_body(status: u16, body: &[u8]) -> Self {
        let (code, message) = match serde_json::from_slice::<Body>(body) {
            Ok(Body { error }) => (error.code, error.message.value),
            Err(_) => of_xml(body),
        };
        // What follows is the number of the request and the time.
        let message = message.lines().next().unwrap_or_default().to_owned();
        Self { status, code, message }
    }

    /// Which operation of a batch it is about: the number before the first colon of the message.
    pub(super) fn index(&self) -> Option<usize> {
        self.message.split_once(':')?.0.parse().ok()
    }

    /// The rule of an operation that it broke, as far as that is one of the contract.
    pub(super) fn rejection(&self) -> Option<Rejection> {
        match (self.status, self.code.as_str()) {
            (_, "EntityAlreadyExists") => Some(Rejection::EntityExists),
            (_, "ResourceNotFound" | "EntityNotFound") => Some(Rejection::EntityMissing),
            (412, _) | (_, "UpdateConditionNotSatisfied" | "ConditionNotMet") => Some(Rejection::ETagMismatch),
            _ => None,
        }
    }

    /// Whether the entity, merged, is beyond a limit.
    pub(super) fn is_beyond_limits(&self) -> bool {
        matches!(self.code.as_str(), "TooManyProperties" | "EntityTooLarge")
    }

    pub(super) fn is_table_missing(&self) -> bool {
        // While a table is being deleted nothing in it can be had any more.
        matches!(self.code.as_str(), "TableNotFound" | "TableBeingDeleted")
    }

    /// The error of a request about this table.
    pub(super) fn into_error(self, table: &TableName) -> StoreError {
        if self.is_table_missing() {
            return StoreError::TableMissing(table.clone());
        }
        self.into_general_error()
    }

    pub(super) fn into_general_error(self) -> StoreError {
        StoreError::Refused(self.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for text in [&self.code, &self.message] {
            if !text.is_empty() {
                write!(f, " {text}")?;
            }
        }
        Ok(())
    }
}

/// Failures before the front end are told in XML.
fn of_xml(body: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(body);
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.to_owned())
    };
    (element("Code").unwrap_or_default(), element("Message").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_from_json_and_xml() {
        let json = br#"{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"2:The specified entity already exists.\nRequestId:x\nTime:y"}}}"#;
        let refusal = Refusal::of_body(409, json);
        assert_eq!(refusal.to_string(), "409 EntityAlreadyExists 2:The specified entity already exists.");
        assert_eq!((refusal.index(), refusal.rejection()), (Some(2), Some(Rejection::EntityExists)));
        let xml = Refusal::of_body(403, b"<Error><Code>AuthenticationFailed</Code><Message>no\nwhy</Message></Error>");
        assert_eq!(xml.to_string(), "403 AuthenticationFailed no");
        assert_eq!(Refusal::of_body(400, b"").to_string(), "400");
    }
}
