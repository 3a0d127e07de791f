//! The multipart frame of a `$batch` body, and the HTTP request each operation is in it.

use std::fmt::{self, Write};

use uuid::Uuid;

use super::json;
use super::length::length;
use crate::model::{ETag, EdmRef, Entity, EntityKey, EntityKeys, Properties, PropertyName, TableName};
use crate::table::{Batch, EdmColumn, IfMatch, Operation};

/// The endpoint that lengths are counted with: account names have 3 to 24 characters, this one has 24.
pub const WIDEST_ENDPOINT: &str = "https://aaaaaaaaaaaaaaaaaaaaaaaa.table.core.windows.net";

/// Bytes around the operations: the opening and closing boundaries. A test holds it to what is written.
pub const ENVELOPE_BYTES: usize = 236;

/// Bytes of an operation without its keys, table, version and properties, rounded up.
const FRAME_BYTES_MAX: usize = 640;
/// Bytes of a property without its name twice and without a text, rounded up: a Double has up to 24 digits and signs.
const PROPERTY_BYTES_MAX: usize = 80;

/// What a byte of a text becomes at most: `%27%27`, and in JSON `\u001f`.
const LONGEST_BYTE: usize = 6;

/// Belongs to the boundary that follows, not to the content.
const END_OF_PART: &str = "\r\n";

/// Bytes one operation adds to the body.
pub fn operation_bytes(table: &TableName, operation: &Operation) -> usize {
    part_bytes(table, operation, body_bytes(operation))
}

/// Bytes an operation adds whose entity takes so many, if it carries one.
fn part_bytes(table: &TableName, operation: &Operation, body: Option<usize>) -> usize {
    let frame = Frame { endpoint: WIDEST_ENDPOINT, id: Uuid::nil(), table };
    length(|out| frame.write_head(out, 0, operation, body)) + body.unwrap_or_default() + END_OF_PART.len()
}

/// Bytes of the entity an operation carries.
fn body_bytes(operation: &Operation) -> Option<usize> {
    operation.entity().map(|entity| json::entity_bytes(entity.key.as_pair(), entity.properties.iter()))
}

/// Bytes of entities as operations carry them.
fn bodies_bytes<'a>(
    keys: &'a EntityKeys,
    columns: &'a [(PropertyName, EdmColumn)],
) -> impl Iterator<Item = usize> + 'a {
    keys.pairs().enumerate().map(|(place, pair)| {
        let there = columns.iter().filter(move |(_, column)| !column.is_null(place));
        json::entity_bytes(pair, there.map(|(name, column)| (name, column.value(place))))
    })
}

/// Bytes that insertions of such entities add to the body.
pub(in crate::table) fn insertions_bytes<'a>(
    table: &TableName,
    keys: &'a EntityKeys,
    columns: &'a [(PropertyName, EdmColumn)],
) -> impl Iterator<Item = usize> + 'a {
    // The heads of insertions differ in the digits of a length.
    let head = if keys.is_empty() {
        0
    } else {
        let insertion = Operation::Insert(Entity::new(keys.key(0), Properties::default()));
        part_bytes(table, &insertion, Some(0)) - "0".len()
    };
    bodies_bytes(keys, columns).map(move |body| head + body.max(1).ilog10() as usize + 1 + body)
}

/// Bytes that changes of entities in these versions add to the body, or removals where there are no columns.
pub(in crate::table) fn known_bytes(
    table: &TableName,
    keys: &EntityKeys,
    versions: &[ETag],
    columns: Option<&[(PropertyName, EdmColumn)]>,
) -> Vec<usize> {
    let (Some(version), false) = (versions.first(), keys.is_empty()) else { return Vec::new() };
    // The heads differ in the key, in the version, and in the digits of a length.
    let (key, if_match) = (keys.key(0), IfMatch::ETag(version.clone()));
    let of_head = address_bytes(keys.pair(0)) + version.bytes();
    let address_and_version = |place: usize| address_bytes(keys.pair(place)) + versions[place].bytes();
    match columns {
        None => {
            let head = part_bytes(table, &Operation::Delete(key, if_match), None) - of_head;
            (0..keys.len()).map(|place| head + address_and_version(place)).collect()
        }
        Some(columns) => {
            let merge = Operation::Merge(Entity::new(key, Properties::default()), if_match);
            let head = part_bytes(table, &merge, Some(0)) - "0".len() - of_head;
            let with_body = |(place, body): (usize, usize)| {
                head + address_and_version(place) + body.max(1).ilog10() as usize + 1 + body
            };
            bodies_bytes(keys, columns).enumerate().map(with_body).collect()
        }
    }
}

/// Never less than [`operation_bytes`], and told without writing anything: each byte as long as it can become.
pub fn operation_bytes_at_most(table: &TableName, operation: &Operation) -> usize {
    let key = operation.key();
    let keys = LONGEST_BYTE * (key.partition.as_str().len() + key.row.as_str().len());
    let version = match operation {
        Operation::Merge(_, IfMatch::ETag(etag))
        | Operation::Replace(_, IfMatch::ETag(etag))
        | Operation::Delete(_, IfMatch::ETag(etag)) => etag.text().len(),
        _ => 0,
    };
    let frame = FRAME_BYTES_MAX + table.as_str().len() + version + keys;
    let Some(entity) = operation.entity() else { return frame };
    let values = entity.properties.iter().map(|(name, value)| {
        let text = match value {
            EdmRef::String(text) => LONGEST_BYTE * text.len(),
            EdmRef::Binary(bytes) => 2 * bytes.len(),
            _ => 0,
        };
        PROPERTY_BYTES_MAX + 2 * name.as_str().len() + text
    });
    frame + keys + values.sum::<usize>()
}

/// Never less than [`operation_bytes`] of an operation whose keys have so many bytes together, its version so many, and each
/// property so many of text or binary.
pub(in crate::table) fn operation_bytes_at_most_of<'a>(
    table: &TableName,
    key_bytes: usize,
    version_bytes: usize,
    properties: impl Iterator<Item = (&'a PropertyName, usize)>,
) -> usize {
    let property =
        |(name, bytes): (&PropertyName, usize)| PROPERTY_BYTES_MAX + 2 * name.as_str().len() + LONGEST_BYTE * bytes;
    let frame = FRAME_BYTES_MAX + table.as_str().len() + version_bytes;
    frame + 2 * LONGEST_BYTE * key_bytes + properties.map(property).sum::<usize>()
}

/// The same for an operation with these properties, which are counted exactly.
pub(in crate::table) fn operation_bytes_at_most_with<'a>(
    table: &TableName,
    key_bytes: usize,
    version_bytes: usize,
    properties: impl Iterator<Item = (&'a PropertyName, EdmRef<'a>)>,
) -> usize {
    let property = |(name, value): (&PropertyName, EdmRef<'_>)| ",".len() + json::property_bytes(name, value);
    operation_bytes_at_most_of(table, key_bytes, version_bytes, [].into_iter())
        + properties.map(property).sum::<usize>()
}

/// Writes the body, which belongs under the header `Content-Type: multipart/mixed; boundary=batch_<id>`.
///
/// `endpoint` is scheme and authority, and the account's path where the emulator needs one, without a slash at the end.
/// `id` becomes the boundaries; it must be random, so that no value holds it.
///
/// # Errors
/// Those of `out`.
pub fn write_body(out: &mut impl Write, endpoint: &str, id: Uuid, batch: &Batch) -> fmt::Result {
    let frame = Frame { endpoint, id, table: batch.table() };
    frame.open(out)?;
    for (index, operation) in batch.operations().iter().enumerate() {
        frame.write_part(out, index, operation)?;
    }
    frame.close(out)
}

/// What is the same for every operation of a body.
struct Frame<'a> {
    endpoint: &'a str,
    id: Uuid,
    table: &'a TableName,
}

impl Frame<'_> {
    fn open(&self, out: &mut impl Write) -> fmt::Result {
        let id = self.id;
        write!(out, "--batch_{id}\r\nContent-Type: multipart/mixed; boundary=changeset_{id}\r\n\r\n")
    }

    fn close(&self, out: &mut impl Write) -> fmt::Result {
        let id = self.id;
        write!(out, "--changeset_{id}--\r\n--batch_{id}--\r\n")
    }

    fn write_part(&self, out: &mut impl Write, index: usize, operation: &Operation) -> fmt::Result {
        self.write_head(out, index, operation, body_bytes(operation))?;
        if let Some(entity) = operation.entity() {
            json::write_entity(out, entity)?;
        }
        out.write_str(END_OF_PART)
    }

    /// All before the entity, which takes so many bytes.
    fn write_head(
        &self,
        out: &mut impl Write,
        index: usize,
        operation: &Operation,
        body: Option<usize>,
    ) -> fmt::Result {
        write!(
            out,
            "--changeset_{}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: {index:02}\r\n\r\n",
            self.id
        )?;
        self.write_request_line(out, operation)?;
        write_headers(out, operation)?;
        match body {
            Some(bytes) => write!(out, "Content-Length: {bytes}\r\n\r\n"),
            None => out.write_str("\r\n"),
        }
    }

    fn write_request_line(&self, out: &mut impl Write, operation: &Operation) -> fmt::Result {
        let (endpoint, table) = (self.endpoint, self.table);
        match operation {
            Operation::Insert(_) => write!(out, "POST {endpoint}/{table}")?,
            Operation::Merge(..) | Operation::InsertOrMerge(_) => write!(out, "MERGE {endpoint}/{table}")?,
            Operation::Replace(..) | Operation::InsertOrReplace(_) => write!(out, "PUT {endpoint}/{table}")?,
            Operation::Delete(..) => write!(out, "DELETE {endpoint}/{table}")?,
        }
        if !matches!(operation, Operation::Insert(_)) {
            write_address(out, operation.key())?;
        }
        out.write_str(" HTTP/1.1\r\n")
    }
}

fn write_headers(out: &mut impl Write, operation: &Operation) -> fmt::Result {
    out.write_str("Accept: application/json;odata=minimalmetadata\r\n")?;
    if operation.entity().is_some() {
        out.write_str("Content-Type: application/json\r\n")?;
    }
    match operation {
        Operation::Insert(_) => out.write_str("Prefer: return-no-content\r\n")?,
        Operation::Merge(_, if_match) | Operation::Replace(_, if_match) | Operation::Delete(_, if_match) => {
            match if_match {
                IfMatch::Any => out.write_str("If-Match: *\r\n")?,
                IfMatch::ETag(etag) => write!(out, "If-Match: {etag}\r\n")?,
            }
        }
        // Without If-Match the service takes MERGE and PUT as upserts.
        Operation::InsertOrMerge(_) | Operation::InsertOrReplace(_) => {}
    }
    out.write_str("DataServiceVersion: 3.0;\r\n")
}

/// `(PartitionKey='..',RowKey='..')`: quotes doubled, then UTF-8 percent-encoded.
///
/// # Errors
/// Those of `out`.
pub fn write_address(out: &mut impl Write, key: &EntityKey) -> fmt::Result {
    out.write_str("(PartitionKey='")?;
    write_url_literal(out, key.partition.as_str())?;
    out.write_str("',RowKey='")?;
    write_url_literal(out, key.row.as_str())?;
    out.write_str("')")
}

/// How many bytes the texts of a key take in what [`write_address`] writes.
fn address_bytes((partition, row): (&str, &str)) -> usize {
    let of = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => 1,
        b'\'' => "%27%27".len(),
        _ => "%00".len(),
    };
    partition.bytes().chain(row.bytes()).map(of).sum()
}

fn write_url_literal(out: &mut impl Write, text: &str) -> fmt::Result {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.write_char(byte.into())?,
            b'\'' => out.write_str("%27%27")?,
            _ => write!(out, "%{byte:02X}")?,
        }
    }
    Ok(())
}
