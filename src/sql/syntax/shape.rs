//! The shape of a statement: its text with constants as `?`, so that all runs of one piece of an application are one.
//!
//! Lists are folded too, or each length of an IN list and each number of rows in an INSERT would be a shape of its own.
//! It is made from tokens, not from a parsed statement: what the application wrote should be found again in its source.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer, Word};

/// The shape of a statement that was parsed before; a text that is no SQL is its own shape.
pub(crate) fn shape_of(text: &str) -> String {
    match Tokenizer::new(&PostgreSqlDialect {}, text).tokenize() {
        Ok(tokens) => {
            let mut shape = Shape::default();
            tokens.iter().for_each(|token| shape.push(token));
            shape.text()
        }
        Err(_) => text.to_owned(),
    }
}

#[derive(Default)]
struct Shape {
    pieces: Vec<Piece>,
    /// Where each open parenthesis stands.
    open: Vec<usize>,
    /// White space was read since the last piece.
    spaced: bool,
}

struct Piece {
    text: String,
    /// A space comes before it.
    spaced: bool,
}

impl Shape {
    fn push(&mut self, token: &Token) {
        match token {
            Token::Whitespace(_) => self.spaced = true,
            Token::EOF => {}
            Token::LParen => {
                self.open.push(self.pieces.len());
                self.add("(".to_owned());
            }
            Token::RParen => {
                self.spaced = false;
                self.add(")".to_owned());
                self.fold_groups();
            }
            Token::Comma => {
                self.spaced = false;
                self.add(",".to_owned());
                self.spaced = true;
            }
            token if self.is_constant(token) => self.add_constant(),
            Token::Word(word) if word.quote_style.is_none() => self.add(word.value.to_lowercase()),
            other => self.add(other.to_string()),
        }
    }

    /// Whether the token is a value. NULL, TRUE and FALSE are keywords elsewhere, but in a list they are values.
    fn is_constant(&self, token: &Token) -> bool {
        match token {
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Placeholder(_) => true,
            Token::Word(Word { value, quote_style: None, .. }) => {
                self.in_list() && ["null", "true", "false", "default"].iter().any(|w| value.eq_ignore_ascii_case(w))
            }
            _ => false,
        }
    }

    /// Whether a value may come next in a list.
    fn in_list(&self) -> bool {
        self.ends_with(&["("]) || self.ends_with(&[","])
    }

    fn add_constant(&mut self) {
        // The sign of a number in a list belongs to it.
        if self.ends_with(&["(", "-"]) || self.ends_with(&[",", "-"]) {
            self.spaced = self.pieces.pop().is_some_and(|sign| sign.spaced);
        }
        if self.ends_with(&["?", ","]) {
            self.pieces.pop();
            self.spaced = false;
            self.add(", ...".to_owned());
        } else if self.ends_with(&[", ...", ","]) {
            self.pieces.pop();
        } else {
            self.add("?".to_owned());
        }
        self.spaced = false;
    }

    /// A group in parentheses behind one of the same shape: the rows of a VALUES list.
    fn fold_groups(&mut self) {
        let Some(start) = self.open.pop() else { return };
        let (before, group) = self.pieces.split_at(start);
        let [earlier @ .., comma] = before else { return };
        let (earlier, folded) = match earlier {
            [earlier @ .., dots] if dots.text == ", ..." => (earlier, true),
            earlier => (earlier, false),
        };
        let same = comma.text == ","
            && group.len() > 2
            && earlier.len() >= group.len()
            && earlier[earlier.len() - group.len()..].iter().zip(group).all(|(a, b)| a.text == b.text);
        if same {
            self.pieces.truncate(start - 1);
            if !folded {
                self.add(", ...".to_owned());
            }
        }
    }

    fn add(&mut self, text: String) {
        let spaced = std::mem::take(&mut self.spaced) && !self.pieces.is_empty() && !self.ends_with(&["("]);
        self.pieces.push(Piece { text, spaced });
    }

    fn ends_with(&self, texts: &[&str]) -> bool {
        let Some(start) = self.pieces.len().checked_sub(texts.len()) else { return false };
        self.pieces[start..].iter().zip(texts).all(|(piece, text)| piece.text == *text)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            if piece.spaced {
                text.push(' ');
            }
            text.push_str(&piece.text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_spacing_do_not_matter() {
        for text in [
            "UPDATE t SET a = a + 1, b = 'x' WHERE k = 7",
            "update  T set a = a + 22 , b = $1\n  where K = -- the key\n $2",
            "UPDATE t SET a = a + 1.5, b = E'\\n' WHERE k = $$7$$",
        ] {
            assert_eq!(shape_of(text), "update t set a = a + ?, b = ? where k = ?", "{text}");
        }
        assert_eq!(shape_of("DELETE FROM \"T\" WHERE a IS NULL"), "delete from \"T\" where a is null");
    }

    #[test]
    fn lists_of_any_length_are_one() {
        for text in [
            "INSERT INTO t (a, b, c) VALUES (1, 'x', 2.5)",
            "INSERT INTO t (a, b, c) VALUES (1, NULL, -2), (3, 'y', true)",
            "INSERT INTO t (a, b, c) VALUES (1, 'x', 0), ($1, $2, DEFAULT), (3, 'z', 1)",
        ] {
            let shape = shape_of(text);
            assert_eq!(shape.trim_end_matches(", ..."), "insert into t (a, b, c) values (?, ...)", "{text}");
        }
        assert_eq!(shape_of("DELETE FROM t WHERE a IN (1, 2, 3)"), "delete from t where a in (?, ...)");
        assert_eq!(
            shape_of("INSERT INTO t VALUES (f(1), now()), (f(2), now())"),
            "insert into t values (f(?), now()), ..."
        );
        assert_eq!(shape_of("INSERT INTO t VALUES (a), (b)"), "insert into t values (a), (b)");
    }

    #[test]
    fn what_cannot_be_read_is_kept() {
        assert_eq!(shape_of("SELECT 'open"), "SELECT 'open");
    }
}
