//! ETags: opaque version marks of stored entities.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::EdmDateTime;

/// An entity's version as the store printed it. Opaque: only equality has a meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(Version);

/// A text that is exactly what [`ETag::of_timestamp`] prints is kept as that Timestamp, and no other one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Version {
    Of(EdmDateTime),
    Text(Arc<str>),
}

/// What stands around the Timestamp in [`ETag::of_timestamp`]'s text, and for each colon in it.
const BEFORE: &str = "W/\"datetime'";
const BEHIND: &str = "'\"";
const COLON: &str = "%3A";

/// Bytes of the longest text that [`ETag::of_timestamp`] prints.
const PRINTED_BYTES_MAX: usize = 48;

/// The text is not an ETag: RFC 9110 allows `"..."` and `W/"..."` of visible characters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an ETag: expected \"...\" or W/\"...\"")]
pub struct ETagError(String);

impl ETag {
    /// # Errors
    /// [`ETagError`] when the text does not have the shape of an ETag.
    pub fn parse(raw: &str) -> Result<Self, ETagError> {
        // Read for each row that a statement changes, so without the formatter where it is what this prints.
        if let Some(printed) = raw.strip_prefix(BEFORE).and_then(|raw| raw.strip_suffix(BEHIND))
            && let Some(timestamp) = EdmDateTime::parse_with_colon(printed, COLON)
        {
            return Ok(Self::of_timestamp(timestamp));
        }
        let opaque = raw.strip_prefix("W/").unwrap_or(raw);
        let legal = opaque.len() >= 2
            && opaque.starts_with('"')
            && opaque.ends_with('"')
            && opaque.bytes().all(|b| b > b' ' && b != 0x7f)
            && opaque.bytes().filter(|b| *b == b'"').count() == 2;
        if !legal {
            return Err(ETagError(raw.to_owned()));
        }
        Ok(Self(Version::Text(raw.into())))
    }

    /// The service's form: the entity's Timestamp with `:` percent-encoded.
    pub fn of_timestamp(timestamp: EdmDateTime) -> Self {
        Self(Version::Of(timestamp))
    }

    /// Appends what [`ETag::of_timestamp`] would hold, without making an `ETag`: for building columns.
    pub fn write_of_timestamp(timestamp: EdmDateTime, out: &mut impl fmt::Write) -> fmt::Result {
        out.write_str(BEFORE)?;
        timestamp.write_with_colon(out, COLON)?;
        out.write_str(BEHIND)
    }

    /// The Timestamp that it is the service's form of; else its text.
    pub fn timestamp(&self) -> Result<EdmDateTime, &str> {
        match &self.0 {
            Version::Of(timestamp) => Ok(*timestamp),
            Version::Text(text) => Err(text),
        }
    }

    /// Never less than the length of its text, without making that.
    pub fn bytes_at_most(&self) -> usize {
        match &self.0 {
            Version::Of(_) => PRINTED_BYTES_MAX,
            Version::Text(text) => text.len(),
        }
    }

    /// The length of its text, without making that.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Version::Of(timestamp) => {
                BEFORE.len() + timestamp.text_bytes() + 2 * (COLON.len() - ":".len()) + BEHIND.len()
            }
            Version::Text(text) => text.len(),
        }
    }

    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Version::Of(timestamp) => {
                let mut text = String::with_capacity(PRINTED_BYTES_MAX);
                Self::write_of_timestamp(*timestamp, &mut text).expect("writing into a String cannot fail");
                Cow::Owned(text)
            }
            Version::Text(text) => Cow::Borrowed(text),
        }
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_services_form() {
        let at = EdmDateTime::parse("2021-09-21T00:54:03.1536324Z").unwrap();
        let etag = ETag::of_timestamp(at);
        assert_eq!(etag.text(), "W/\"datetime'2021-09-21T00%3A54%3A03.1536324Z'\"");
        assert_eq!(ETag::parse(&etag.text()), Ok(etag.clone()));
        let mut column = String::new();
        ETag::write_of_timestamp(at, &mut column).unwrap();
        assert_eq!(column, etag.text());
        for at in ["2021-09-21T00:54:03.1536324Z", "2021-09-21T00:54:03.15Z", "1601-01-01T00:00:00Z"] {
            let etag = ETag::of_timestamp(EdmDateTime::parse(at).unwrap());
            assert_eq!(etag.bytes(), etag.text().len(), "{at}");
        }
    }

    #[test]
    fn two_are_equal_when_their_texts_are() {
        let at = EdmDateTime::parse("2021-09-21T00:54:03.15Z").unwrap();
        let etag = ETag::of_timestamp(at);
        for other in [
            "2021-09-21T00%3A54%3A03.1500000Z",
            "2021-02-29T00%3A54%3A03Z",
            "2021-09-21T24%3A54%3A03Z",
            "2021-09-21T00%3A54%3A60Z",
            "2021-09-21T00%3A54%3A03.Z",
            "2021-09-21T00%3A54%3A03.12345678Z",
            "1600-09-21T00%3A54%3A03Z",
            "21-09-21T00%3A54%3A03Z",
            "2021-00-21T00%3A54%3A03Z",
            "2021-09-21T00%3A54%3A03",
            "2021-09-21T00%3a54%3a03.15Z",
            "2021-09-21T00:54:03.15Z",
        ] {
            let text = format!("W/\"datetime'{other}'\"");
            let other = ETag::parse(&text).unwrap();
            assert_eq!(other.text(), text);
            assert_ne!(other, etag);
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        for bad in ["", "abc", "W/abc", "\"", "\"a\"b\"", "\"a b\""] {
            assert!(ETag::parse(bad).is_err(), "{bad}");
        }
    }
}
