//! The keys of rows as bytes, in the order of entities.
//!
//! A row's key is the table's number (4 bytes, the highest first), the PartitionKey, a zero byte, the RowKey. Keys hold
//! no control characters, so the zero byte sorts before everything a longer PartitionKey could go on with, and byte
//! order is the order of (PartitionKey, RowKey). The byte 0xff never occurs in UTF-8 and stands for "after everything".

use std::cmp::Ordering;

use tablegate_store::model::{Cut, EntityKey, Span};

/// Bytes of the table's number.
pub(super) const NUMBER_BYTES: usize = 4;
/// The least first byte of the numbers of tables whose rows were written ahead, behind those of others.
const LOADED: u8 = 0x80;
/// The least of these numbers.
const FIRST_LOADED: u32 = u32::from_be_bytes([LOADED, 0, 0, 0]);
/// The first byte of the numbers of the gateway's own tables, behind those of all others.
const OWN: u8 = 0xff;
/// The least of these numbers.
const FIRST_OWN: u32 = u32::from_be_bytes([OWN, 0, 0, 0]);
/// So many tables have numbers, and no more.
pub(super) const COUNT_MAX: u32 = FIRST_OWN - FIRST_LOADED;
const END_OF_PARTITION: u8 = 0x00;
/// Sorts behind [`END_OF_PARTITION`] and before every character of a key.
const AFTER_PARTITION: u8 = 0x01;
const AFTER_ALL: u8 = 0xff;

/// What lies at or after `from` and before `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteSpan {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
}

impl ByteSpan {
    pub(super) fn is_empty(&self) -> bool {
        self.from >= self.to
    }
}

/// What tells apart the numbers of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Plain,
    /// Of a table whose rows were written ahead.
    Loaded,
    /// Of one of the gateway's own tables.
    Own,
}

impl NumberKind {
    /// That of the table which a row's key, or an end of a span, is of.
    pub(super) fn of_key(key: &[u8]) -> Self {
        match key.first() {
            Some(&OWN) => Self::Own,
            Some(LOADED..) => Self::Loaded,
            _ => Self::Plain,
        }
    }

    /// The number of the `count`th table, which is below [`COUNT_MAX`]; `None` where there are not so many of a kind.
    pub(super) fn number(self, count: u32) -> Option<u32> {
        self.first().checked_add(count)
    }

    fn first(self) -> u32 {
        match self {
            Self::Plain => 0,
            Self::Loaded => FIRST_LOADED,
            Self::Own => FIRST_OWN,
        }
    }

    /// The count that a number was made of.
    pub(super) fn count_of(number: u32) -> u32 {
        number - Self::of_key(&number.to_be_bytes()).first()
    }
}

/// The key of one entity.
pub(super) fn of_entity(table: u32, key: &EntityKey) -> Vec<u8> {
    of_row(table, key.partition.as_str(), key.row.as_str())
}

pub(super) fn of_row(table: u32, partition: &str, row: &str) -> Vec<u8> {
    let mut bytes = start_of_partition(table, partition);
    bytes.extend_from_slice(row.as_bytes());
    bytes
}

/// Appends the key of a row.
pub(super) fn put_keys(out: &mut Vec<u8>, table: u32, partition: &str, row: &str) {
    out.extend_from_slice(&table.to_be_bytes());
    out.extend_from_slice(partition.as_bytes());
    out.push(END_OF_PARTITION);
    out.extend_from_slice(row.as_bytes());
}

/// What is before every row of the partition, and behind every lesser partition.
pub(super) fn start_of_partition(table: u32, partition: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + partition.len() + 1 + 32);
    bytes.extend_from_slice(&table.to_be_bytes());
    bytes.extend_from_slice(partition.as_bytes());
    bytes.push(END_OF_PARTITION);
    bytes
}

/// What is behind every row of the partition, and before every greater partition.
pub(super) fn end_of_partition(table: u32, partition: &str) -> Vec<u8> {
    let mut bytes = start_of_partition(table, partition);
    bytes.pop();
    bytes.push(AFTER_PARTITION);
    bytes
}

/// All rows of the partitions in the span.
pub(super) fn of_partitions(table: u32, span: &Span) -> ByteSpan {
    ByteSpan { from: partition_cut(table, &span.from), to: partition_cut(table, &span.to) }
}

/// The rows in the span, of one partition. No legal key looks like one of another partition, whatever the span's texts.
pub(super) fn of_rows(table: u32, partition: &str, span: &Span) -> ByteSpan {
    ByteSpan { from: row_cut(table, partition, &span.from), to: row_cut(table, partition, &span.to) }
}

/// PartitionKey and RowKey of a row's key; `None` when the bytes are no such key.
pub(super) fn parse(bytes: &[u8]) -> Option<(&str, &str)> {
    let (_, keys) = bytes.split_at_checked(4)?;
    let end = keys.iter().position(|byte| *byte == END_OF_PARTITION)?;
    let (partition, row) = (keys.get(..end)?, keys.get(end + 1..)?);
    Some((std::str::from_utf8(partition).ok()?, std::str::from_utf8(row).ok()?))
}

/// Where the row lies against bytes of the same table: a row's key, or an end of a [`ByteSpan`].
pub(super) fn compare(partition: &str, row: &str, bytes: &[u8]) -> Ordering {
    let keys = bytes.get(4..).unwrap_or_default();
    let Some((start, rest)) = keys.split_at_checked(partition.len()) else {
        // The bytes end within the PartitionKey.
        let start = partition.as_bytes().get(..keys.len()).unwrap_or_default();
        return start.cmp(keys).then(Ordering::Greater);
    };
    let of_row = || match rest.split_first() {
        None => Ordering::Greater,
        Some((end, rest)) => END_OF_PARTITION.cmp(end).then_with(|| row.as_bytes().cmp(rest)),
    };
    partition.as_bytes().cmp(start).then_with(of_row)
}

/// Whether some key can have this text at all, as far as order is concerned.
pub(super) fn has_control_character(text: &str) -> bool {
    text.bytes().any(|byte| byte < 0x20)
}

fn partition_cut(table: u32, cut: &Cut) -> Vec<u8> {
    let mut bytes = table.to_be_bytes().to_vec();
    let (text, end) = match cut {
        Cut::Min => ("", None),
        Cut::Max => ("", Some(AFTER_ALL)),
        Cut::Before(text) | Cut::After(text) | Cut::AfterPrefix(text) if has_control_character(text) => {
            // No key has this text or begins with it. The keys left of the cut are those up to the part before the
            // control character, itself included: whatever goes on behind that part is greater.
            let length = text.bytes().position(|byte| byte < 0x20).unwrap_or_default();
            (text.get(..length).unwrap_or_default(), Some(AFTER_PARTITION))
        }
        Cut::Before(text) => (&**text, None),
        Cut::After(text) => (&**text, Some(AFTER_PARTITION)),
        Cut::AfterPrefix(text) => (&**text, Some(AFTER_ALL)),
    };
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend(end);
    bytes
}

fn row_cut(table: u32, partition: &str, cut: &Cut) -> Vec<u8> {
    let (text, end) = match cut {
        Cut::Min => ("", None),
        Cut::Max => ("", Some(AFTER_ALL)),
        Cut::Before(text) => (&**text, None),
        // The least string behind this one.
        Cut::After(text) => (&**text, Some(0x00)),
        Cut::AfterPrefix(text) => (&**text, Some(AFTER_ALL)),
    };
    let mut bytes = of_row(table, partition, text);
    bytes.extend(end);
    bytes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use tablegate_store::model::is_legal_in_keys;

    fn text() -> impl Strategy<Value = String> {
        "[ !abé\u{d7ff}\u{e000}\u{10ffff}]{0,3}"
    }

    fn key() -> impl Strategy<Value = EntityKey> {
        (text(), text()).prop_map(|(partition, row)| EntityKey::parse(&partition, &row).unwrap())
    }

    /// Cuts come from SQL: their texts may hold what no key does.
    fn cut() -> impl Strategy<Value = Cut> {
        let text = "[ ab\u{0}\u{1}\u{1f}é\u{10ffff}]{0,3}".prop_map(|s: String| Arc::<str>::from(s));
        prop_oneof![
            Just(Cut::Min),
            Just(Cut::Max),
            text.clone().prop_map(Cut::Before),
            text.clone().prop_map(Cut::After),
            text.prop_map(Cut::AfterPrefix),
        ]
    }

    fn holds(span: &ByteSpan, bytes: &[u8]) -> bool {
        span.from.as_slice() <= bytes && bytes < span.to.as_slice()
    }

    proptest! {
        #[test]
        fn bytes_order_as_entities_do(a in key(), b in key(), tables in (0_u32..3, 0_u32..3)) {
            let bytes = of_entity(tables.0, &a).cmp(&of_entity(tables.1, &b));
            prop_assert_eq!(bytes, tables.0.cmp(&tables.1).then_with(|| a.cmp(&b)));
        }

        #[test]
        fn keys_survive(key in key(), table in any::<u32>()) {
            let bytes = of_entity(table, &key);
            prop_assert_eq!(parse(&bytes), Some(key.as_pair()));
        }

        #[test]
        fn spans_of_partitions_hold_what_they_should(key in key(), from in cut(), to in cut()) {
            let span = Span { from, to };
            let bytes = of_entity(7, &key);
            prop_assert_eq!(holds(&of_partitions(7, &span), &bytes), span.contains(key.partition.as_str()));
            prop_assert!(!holds(&of_partitions(6, &span), &bytes) && !holds(&of_partitions(8, &span), &bytes));
        }

        #[test]
        fn spans_of_rows_hold_what_they_should(key in key(), partition in text(), from in cut(), to in cut()) {
            let span = Span { from, to };
            let expected = partition == key.partition.as_str() && span.contains(key.row.as_str());
            prop_assert_eq!(holds(&of_rows(7, &partition, &span), &of_entity(7, &key)), expected);
        }

        #[test]
        fn a_partition_lies_between_its_ends(key in key(), partition in text()) {
            let span = ByteSpan { from: start_of_partition(1, &partition), to: end_of_partition(1, &partition) };
            prop_assert_eq!(holds(&span, &of_entity(1, &key)), partition == key.partition.as_str());
        }

        #[test]
        fn rows_compare_as_their_bytes(a in key(), b in key(), cut in cut()) {
            let ends = [of_entity(7, &b), partition_cut(7, &cut), row_cut(7, b.partition.as_str(), &cut)];
            for end in ends {
                let (partition, row) = a.as_pair();
                prop_assert_eq!(compare(partition, row, &end), of_entity(7, &a).cmp(&end), "{:?}", end);
            }
        }

        #[test]
        fn garbage_is_no_key_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let _ = parse(&bytes);
        }
    }

    #[test]
    fn the_separators_are_not_legal_in_keys() {
        assert!(!is_legal_in_keys('\u{0}') && !is_legal_in_keys('\u{1}'));
    }
}
