//! Whether a text has the form of jsonb already, as those have that were written as jsonb: seen in one pass, with nothing made.

use std::ops::Range;

/// A value that is nested more deeply is looked at in another way.
const DEPTH: usize = 32;

/// True of a text that is certain to be as jsonb prints it. Of some others that are it is false: those with `\u`, with a backslash
/// in a key, and those that are nested deeply.
pub fn is_own_jsonb(text: &str) -> bool {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.value().is_some() && scan.at == scan.bytes.len()
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// An array or object whose end has not come.
#[derive(Clone, Copy)]
enum Open {
    Array,
    /// With where its last key stands.
    Object(usize, usize),
}

impl Scan<'_> {
    fn value(&mut self) -> Option<()> {
        let mut open = [Open::Array; DEPTH];
        let mut depth = 0;
        loop {
            match self.next()? {
                b'"' => _ = self.string()?,
                b'[' if !self.eat(b"]") => {
                    *open.get_mut(depth)? = Open::Array;
                    depth += 1;
                    continue;
                }
                b'{' if !self.eat(b"}") => {
                    let key = self.key()?;
                    *open.get_mut(depth)? = Open::Object(key.start, key.end);
                    depth += 1;
                    continue;
                }
                b'[' | b'{' => {}
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                b'-' => {
                    let first = self.next()?;
                    // Zero has no sign.
                    if self.number(first)? {
                        return None;
                    }
                }
                first => _ = self.number(first)?,
            }
            // What ends behind the value.
            loop {
                let Some(container) = depth.checked_sub(1).and_then(|last| open.get_mut(last)) else { return Some(()) };
                if self.eat(b", ") {
                    if let Open::Object(from, to) = container {
                        let before = *from..*to;
                        let key = self.key()?;
                        if !self.is_ascending(before, key.clone()) {
                            return None;
                        }
                        (*from, *to) = (key.start, key.end);
                    }
                    break;
                }
                let end = if matches!(container, Open::Array) { b"]" } else { b"}" };
                self.word(end)?;
                depth -= 1;
            }
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn eat(&mut self, wanted: &[u8]) -> bool {
        let is_there = self.bytes[self.at..].starts_with(wanted);
        self.at += if is_there { wanted.len() } else { 0 };
        is_there
    }

    fn word(&mut self, wanted: &[u8]) -> Option<()> {
        self.eat(wanted).then_some(())
    }

    /// The rest of a string, behind its first quote; gives whether it has a backslash.
    fn string(&mut self) -> Option<bool> {
        let mut is_escaped = false;
        loop {
            match self.next()? {
                b'"' => return Some(is_escaped),
                b'\\' => {
                    if !matches!(self.next()?, b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') {
                        return None;
                    }
                    is_escaped = true;
                }
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    /// A key with what is behind it; gives where its bytes stand.
    fn key(&mut self) -> Option<Range<usize>> {
        self.word(b"\"")?;
        let start = self.at;
        if self.string()? {
            return None;
        }
        let end = self.at - 1;
        self.word(b": ")?;
        Some(start..end)
    }

    /// Keys are in the order of their lengths, then of their bytes, and each is there once.
    fn is_ascending(&self, before: Range<usize>, next: Range<usize>) -> bool {
        let (before, next) = (&self.bytes[before], &self.bytes[next]);
        (before.len(), before) < (next.len(), next)
    }

    /// The rest of a number behind its first digit; gives whether it is zero.
    fn number(&mut self, first: u8) -> Option<bool> {
        if !first.is_ascii_digit() {
            return None;
        }
        let whole = self.digits();
        if first == b'0' && !whole.is_empty() {
            return None;
        }
        let mut is_zero = first == b'0';
        if self.eat(b".") {
            let behind = self.digits();
            if behind.is_empty() {
                return None;
            }
            is_zero &= self.bytes[behind].iter().all(|digit| *digit == b'0');
        }
        (!matches!(self.bytes.get(self.at), Some(b'e' | b'E'))).then_some(is_zero)
    }

    fn digits(&mut self) -> Range<usize> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        start..self.at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::jsonb::canonical;
    use super::*;

    #[test]
    fn what_jsonb_prints_is_its_own_form() {
        for text in [
            "null",
            "true",
            "false",
            "0",
            "0.0",
            "-1",
            "10.50",
            "\"\"",
            "\"a\\\"\\\\\\n\"",
            "[]",
            "{}",
            "[1, [2, {}], \"x\"]",
            "{\"a\": 1, \"b\": [], \"aa\": {\"c\": null}}",
            "\"é\u{1F600}\"",
            "{\"é\": 1}",
        ] {
            assert!(is_own_jsonb(text), "{text}");
            assert_eq!(canonical(text).unwrap(), text);
        }
    }

    #[test]
    fn other_forms_are_not() {
        for text in [
            "",
            " 1",
            "1 ",
            "-0",
            "-0.0",
            "01",
            "1.",
            "1e3",
            "1.5E1",
            ".5",
            "+1",
            "nul",
            "nulls",
            "[1,2]",
            "[1, ]",
            "[ ]",
            "{\"a\":1}",
            "{\"b\": 1, \"a\": 2}",
            "{\"a\": 1, \"a\": 2}",
            "{\"aa\": 1, \"b\": 2}",
            "{a: 1}",
            "{\"a\": 1",
            "[1",
            "\"a",
            "\"\\u0041\"",
            "\"\\/\"",
            "\"\n\"",
            "1, 2",
            "[1]]",
            "{\"a\"}",
            "{\"a\": }",
            "- 1",
            "--1",
        ] {
            assert!(!is_own_jsonb(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_else_is_taken_for_it(text in "[\\[\\]{}\",:.0-2ae\\\\nb -]{0,14}") {
            if is_own_jsonb(&text) {
                prop_assert_eq!(canonical(&text).unwrap(), text);
            }
        }

        #[test]
        fn what_was_made_of_a_text_is_recognised(text in "[\\[\\]{}\",:0-2a ]{0,14}") {
            if let Ok(own) = canonical(&text) {
                prop_assert!(is_own_jsonb(&own), "{}", own);
            }
        }
    }
}
