//! The bodies of client messages, read with every length checked and every text validated.

use bytes::{Buf, Bytes};
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Parse};
use tablegate_types::error::ErrorKind;

use super::error::Failure;

/// Query.
pub(super) fn query(body: Bytes) -> Result<String, Failure> {
    let mut body = Body(body);
    let text = body.text()?;
    body.end()?;
    Ok(text)
}

pub(super) fn parse(body: Bytes) -> Result<Parse, Failure> {
    let mut body = Body(body);
    let name = body.text()?;
    let query = body.text()?;
    let count = body.count()?;
    let mut types = Vec::new();
    for _ in 0..count {
        types.push(body.u32()?);
    }
    body.end()?;
    Ok(Parse::new(Some(name), query, types))
}

pub(super) fn bind(body: Bytes) -> Result<Bind, Failure> {
    let mut body = Body(body);
    let portal = body.text()?;
    let statement = body.text()?;
    let formats = body.formats()?;
    let count = body.count()?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(body.value()?);
    }
    let result_formats = body.formats()?;
    body.end()?;
    Ok(Bind::new(Some(portal), Some(statement), formats, values, result_formats))
}

pub(super) fn describe(body: Bytes) -> Result<Describe, Failure> {
    let (target, name) = target(body, "DESCRIBE")?;
    Ok(Describe::new(target, Some(name)))
}

pub(super) fn close(body: Bytes) -> Result<Close, Failure> {
    let (target, name) = target(body, "CLOSE")?;
    Ok(Close::new(target, Some(name)))
}

pub(super) fn execute(body: Bytes) -> Result<Execute, Failure> {
    let mut body = Body(body);
    let portal = body.text()?;
    let max_rows = body.u32()?.cast_signed();
    body.end()?;
    Ok(Execute::new(Some(portal), max_rows))
}

/// SASLInitialResponse: the mechanism, and the client's first message if it begins with one.
pub(super) fn sasl_initial_response(body: Bytes) -> Result<(String, Option<Bytes>), Failure> {
    let mut body = Body(body);
    let mechanism = body.text()?;
    let first = body.value()?;
    body.end()?;
    Ok((mechanism, first))
}

/// CopyFail: the client's reason.
pub(super) fn copy_fail(body: Bytes) -> Result<String, Failure> {
    Body(body).text()
}

/// UTF-8 text, in which PostgreSQL has no NUL.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Failure> {
    let invalid = match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => return Ok(text),
        Ok(_) => &[0][..],
        Err(error) => {
            let from = error.valid_up_to();
            let len = error.error_len().unwrap_or(bytes.len() - from).min(4);
            &bytes[from..from + len]
        }
    };
    let bytes: Vec<String> = invalid.iter().map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", bytes.join(" "));
    Err(Failure::sql(ErrorKind::CharacterNotInRepertoire, message))
}

fn target(body: Bytes, what: &str) -> Result<(u8, String), Failure> {
    let mut body = Body(body);
    let target = body.u8()?;
    let name = body.text()?;
    body.end()?;
    if !matches!(target, b'S' | b'P') {
        return Err(Failure::protocol(format!("invalid {what} message subtype {target}")));
    }
    Ok((target, name))
}

/// What is left of a message's body.
struct Body(Bytes);

impl Body {
    fn u8(&mut self) -> Result<u8, Failure> {
        self.0.try_get_u8().map_err(|_| insufficient())
    }

    fn u32(&mut self) -> Result<u32, Failure> {
        self.0.try_get_u32().map_err(|_| insufficient())
    }

    /// A number of things that follow: unsigned, as PostgreSQL's own server and client have it.
    fn count(&mut self) -> Result<u16, Failure> {
        self.0.try_get_u16().map_err(|_| insufficient())
    }

    fn formats(&mut self) -> Result<Vec<i16>, Failure> {
        let count = self.count()?;
        let mut formats = Vec::new();
        for _ in 0..count {
            formats.push(self.0.try_get_i16().map_err(|_| insufficient())?);
        }
        Ok(formats)
    }

    fn value(&mut self) -> Result<Option<Bytes>, Failure> {
        let length = self.u32()?.cast_signed();
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| insufficient())?;
        if length > self.0.len() {
            return Err(insufficient());
        }
        Ok(Some(self.0.split_to(length)))
    }

    /// Text up to its NUL.
    fn text(&mut self) -> Result<String, Failure> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| Failure::protocol("invalid string in message"))?;
        let bytes = self.0.split_to(end);
        self.0.advance(1);
        utf8(&bytes).map(str::to_owned)
    }

    fn end(&self) -> Result<(), Failure> {
        if self.0.is_empty() { Ok(()) } else { Err(Failure::protocol("invalid message format")) }
    }
}

fn insufficient() -> Failure {
    Failure::protocol("insufficient data left in message")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_must_be_utf8() {
        let error = query(Bytes::from_static(b"SELECT '\xff'\0")).unwrap_err();
        assert!(matches!(&error, Failure::Sql(e) if e.kind == ErrorKind::CharacterNotInRepertoire), "{error:?}");
        assert!(query(Bytes::from_static(b"no end")).is_err());
        assert!(query(Bytes::from_static(b"end\0more")).is_err());
    }

    #[test]
    fn counts_beyond_the_message_are_refused() {
        assert!(bind(Bytes::from_static(b"\0\0\xff\xff")).is_err());
        assert!(bind(Bytes::from_static(b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0")).is_err());
        assert!(bind(Bytes::from_static(b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0")).is_err());
        assert!(parse(Bytes::from_static(b"\0\0\0\x02\0\0\0\x19")).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let bytes = Bytes::from(bytes);
            let _ = query(bytes.clone());
            let _ = parse(bytes.clone());
            let _ = bind(bytes.clone());
            let _ = describe(bytes.clone());
            let _ = close(bytes.clone());
            let _ = execute(bytes.clone());
            let _ = copy_fail(bytes);
        }
    }
}
