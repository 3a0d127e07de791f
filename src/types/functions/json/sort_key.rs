//! The order of jsonb, as bytes that compare as PostgreSQL compares the values.
//!
//! An object is greater than an array, that than `true` and `false`, then come numbers, texts and null. Containers with more
//! members are greater, then their members decide one after the other; numbers are compared by value, texts by their bytes.
//! An empty array that is the whole value is less than anything else: so it has always been in PostgreSQL.

use super::cursor::{Json, Kind};
use crate::stack::deeper;

/// The kind of a whole value. PostgreSQL treats a scalar as an array of one item that sorts before real arrays.
const EMPTY: u8 = 0;
const SCALAR: u8 = 1;
const ARRAY: u8 = 2;
const OBJECT: u8 = 3;

/// Ends texts and numbers: no byte of theirs is less.
const END: u8 = 0;

/// Adds the key of a value, given in the form that jsonb has.
pub fn sort_key(text: &str, out: &mut Vec<u8>) {
    let json = Json::new(text);
    match json.kind() {
        Kind::Object => {
            out.push(OBJECT);
            members(json, out);
        }
        Kind::Array if json.items().next().is_none() => out.push(EMPTY),
        Kind::Array => {
            out.push(ARRAY);
            items(json, out);
        }
        Kind::String | Kind::Number | Kind::Bool | Kind::Null => {
            out.push(SCALAR);
            value(json, out);
        }
    }
}

fn value(json: Json<'_>, out: &mut Vec<u8>) {
    match json.kind() {
        Kind::Null => out.push(1),
        Kind::String => {
            out.push(2);
            content(json, out);
        }
        Kind::Number => {
            out.push(3);
            number(json.text(), out);
        }
        Kind::Bool => out.extend([4, u8::from(json.text() == "true")]),
        Kind::Array => {
            out.push(5);
            items(json, out);
        }
        Kind::Object => {
            out.push(6);
            members(json, out);
        }
    }
}

fn items(array: Json<'_>, out: &mut Vec<u8>) {
    count(array.items().count(), out);
    array.items().for_each(|item| deeper(|| value(item, out)));
}

/// Keys are in the order they are stored in, shorter ones first: they are compared one after the other all the same.
fn members(object: Json<'_>, out: &mut Vec<u8>) {
    count(object.members().count(), out);
    for (key, member) in object.members() {
        content(key, out);
        deeper(|| value(member, out));
    }
}

fn count(members: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(members).unwrap_or(u32::MAX).to_be_bytes());
}

/// A text, in which jsonb allows no zero byte.
fn content(text: Json<'_>, out: &mut Vec<u8>) {
    out.extend(text.content().as_bytes());
    out.push(END);
}

/// A number: its sign, the place of its first digit, and its digits without the zeros around them. Of a negative one all
/// is inverted.
fn number(text: &str, out: &mut Vec<u8>) {
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let behind = fraction.trim_start_matches('0');
    // Zeros at the end of the one part do not count if there are no digits in the other, and so at its beginning.
    let (digits, more) = match (whole.is_empty(), fraction.is_empty()) {
        (true, true) => return out.push(1),
        (true, false) => (behind, ""),
        (false, true) => (whole.trim_end_matches('0'), ""),
        (false, false) => (whole, fraction),
    };
    let zeros = if whole.is_empty() { fraction.len() - behind.len() } else { 0 };
    let place = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let first = place(whole.len()) - place(zeros);
    // Negative places come before others.
    let first = first.cast_unsigned() ^ (1 << 63);
    let start = out.len();
    out.push(2);
    out.extend(first.to_be_bytes());
    out.extend(digits.bytes().chain(more.bytes()));
    out.push(END);
    if is_negative {
        // 2 becomes 0, which is less than the 1 of zero.
        out[start] = 0;
        out[start + 1..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key(text, &mut out);
        out
    }

    /// As PostgreSQL 15 sorts them.
    #[test]
    fn values_are_in_the_order_of_postgresql() {
        let sorted = [
            "[]",
            "null",
            "\"\"",
            "\"B\"",
            "\"a\"",
            "\"ab\"",
            "\"é\"",
            "-100",
            "-99.5",
            "-1",
            "-0.01",
            "0",
            "0.001",
            "0.01",
            "0.1",
            "1",
            "1.05",
            "9",
            "10",
            "100000000000000000000000",
            "false",
            "true",
            "[null]",
            "[1]",
            "[true]",
            "[[]]",
            "[{}]",
            "[1, 2]",
            "[1, \"a\", 3]",
            "[1, 2, 3]",
            "{}",
            "{\"a\": null}",
            "{\"a\": 1}",
            "{\"b\": 0}",
            "{\"a\": 1, \"bb\": 2}",
        ];
        for pair in sorted.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (a, b) in [("1", "1.00"), ("0", "-0.0"), ("[2.50]", "[2.5]"), ("{\"a\": 10}", "{\"a\": 10.0}")] {
            assert_eq!(key(a), key(b), "{a} = {b}");
        }
        assert_ne!(key("10"), key("1"));
    }
}
