//! Entities as the JSON of answers, written from where they lie.

use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use tablegate_store::model::{ETag, EdmRef, TableName};
use tablegate_store::table::{EntityView, RowETag, StoreError};

use crate::address::Address;

/// How much an answer says beside the values: `odata=nometadata`, `minimalmetadata`, `fullmetadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metadata {
    None,
    Minimal,
    Full,
}

impl Metadata {
    /// What the answer's content type says.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Metadata::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Metadata::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            Metadata::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }
}

/// The properties that `$select` names; without it, all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selection(Option<Vec<String>>);

impl Selection {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Self(None) };
        let mut names: Vec<String> = Vec::new();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        if names.iter().any(|name| name == "*") { Self(None) } else { Self(Some(names)) }
    }

    pub(crate) fn names(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    /// As `odata.metadata` tells it.
    pub(crate) fn suffix(&self) -> String {
        self.names().map_or_else(String::new, |names| format!("&$select={}", names.join(",")))
    }
}

/// Writes entities of one table.
pub(crate) struct EntityWriter<'a> {
    pub metadata: Metadata,
    /// Scheme, host and account, without a slash at the end.
    pub base: &'a str,
    pub account: &'a str,
    pub table: &'a TableName,
    pub selection: &'a Selection,
}

impl EntityWriter<'_> {
    /// Appends an object; `context` is its `odata.metadata`, where it stands alone.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] for an entity that cannot be read.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        entity: &EntityView<'_>,
        context: Option<&str>,
    ) -> Result<(), StoreError> {
        out.push(b'{');
        let start = out.len();
        if self.metadata != Metadata::None {
            self.write_annotations(out, entity, context);
        }
        match self.selection.names() {
            None => {
                write_text(out, "PartitionKey", entity.partition);
                write_text(out, "RowKey", entity.row);
                self.write_property(out, "Timestamp", EdmRef::DateTime(entity.timestamp));
                entity.properties.each(&mut |name, value| self.write_property(out, name, value))?;
            }
            Some(names) => {
                for name in names {
                    self.write_named(out, entity, name)?;
                }
            }
        }
        // Each member ends in a comma.
        if out.len() > start {
            out.pop();
        }
        out.push(b'}');
        Ok(())
    }

    fn write_annotations(&self, out: &mut Vec<u8>, entity: &EntityView<'_>, context: Option<&str>) {
        if let Some(context) = context {
            write_text(out, "odata.metadata", context);
        }
        let address = Address { partition: entity.partition, row: entity.row };
        let is_full = self.metadata == Metadata::Full;
        if is_full {
            write_text(out, "odata.type", &format!("{}.{}", self.account, self.table));
            write_text(out, "odata.id", &format!("{}/{}{address}", self.base, self.table));
        }
        match entity.etag {
            RowETag::Text(etag) => write_text(out, "odata.etag", etag),
            RowETag::Of(timestamp) => write_text(out, "odata.etag", &ETag::of_timestamp(timestamp).text()),
        }
        if is_full {
            write_text(out, "odata.editLink", &format!("{}{address}", self.table));
        }
    }

    /// What an entity does not have is null where it is asked for by name.
    fn write_named(&self, out: &mut Vec<u8>, entity: &EntityView<'_>, name: &str) -> Result<(), StoreError> {
        match name {
            "PartitionKey" => write_text(out, name, entity.partition),
            "RowKey" => write_text(out, name, entity.row),
            "Timestamp" => self.write_property(out, name, EdmRef::DateTime(entity.timestamp)),
            name => match entity.properties.get(name)? {
                Some(value) => self.write_property(out, name, value),
                None => {
                    write_string(out, name);
                    out.extend_from_slice(b":null,");
                }
            },
        }
        Ok(())
    }

    fn write_property(&self, out: &mut Vec<u8>, name: &str, value: EdmRef<'_>) {
        if self.is_annotated(name, value) {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"@odata.type\":\"");
            out.extend_from_slice(value.edm_type().name().as_bytes());
            out.extend_from_slice(b"\",");
        }
        write_name(out, name);
        write_value(out, value);
        out.push(b',');
    }

    fn is_annotated(&self, name: &str, value: EdmRef<'_>) -> bool {
        match (self.metadata, value) {
            (Metadata::None, _) => false,
            (Metadata::Minimal, EdmRef::DateTime(_)) => name != "Timestamp",
            (_, EdmRef::Int64(_) | EdmRef::DateTime(_) | EdmRef::Guid(_) | EdmRef::Binary(_)) => true,
            (_, EdmRef::Double(value)) => !value.is_finite(),
            (_, EdmRef::String(_) | EdmRef::Int32(_) | EdmRef::Boolean(_)) => false,
        }
    }
}

fn write_value(out: &mut Vec<u8>, value: EdmRef<'_>) {
    // Writing into a Vec cannot fail.
    let _ = match value {
        EdmRef::String(text) => {
            write_string(out, text);
            Ok(())
        }
        EdmRef::Int32(number) => {
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            Ok(())
        }
        EdmRef::Boolean(value) => {
            out.extend_from_slice(if value { b"true" } else { b"false" });
            Ok(())
        }
        // `Debug` of a float is the shortest text with a point or an exponent.
        EdmRef::Double(number) if number.is_finite() => write!(out, "{number:?}"),
        EdmRef::Binary(bytes) => write!(out, "\"{}\"", Base64Display::new(bytes, &STANDARD)),
        EdmRef::Int64(_) | EdmRef::Double(_) | EdmRef::DateTime(_) | EdmRef::Guid(_) => write!(out, "\"{value}\""),
    };
}

fn write_text(out: &mut Vec<u8>, name: &str, text: &str) {
    write_name(out, name);
    write_string(out, text);
    out.push(b',');
}

/// A name that is letters, digits, underscores and points: nothing to escape.
fn write_name(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// A JSON string: what needs no escape goes out in runs, as it is.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    // Nearly always there is none, which is found out many bytes at a time.
    let has_any = rest.iter().fold(false, |found, byte| found | needs_escape(*byte));
    while has_any && let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
        let (run, escaped) = rest.split_at(at);
        out.extend_from_slice(run);
        let (first, behind) = escaped.split_at(1);
        write_escape(out, first[0]);
        rest = behind;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn needs_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        // Writing into a Vec cannot fail.
        _ => {
            let _ = write!(out, "\\u{byte:04x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{EdmDateTime, EdmValue, Entity, EntityKey, PropertyName, StoredEntity};

    fn stored() -> StoredEntity {
        let values = [
            ("s", EdmValue::string("a\"\u{1}é")),
            ("l", EdmValue::Int64(5)),
            ("d", EdmValue::Double(3.0)),
            ("n", EdmValue::Double(f64::NAN)),
            ("b", EdmValue::Binary([1].into())),
        ];
        let properties = values.into_iter().map(|(name, value)| (PropertyName::parse(name).unwrap(), value)).collect();
        let timestamp = EdmDateTime::parse("2021-09-21T00:54:03.15Z").unwrap();
        let entity = Entity::new(EntityKey::parse("it's", "r").unwrap(), properties);
        StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) }
    }

    fn written(metadata: Metadata, select: Option<&str>) -> String {
        let (stored, table, selection) = (stored(), TableName::parse("Orders").unwrap(), Selection::parse(select));
        let writer = EntityWriter { metadata, base: "http://h/a", account: "a", table: &table, selection: &selection };
        let mut out = Vec::new();
        writer.write(&mut out, &EntityView::from(&stored), Some("c")).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn metadata_says_as_much_as_was_asked_for() {
        let values = r#""s":"a\"\u0001é","#;
        assert_eq!(
            written(Metadata::None, None),
            format!(
                r#"{{"PartitionKey":"it's","RowKey":"r","Timestamp":"2021-09-21T00:54:03.15Z",{values}"l":"5","d":3.0,"n":"NaN","b":"AQ=="}}"#
            )
        );
        let etag = r#""odata.etag":"W/\"datetime'2021-09-21T00%3A54%3A03.15Z'\"""#;
        assert_eq!(
            written(Metadata::Minimal, None),
            format!(
                r#"{{"odata.metadata":"c",{etag},"PartitionKey":"it's","RowKey":"r","Timestamp":"2021-09-21T00:54:03.15Z",{values}"l@odata.type":"Edm.Int64","l":"5","d":3.0,"n@odata.type":"Edm.Double","n":"NaN","b@odata.type":"Edm.Binary","b":"AQ=="}}"#
            )
        );
        let full = written(Metadata::Full, Some("Timestamp"));
        let address = "Orders(PartitionKey='it%27%27s',RowKey='r')";
        assert_eq!(
            full,
            format!(
                r#"{{"odata.metadata":"c","odata.type":"a.Orders","odata.id":"http://h/a/{address}",{etag},"odata.editLink":"{address}","Timestamp@odata.type":"Edm.DateTime","Timestamp":"2021-09-21T00:54:03.15Z"}}"#
            )
        );
    }

    #[test]
    fn what_is_selected_and_absent_is_null() {
        assert_eq!(written(Metadata::None, Some("x, d,d")), r#"{"x":null,"d":3.0}"#);
        assert_eq!(written(Metadata::None, Some("*,d")), written(Metadata::None, None));
    }
}
