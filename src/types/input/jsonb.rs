//! The form that jsonb has: one blank behind `:` and `,`, keys once and by length, numbers without exponent.
//!
//! A value is read into a flat table of its parts and written out of it, without a call within a call: how deeply it is
//! nested takes no stack, and each of its bytes is copied once.

use std::borrow::Cow;
use std::ops::Range;

use super::json::{Reader, check, check_is_text, write_string};
use crate::allowance::Allowance;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::grown::Grown;
use crate::interrupt;

/// As jsonb prints it.
///
/// # Errors
/// 22P02 when the text is not JSON, 54001 when it is nested too deeply, 54000 or 53200 when it has more parts than there is
/// memory for.
pub fn canonical(text: &str) -> SqlResult<String> {
    check(text)?;
    let parts = Parts::read(text)?;
    let allowance = Allowance::now();
    let length = text.len() + text.len() / 8;
    allowance.check(length)?;
    let mut out = String::with_capacity(length);
    parts.write(&mut out)?;
    Ok(out)
}

fn invalid() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidTextRepresentation, "invalid input syntax for type json")
}

/// The key that comes next in an object.
fn key_of<'a>(reader: &mut Reader<'a>, is_object: bool) -> SqlResult<Cow<'a, str>> {
    let key = reader.key_of(is_object).ok_or_else(invalid)?;
    check_is_text(&key)?;
    Ok(key)
}

/// The parts of a value, inner ones first: the last one is the value.
#[derive(Default)]
struct Parts<'a> {
    parts: Grown<Part<'a>>,
    /// Items and members; those of one array or object lie together.
    children: Grown<Child<'a>>,
}

enum Part<'a> {
    String(Cow<'a, str>),
    /// A number or a word, as written.
    Bare(&'a str),
    /// Its items among the children.
    Array(Range<usize>),
    /// Its members among the children, as they are written out.
    Object(Range<usize>),
}

struct Child<'a> {
    /// Empty for an item.
    key: Cow<'a, str>,
    /// Its place among the parts.
    part: usize,
}

/// An array or object that is being read.
struct Open<'a> {
    is_object: bool,
    /// Of the container itself.
    key: Cow<'a, str>,
    /// Where its own items or members begin.
    first: usize,
}

impl<'a> Parts<'a> {
    /// Takes apart a text that is JSON.
    fn read(text: &'a str) -> SqlResult<Self> {
        let mut reader = Reader::new(text);
        let mut read = Parts::default();
        let (mut open, mut found): (Vec<Open<'a>>, Grown<Child<'a>>) = Default::default();
        let mut key = Cow::Borrowed("");
        loop {
            reader.blanks();
            match reader.peek().ok_or_else(invalid)? {
                byte @ (b'{' | b'[') => {
                    reader.eat(byte);
                    let is_object = byte == b'{';
                    open.push(Open { is_object, key: std::mem::take(&mut key), first: found.len() });
                    reader.blanks();
                    if !matches!(reader.peek().ok_or_else(invalid)?, b'}' | b']') {
                        key = key_of(&mut reader, is_object)?;
                        continue;
                    }
                }
                b'"' => {
                    let content = reader.string().ok_or_else(invalid)?;
                    check_is_text(&content)?;
                    let part = Part::String(content);
                    found.push(read.child(std::mem::take(&mut key), part)?)?;
                }
                _ => found.push(read.child(std::mem::take(&mut key), Part::Bare(reader.bare()))?)?,
            }
            // What ends behind the value.
            loop {
                let Some(container) = open.last() else { return Ok(read) };
                reader.blanks();
                if reader.eat(b',') {
                    reader.blanks();
                    key = key_of(&mut reader, container.is_object)?;
                    break;
                }
                let end = if container.is_object { b'}' } else { b']' };
                reader.eat(end).then_some(()).ok_or_else(invalid)?;
                let Open { is_object, key, first } = open.pop().ok_or_else(invalid)?;
                let own = found.drain_from(first);
                let part = if is_object { read.object(own)? } else { Part::Array(read.adopted(own)?) };
                found.push(read.child(key, part)?)?;
            }
        }
    }

    fn child(&mut self, key: Cow<'a, str>, part: Part<'a>) -> SqlResult<Child<'a>> {
        self.parts.push(part)?;
        Ok(Child { key, part: self.parts.len() - 1 })
    }

    fn adopted(&mut self, children: impl ExactSizeIterator<Item = Child<'a>>) -> SqlResult<Range<usize>> {
        let start = self.children.len();
        self.children.extend(children)?;
        Ok(start..self.children.len())
    }

    fn object(&mut self, members: impl ExactSizeIterator<Item = Child<'a>>) -> SqlResult<Part<'a>> {
        let all = self.adopted(members)?;
        let members = &mut self.children[all.clone()];
        // The last of equal keys counts: the sort is stable, so it is the last of its run.
        members.sort_by(|a, b| a.key.len().cmp(&b.key.len()).then_with(|| a.key.cmp(&b.key)));
        let mut kept = all.start;
        for place in all.clone() {
            if place + 1 < all.end && self.children[place].key == self.children[place + 1].key {
                continue;
            }
            self.children.swap(kept, place);
            kept += 1;
        }
        self.children.truncate(kept);
        Ok(Part::Object(all.start..kept))
    }

    fn write(&self, out: &mut String) -> SqlResult<()> {
        /// An array or object that is being written: the children that are left.
        struct Writing {
            left: Range<usize>,
            is_object: bool,
            is_first: bool,
        }
        let mut open: Vec<Writing> = Vec::new();
        let Some(mut part) = self.parts.last() else { return Ok(()) };
        loop {
            interrupt::check()?;
            match part {
                Part::String(text) => write_string(out, text),
                Part::Bare(word @ ("true" | "false" | "null")) => out.push_str(word),
                Part::Bare(number) => write_number(out, number),
                Part::Array(items) => {
                    out.push('[');
                    open.push(Writing { left: items.clone(), is_object: false, is_first: true });
                }
                Part::Object(members) => {
                    out.push('{');
                    open.push(Writing { left: members.clone(), is_object: true, is_first: true });
                }
            }
            part = loop {
                let Some(container) = open.last_mut() else { return Ok(()) };
                let Some(next) = container.left.next() else {
                    out.push(if container.is_object { '}' } else { ']' });
                    open.pop();
                    continue;
                };
                if !std::mem::take(&mut container.is_first) {
                    out.push_str(", ");
                }
                let child = &self.children[next];
                if container.is_object {
                    write_string(out, &child.key);
                    out.push_str(": ");
                }
                break &self.parts[child.part];
            };
        }
    }
}

impl<'a> Reader<'a> {
    /// The key that a member of an object begins with; empty for an item of an array.
    fn key_of(&mut self, is_object: bool) -> Option<Cow<'a, str>> {
        if !is_object {
            return Some(Cow::Borrowed(""));
        }
        let key = self.string()?;
        self.blanks();
        self.eat(b':').then_some(key)
    }
}

/// Without exponent, keeping the digits behind the point; zero has no sign.
fn write_number(out: &mut String, number: &str) {
    /// Farther than this a number is left as it is written.
    const FARTHEST: i64 = 2_000;
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let Some(exponent) = exponent.parse::<i64>().ok().filter(|e| e.abs() <= FARTHEST) else {
        out.push_str(number);
        return;
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let point = i64::try_from(whole.len()).unwrap_or(0) + exponent;
    let (before, behind) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => {
            let zeros = "0".repeat(point - digits.len());
            (digits.clone() + &zeros, String::new())
        }
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
        Err(_) => (String::new(), "0".repeat(usize::try_from(-point).unwrap_or(0)) + &digits),
    };
    if digits.bytes().any(|b| b != b'0') {
        out.push_str(sign);
    }
    let before = before.trim_start_matches('0');
    out.push_str(if before.is_empty() { "0" } else { before });
    if !behind.is_empty() {
        out.push('.');
        out.push_str(&behind);
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::MAX_JSON_DEPTH;
    use super::*;

    #[test]
    fn jsonb_has_postgresqls_form() {
        let long = "7".repeat(100_000);
        for (text, expected) in [
            (
                "{\"b\":1.10, \"aa\":[1,2,{\"x\":\"\\u0041\\n\"}],\"b\":1e2, \"z\":null, \"n\":-0, \"e\":1.5e-3}",
                "{\"b\": 100, \"e\": 0.0015, \"n\": 0, \"z\": null, \"aa\": [1, 2, {\"x\": \"A\\n\"}]}",
            ),
            (" [ ] ", "[]"),
            ("{}", "{}"),
            ("1.10e1", "11.0"),
            ("-0.0", "0.0"),
            ("1E+2", "100"),
            (long.as_str(), long.as_str()),
            ("\"a\\/b\\u0001\"", "\"a/b\\u0001\""),
        ] {
            assert_eq!(canonical(text).unwrap(), expected);
        }
    }

    #[test]
    fn depth_takes_no_stack() {
        let depth = MAX_JSON_DEPTH / 2;
        let (open, close) = ("[{\"a\": ".repeat(depth), "}]".repeat(depth));
        let text = format!("{open}1{close}");
        let read = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            let written = canonical(&text).unwrap();
            written == text
        });
        assert!(read.unwrap().join().unwrap());
    }

    #[test]
    fn the_last_of_equal_keys_counts_in_each_object() {
        let text =
            "{\"b\": 1, \"a\": {\"x\": 1, \"x\": 2}, \"b\": [{}, {\"y\": 3, \"y\": {}}], \"a\": {\"z\": 0, \"x\": 5}}";
        assert_eq!(canonical(text).unwrap(), "{\"a\": {\"x\": 5, \"z\": 0}, \"b\": [{}, {\"y\": {}}]}");
    }
}
