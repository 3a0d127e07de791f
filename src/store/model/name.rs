//! Names of tables and properties.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::limits::{PROPERTY_NAME_MAX_CHARS, TABLE_NAME_MAX_CHARS, TABLE_NAME_MIN_CHARS};
use super::quoted::Quoted;

/// Why a name is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    #[error(
        "table name {} is not legal: a letter, then letters and digits, {TABLE_NAME_MIN_CHARS} to {TABLE_NAME_MAX_CHARS} in all",
        Quoted(.0)
    )]
    Table(String),
    #[error("table name {} is reserved by the Table service", Quoted(.0))]
    ReservedTable(String),
    #[error(
        "property name {} is not legal: a letter or underscore, then letters, digits and underscores, at most {PROPERTY_NAME_MAX_CHARS}",
        Quoted(.0)
    )]
    Property(String),
    #[error("property name {} is reserved for the system", Quoted(.0))]
    ReservedProperty(String),
}

/// The name of a table: 3 to 63 ASCII letters and digits, a letter first. Keeps its spelling; two names that differ
/// only in case are the same table, so `Eq`, `Ord` and `Hash` ignore case.
#[derive(Clone)]
pub struct TableName(Arc<str>);

impl TableName {
    /// # Errors
    /// [`NameError::Table`] for a shape the service refuses, [`NameError::ReservedTable`] for `tables`.
    pub fn parse(raw: &str) -> Result<Self, NameError> {
        let legal = (TABLE_NAME_MIN_CHARS..=TABLE_NAME_MAX_CHARS).contains(&raw.len())
            && raw.bytes().all(|b| b.is_ascii_alphanumeric())
            && raw.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        if !legal {
            return Err(NameError::Table(raw.to_owned()));
        }
        if raw.eq_ignore_ascii_case("tables") {
            return Err(NameError::ReservedTable(raw.to_owned()));
        }
        Ok(Self(raw.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form under which two spellings of one table are equal.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl PartialEq for TableName {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for TableName {}

impl std::hash::Hash for TableName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
    }
}

impl PartialOrd for TableName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TableName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.bytes().map(|b| b.to_ascii_lowercase()).cmp(other.0.bytes().map(|b| b.to_ascii_lowercase()))
    }
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableName({})", self.0)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a custom property: C# identifier rules, at most 255 characters, case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyName(Arc<str>);

impl PropertyName {
    /// Whether a character may stand in a name, behind the first one: letters, digits, and what joins or marks them, as the vowels of
    /// Thai and accents on their own.
    pub fn may_hold(c: char) -> bool {
        c.is_alphanumeric() || unicode_ident::is_xid_continue(c)
    }

    /// # Errors
    /// [`NameError::Property`] for a shape the service refuses, [`NameError::ReservedProperty`] for `PartitionKey`,
    /// `RowKey` and `Timestamp`, which are not custom properties.
    pub fn parse(raw: &str) -> Result<Self, NameError> {
        let mut chars = raw.chars();
        let legal = chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
            && chars.all(Self::may_hold)
            && raw.chars().count() <= PROPERTY_NAME_MAX_CHARS;
        if !legal {
            return Err(NameError::Property(raw.to_owned()));
        }
        if matches!(raw, "PartitionKey" | "RowKey" | "Timestamp") {
            return Err(NameError::ReservedProperty(raw.to_owned()));
        }
        Ok(Self(raw.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_follow_the_service() {
        for good in ["abc", "Orders2024", &"a".repeat(63)] {
            assert!(TableName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "ab", "1abc", "order_items", "größe", "a b", &"a".repeat(64)] {
            assert!(matches!(TableName::parse(bad), Err(NameError::Table(_))), "{bad}");
        }
        assert!(matches!(TableName::parse("Tables"), Err(NameError::ReservedTable(_))));
    }

    #[test]
    fn table_names_keep_their_spelling_and_ignore_case() {
        let (a, b) = (TableName::parse("Orders").unwrap(), TableName::parse("orders").unwrap());
        assert_eq!(a, b);
        assert_eq!(a.as_str(), "Orders");
    }

    #[test]
    fn property_names_are_identifiers_and_case_sensitive() {
        for good in ["Age", "_x1", "Größe", "ชื่อ", "cafe\u{301}", &"p".repeat(255)] {
            assert!(PropertyName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1x", "a-b", "a b", "a\u{1}", "\u{301}a", &"p".repeat(256)] {
            assert!(matches!(PropertyName::parse(bad), Err(NameError::Property(_))), "{bad}");
        }
        assert!(matches!(PropertyName::parse("RowKey"), Err(NameError::ReservedProperty(_))));
        assert_ne!(PropertyName::parse("Age").unwrap(), PropertyName::parse("age").unwrap());
    }
}
