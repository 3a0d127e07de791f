//! Where things are: paths of tables and entities, read and written.

use std::fmt::{self, Write as _};

use tablegate_store::model::TableName;

use crate::error::{Refusal, RestResult};

/// The keys of an entity as an address has them: `(PartitionKey='..',RowKey='..')`, quotes doubled and percent-encoded.
pub(crate) struct Address<'a> {
    pub partition: &'a str,
    pub row: &'a str,
}

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(PartitionKey='")?;
        write_literal(f, self.partition)?;
        f.write_str("',RowKey='")?;
        write_literal(f, self.row)?;
        f.write_str("')")
    }
}

fn write_literal(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => f.write_char(byte.into())?,
            b'\'' => f.write_str("%27%27")?,
            _ => write!(f, "%{byte:02X}")?,
        }
    }
    Ok(())
}

/// What a path is of, below the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// `/`
    Service,
    /// `/Tables`
    Tables,
    /// `/Tables('name')`
    TableEntry(String),
    /// `/$batch`
    Batch,
    /// `/name` or `/name()`
    Table(TableName),
    /// `/name(PartitionKey='..',RowKey='..')`
    Entity { table: TableName, partition: String, row: String },
    /// `/name/..`: an address that has a table where an account ends.
    BelowTable { table: TableName, rest: String },
}

impl Resource {
    /// Reads a path that was percent-decoded, without the account and the slash before it.
    ///
    /// # Errors
    /// For a name that no table can have, and for keys that are none.
    pub(crate) fn parse(path: &str) -> RestResult<Self> {
        let (name, keys) = match path.split_once('(') {
            Some((name, keys)) => (name, Some(keys.strip_suffix(')').ok_or(Refusal::InvalidInput)?)),
            None => (path, None),
        };
        match (name, keys) {
            ("", None) => Ok(Resource::Service),
            ("$batch", None) => Ok(Resource::Batch),
            ("Tables", None | Some("")) => Ok(Resource::Tables),
            ("Tables", Some(key)) => Ok(Resource::TableEntry(quoted_alone(key).ok_or(Refusal::InvalidInput)?)),
            (name, None | Some("")) => Ok(Resource::Table(TableName::parse(name)?)),
            (name, Some(keys)) => {
                let table = TableName::parse(name)?;
                let (partition, row) = parse_keys(keys).ok_or(Refusal::InvalidInput)?;
                Ok(Resource::Entity { table, partition, row })
            }
        }
    }
}

/// `PartitionKey='..',RowKey='..'` in either order, with spaces around.
fn parse_keys(text: &str) -> Option<(String, String)> {
    let (mut partition, mut row) = (None, None);
    let mut rest = text.trim();
    loop {
        let (name, value) = rest.split_once('=')?;
        let (value, behind) = quoted(value.trim_start())?;
        let place = match name.trim() {
            "PartitionKey" => &mut partition,
            "RowKey" => &mut row,
            _ => return None,
        };
        if place.replace(value).is_some() {
            return None;
        }
        let behind = behind.trim_start();
        if behind.is_empty() {
            return partition.zip(row);
        }
        rest = behind.strip_prefix(',')?.trim_start();
    }
}

fn quoted_alone(text: &str) -> Option<String> {
    let (value, behind) = quoted(text.trim())?;
    behind.is_empty().then_some(value)
}

/// The text in quotes that this begins with, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (run, behind) = rest.split_once('\'')?;
        value.push_str(run);
        match behind.strip_prefix('\'') {
            Some(behind) => {
                value.push('\'');
                rest = behind;
            }
            None => return Some((value, behind)),
        }
    }
}

/// Takes percent-encoding back. `plus_is_space`: as in queries.
///
/// # Errors
/// For what is not UTF-8 behind it.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> RestResult<String> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let bytes = text.as_bytes();
    let digit =
        |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' => match (digit(at + 1), digit(at + 2)) {
                (Some(high), Some(low)) => {
                    decoded.push(high << 4 | low);
                    at += 2;
                }
                _ => return Err(Refusal::InvalidInput),
            },
            b'+' if plus_is_space => decoded.push(b' '),
            other => decoded.push(*other),
        }
        at += 1;
    }
    String::from_utf8(decoded).map_err(|_| Refusal::InvalidInput)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entity(path: &str) -> Option<(String, String)> {
        match Resource::parse(path) {
            Ok(Resource::Entity { partition, row, .. }) => Some((partition, row)),
            _ => None,
        }
    }

    #[test]
    fn keys_stand_in_either_order() {
        let keys = Some(("it's".to_owned(), String::new()));
        for path in [
            "Orders(PartitionKey='it''s',RowKey='')",
            "Orders(RowKey='', PartitionKey='it''s')",
            "Orders( PartitionKey = 'it''s' , RowKey = '' )",
        ] {
            assert_eq!(entity(path), keys, "{path}");
        }
        for path in [
            "Orders(PartitionKey='a')",
            "Orders(PartitionKey='a',RowKey='b'",
            "Orders(PartitionKey='a',RowKey='b',x='c')",
            "Orders(PartitionKey='a',PartitionKey='b')",
            "Orders('a','b')",
            "Orders(PartitionKey='a',RowKey='b'')",
        ] {
            assert_eq!(entity(path), None, "{path}");
        }
    }

    #[test]
    fn paths_name_what_they_are_of() {
        assert_eq!(Resource::parse(""), Ok(Resource::Service));
        assert_eq!(Resource::parse("Tables"), Ok(Resource::Tables));
        assert_eq!(Resource::parse("Tables('ab')"), Ok(Resource::TableEntry("ab".to_owned())));
        assert_eq!(Resource::parse("$batch"), Ok(Resource::Batch));
        assert_eq!(Resource::parse("Orders()"), Ok(Resource::Table(TableName::parse("Orders").unwrap())));
        assert_eq!(Resource::parse("a-b-c"), Err(Refusal::InvalidResourceName));
        assert_eq!(Resource::parse("ab"), Err(Refusal::ResourceNameLength));
        assert_eq!(Resource::parse("Orders/Tables"), Err(Refusal::InvalidResourceName));
    }

    #[test]
    fn what_is_encoded_wrongly_is_refused() {
        assert_eq!(decode("a%20b+c", false).as_deref(), Ok("a b+c"));
        assert_eq!(decode("a+b%2B", true).as_deref(), Ok("a b+"));
        for text in ["%", "%1", "%zz", "%ff", "%+1"] {
            assert_eq!(decode(text, false), Err(Refusal::InvalidInput), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_was_written(partition in "[^\u{0}]{0,8}", row in "['a(),= é]{0,8}") {
            let written = Address { partition: &partition, row: &row }.to_string();
            let path = decode(&format!("Orders{written}"), false).unwrap();
            prop_assert_eq!(entity(&path), Some((partition, row)));
        }

        #[test]
        fn no_path_makes_it_fail(path in ".{0,40}") {
            let _ = Resource::parse(&path);
            let _ = decode(&path, true);
        }
    }
}
