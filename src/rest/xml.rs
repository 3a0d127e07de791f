//! The little XML that the service speaks: elements with texts, in requests and answers about the service itself.
//!
//! Nothing is looked up outside the text: there are no document types, and no entities but the five that XML has.

use crate::error::{Refusal, RestResult};

/// Elements inside each other, and all together: far more than any document here has.
const DEPTH_MAX: usize = 16;
const ELEMENTS_MAX: usize = 1000;

/// An element. Attributes mean nothing here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    /// Without its prefix.
    pub name: String,
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// Reads a document.
    ///
    /// # Errors
    /// For what is none.
    pub(crate) fn parse(document: &[u8]) -> RestResult<Self> {
        let text = std::str::from_utf8(document).map_err(|_| Refusal::InvalidXml)?;
        let mut reader = Reader { rest: text.trim_start_matches('\u{feff}'), elements: 0 };
        reader.skip_around()?;
        let element = reader.element(0)?;
        reader.skip_around()?;
        if reader.rest.is_empty() { Ok(element) } else { Err(Refusal::InvalidXml) }
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of a child, without the space around it.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim())
    }
}

struct Reader<'a> {
    rest: &'a str,
    elements: usize,
}

impl<'a> Reader<'a> {
    /// Steps over space, declarations and comments.
    fn skip_around(&mut self) -> RestResult<()> {
        loop {
            self.rest = self.rest.trim_start();
            let end = match self.rest {
                rest if rest.starts_with("<?") => "?>",
                rest if rest.starts_with("<!--") => "-->",
                _ => return Ok(()),
            };
            self.until(end)?;
        }
    }

    /// What stands before `end`; both are stepped over.
    fn until(&mut self, end: &str) -> RestResult<&'a str> {
        let (before, behind) = self.rest.split_once(end).ok_or(Refusal::InvalidXml)?;
        self.rest = behind;
        Ok(before)
    }

    fn element(&mut self, depth: usize) -> RestResult<Element> {
        self.elements += 1;
        if depth == DEPTH_MAX || self.elements > ELEMENTS_MAX {
            return Err(Refusal::InvalidXml);
        }
        self.rest = self.rest.strip_prefix('<').ok_or(Refusal::InvalidXml)?;
        let tag = self.until(">")?;
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let full_name = tag.split_whitespace().next().unwrap_or_default();
        let name = full_name.rsplit(':').next().unwrap_or_default();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        if !is_name || tag.contains('<') {
            return Err(Refusal::InvalidXml);
        }
        let mut element = Element { name: name.to_owned(), ..Element::default() };
        if is_empty {
            return Ok(element);
        }
        loop {
            let at = self.rest.find('<').ok_or(Refusal::InvalidXml)?;
            let (text, rest) = self.rest.split_at(at);
            element.text.push_str(&unescaped(text)?);
            self.rest = rest;
            if let Some(behind) = rest.strip_prefix("</") {
                self.rest = behind;
                return if self.until(">")?.trim_end() == full_name { Ok(element) } else { Err(Refusal::InvalidXml) };
            }
            if rest.starts_with("<!--") {
                self.until("-->")?;
            } else if let Some(behind) = rest.strip_prefix("<![CDATA[") {
                self.rest = behind;
                element.text.push_str(self.until("]]>")?);
            } else {
                element.children.push(self.element(depth + 1)?);
            }
        }
    }
}

fn unescaped(text: &str) -> RestResult<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        let (name, behind) = behind.split_once(';').ok_or(Refusal::InvalidXml)?;
        plain.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            numeric => {
                let number = match numeric.strip_prefix("#x") {
                    Some(digits) => u32::from_str_radix(digits, 16).ok(),
                    None => numeric.strip_prefix('#').and_then(|digits| digits.parse().ok()),
                };
                number.and_then(char::from_u32).ok_or(Refusal::InvalidXml)?
            }
        });
        rest = behind;
    }
    plain.push_str(rest);
    Ok(plain)
}

/// A text as it stands in an element.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// An element with a text in it.
pub(crate) fn leaf(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>", escaped(text))
}

/// A document with this in its outermost element.
pub(crate) fn document(name: &str, inner: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><{name}>{inner}</{name}>")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn elements_are_read_with_their_texts() {
        let text = "\u{feff}<?xml version='1.0'?><!-- x --><a:B xmlns:a=\"u\"><C>1 &lt; 2 &#65;</C><D/> <E><![CDATA[<x>]]></E></a:B>\n";
        let element = Element::parse(text.as_bytes()).unwrap();
        assert_eq!(element.name, "B");
        assert_eq!(
            (element.text_of("C"), element.text_of("D"), element.text_of("E")),
            (Some("1 < 2 A"), Some(""), Some("<x>"))
        );
        assert_eq!(element.text_of("F"), None);
    }

    #[test]
    fn what_is_no_document_is_refused() {
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        for text in ["", "x", "<a>", "<a></b>", "<a></a><b/>", "<a>&x;</a>", "<!DOCTYPE a><a/>", "<a", "<>", &deep] {
            assert_eq!(Element::parse(text.as_bytes()), Err(Refusal::InvalidXml), "{:.40}", text);
        }
    }

    proptest! {
        #[test]
        fn a_text_is_read_as_it_was_written(text in "[^\r]{0,20}") {
            let written = document("a", &leaf("b", &text));
            let read = Element::parse(written.as_bytes()).unwrap();
            prop_assert_eq!(&read.child("b").unwrap().text, &text);
        }

        #[test]
        fn no_text_makes_it_fail(text in "[<>/!a&;\\-\\[\\]C]{0,30}") {
            let _ = Element::parse(text.as_bytes());
        }
    }
}
