//! The parts of a `$batch` answer.

/// The answer to one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub status: u16,
    pub etag: Option<String>,
    pub body: Vec<u8>,
}

/// Every HTTP answer in a multipart text, in order. What is not one is passed over: a part too few is noticed by who
/// counts them.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut place = Place::Outside;
    for line in text.split("\r\n").flat_map(|line| line.split('\n')) {
        if line.starts_with("--batchresponse_") || line.starts_with("--changesetresponse_") {
            place = Place::Outside;
        } else if place == Place::Outside {
            if let Some(status) = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()) {
                parts.push(Part { status, etag: None, body: Vec::new() });
                place = Place::Headers;
            }
        } else if let Some(part) = parts.last_mut() {
            match place {
                Place::Headers if line.is_empty() => place = Place::Body,
                Place::Headers => {
                    if let Some((name, value)) = line.split_once(':')
                        && name.eq_ignore_ascii_case("etag")
                    {
                        part.etag = Some(value.trim().to_owned());
                    }
                }
                _ => part.body.extend_from_slice(line.as_bytes()),
            }
        }
    }
    parts
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Headers,
    Body,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_part() {
        let text = "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n\
            --changesetresponse_2\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n\
            ETag: W/\"datetime'x'\"\r\n\r\n\r\n--changesetresponse_2\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n\
            --changesetresponse_2--\r\n--batchresponse_1--\r\n";
        let found: Vec<(u16, Option<String>)> = parts(text).into_iter().map(|part| (part.status, part.etag)).collect();
        assert_eq!(found, [(204, Some("W/\"datetime'x'\"".to_owned())), (204, None)]);
    }

    #[test]
    fn a_failure_has_its_body() {
        let text = "--batchresponse_1\r\n\r\n--changesetresponse_2\r\n\r\nHTTP/1.1 409 Conflict\r\n\
            Content-Type: application/json\r\n\r\n{\"odata.error\":\r\n{}}\r\n--changesetresponse_2--\r\n";
        let expected = [Part { status: 409, etag: None, body: b"{\"odata.error\":{}}".to_vec() }];
        assert_eq!(parts(text), expected);
    }
}
