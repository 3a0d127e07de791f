//! `multipart/mixed`: the parts of a `$batch` body, and of its answer.
//!
//! Lines end in CRLF or in LF alone. What the parts are is for others; here they are headers and bytes.

use crate::error::{Refusal, RestResult};

/// Headers of one part, and of one request: far more than clients send.
const HEADERS_MAX: usize = 64;

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub headers: Headers<'a>,
    pub body: &'a [u8],
}

/// Names and values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Headers<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// The request in a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InnerRequest<'a> {
    pub method: &'a str,
    pub url: &'a str,
    pub headers: Headers<'a>,
    pub body: &'a [u8],
}

/// What a content type says the boundary is.
///
/// # Errors
/// When it is not of several parts, or does not say.
pub(crate) fn boundary(content_type: &str) -> RestResult<&str> {
    let mut parts = content_type.split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/mixed")) {
        return Err(Refusal::InvalidInput);
    }
    let named = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(value.trim())
    });
    let boundary = named.map(|value| value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value));
    boundary.filter(|boundary| (1..=70).contains(&boundary.len())).ok_or(Refusal::InvalidInput)
}

/// The parts between lines with the boundary.
///
/// # Errors
/// For a body that does not begin and end with one, and for more parts than `most`.
pub(crate) fn parts<'a>(body: &'a [u8], boundary: &str, most: usize) -> RestResult<Vec<Part<'a>>> {
    let parts = parts_up_to(body, boundary, most + 1)?;
    if parts.len() > most { Err(Refusal::InvalidInput) } else { Ok(parts) }
}

/// The first parts, at most so many; what is behind them is not looked at.
///
/// # Errors
/// For a body that does not begin with a boundary, or ends before so many.
pub(crate) fn parts_up_to<'a>(body: &'a [u8], boundary: &str, most: usize) -> RestResult<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    let mut start: Option<usize> = None;
    let mut at = 0;
    while at < body.len() {
        let (line, next) = line(body, at);
        let delimiter = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_bytes()));
        if let Some(end) = delimiter.map(<[u8]>::trim_ascii_end).filter(|end| matches!(*end, b"" | b"--")) {
            if let Some(start) = start {
                parts.push(part(without_line_end(&body[start..at]))?);
            }
            if end == b"--" || parts.len() == most {
                return Ok(parts);
            }
            start = Some(next);
        }
        at = next;
    }
    Err(Refusal::InvalidInput)
}

fn part(bytes: &[u8]) -> RestResult<Part<'_>> {
    let (headers, at) = headers(bytes, 0)?;
    Ok(Part { headers, body: &bytes[at..] })
}

/// Reads a part's body as a request.
///
/// # Errors
/// For what is none.
pub(crate) fn request(bytes: &[u8]) -> RestResult<InnerRequest<'_>> {
    let mut at = 0;
    // Some clients leave a line free before it.
    let first = loop {
        let (text, next) = line(bytes, at);
        at = next;
        match text.trim_ascii() {
            b"" if at < bytes.len() => {}
            text => break text,
        }
    };
    let first = std::str::from_utf8(first).map_err(|_| Refusal::InvalidInput)?;
    let mut words = first.split_ascii_whitespace();
    let (Some(method), Some(url), Some(protocol), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refusal::InvalidInput);
    };
    if !protocol.starts_with("HTTP/1.") {
        return Err(Refusal::InvalidInput);
    }
    let (headers, at) = headers(bytes, at)?;
    Ok(InnerRequest { method, url, headers, body: &bytes[at..] })
}

/// Reads headers up to an empty line, and says what is behind it.
fn headers(bytes: &[u8], mut at: usize) -> RestResult<(Headers<'_>, usize)> {
    let mut headers = Headers::default();
    while at < bytes.len() {
        let (line, next) = line(bytes, at);
        at = next;
        if line.is_empty() {
            break;
        }
        let text = std::str::from_utf8(line).map_err(|_| Refusal::InvalidInput)?;
        let (name, value) = text.split_once(':').ok_or(Refusal::InvalidInput)?;
        if headers.0.len() == HEADERS_MAX {
            return Err(Refusal::InvalidInput);
        }
        headers.0.push((name.trim(), value.trim()));
    }
    Ok((headers, at))
}

/// The line at this place without its end, and where the next one begins.
fn line(bytes: &[u8], at: usize) -> (&[u8], usize) {
    let rest = &bytes[at..];
    let length = rest.iter().position(|byte| *byte == b'\n');
    let (line, next) = length.map_or((rest, bytes.len()), |length| (&rest[..length], at + length + 1));
    (line.strip_suffix(b"\r").unwrap_or(line), next)
}

/// The line end before a boundary belongs to the boundary.
fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_read_with_either_line_end() {
        let text = "preamble\r\n--b\r\nContent-Type: application/http\r\n\r\nPUT /T HTTP/1.1\r\nA: b\r\n\r\n{}\r\n--b\r\n\r\nGET /x HTTP/1.1\r\n\r\n--b--\r\nepilogue";
        for text in [text.to_owned(), text.replace('\r', "")] {
            let parts = parts(text.as_bytes(), "b", 10).unwrap();
            assert_eq!(parts.len(), 2);
            assert_eq!(parts[0].headers.get("content-type"), Some("application/http"));
            let inner = request(parts[0].body).unwrap();
            assert_eq!(
                (inner.method, inner.url, inner.headers.get("a"), inner.body),
                ("PUT", "/T", Some("b"), &b"{}"[..])
            );
            assert_eq!(request(parts[1].body).unwrap().body, b"");
        }
    }

    #[test]
    fn what_is_cut_off_or_too_much_is_refused() {
        for text in ["", "--b\r\n", "--b\r\nx: y\r\n\r\nbody", "--c--"] {
            assert_eq!(parts(text.as_bytes(), "b", 10), Err(Refusal::InvalidInput), "{text}");
        }
        let many = format!("{}--b--", "--b\n\nx\n".repeat(3));
        assert_eq!(parts(many.as_bytes(), "b", 2), Err(Refusal::InvalidInput));
        assert_eq!(parts_up_to(many.as_bytes(), "b", 2).map(|parts| parts.len()), Ok(2));
        for text in ["", "PUT /x", "PUT /x FTP/1", "PUT /x HTTP/1.1 y", "PUT /x HTTP/1.1\nbad"] {
            assert_eq!(request(text.as_bytes()), Err(Refusal::InvalidInput), "{text}");
        }
    }

    #[test]
    fn a_boundary_may_stand_in_quotes() {
        assert_eq!(boundary("multipart/mixed; boundary=batch_1"), Ok("batch_1"));
        assert_eq!(boundary("Multipart/Mixed;charset=utf-8;Boundary=\"a b\""), Ok("a b"));
        for wrong in ["multipart/mixed", "multipart/mixed; boundary=", "text/plain; boundary=x"] {
            assert_eq!(boundary(wrong), Err(Refusal::InvalidInput), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_body_makes_it_fail(body in "(--b|--b--|\r\n|\n|:|x|PUT / HTTP/1.1|\u{e9}){0,20}") {
            for part in parts(body.as_bytes(), "b", 10).unwrap_or_default() {
                let _ = request(part.body);
            }
        }
    }
}
