//! What reading a text takes of the memory, told before it is read.
//!
//! A text becomes tokens, more than once where they are respelled, and these become a tree that is rewritten and planned: for
//! a character that is a token of its own some hundred times as much as the text.

use super::lexemes::{Lexeme, Lexemes};

/// A shorter text is not weighed: nearly all are, and what one of them takes is less than one batch of rows.
const SHORT_BYTES: usize = 32 << 10;
/// The text itself, in the message, as a source of errors, and of its statements.
const COPIES: usize = 3;
/// A blank is a token too.
const BLANK_BYTES: usize = 200;
/// A word, a number or a sign: tokens, its place in the tree, and in a plan.
const PIECE_BYTES: usize = 400;

/// About how many bytes the text takes until its statements are planned; 0 for a short one. What is behind a quote that
/// does not end is not read either, and beyond `most` it is not looked how much more it is.
pub(crate) fn weight(text: &str, most: usize) -> usize {
    if text.len() < SHORT_BYTES {
        return 0;
    }
    let mut bytes = COPIES * text.len();
    let mut lexemes = Lexemes::new(text);
    while bytes <= most
        && let Ok(Some((lexeme, piece))) = lexemes.take()
    {
        let is_comment = piece.starts_with("--") || piece.starts_with("/*");
        bytes += match lexeme {
            Lexeme::Space if !is_comment => BLANK_BYTES * piece.len(),
            Lexeme::Space => BLANK_BYTES,
            Lexeme::Constant | Lexeme::Parameter | Lexeme::Other => PIECE_BYTES,
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_weighs_by_its_pieces() {
        let of = |part: &str| weight(&part.repeat(1 << 20), usize::MAX) >> 20;
        assert_eq!(weight("SELECT 1", usize::MAX), 0);
        assert!(of(";") >= 400);
        assert!(of(" ") >= 200);
        assert!(of("1234567,") >= 800);
        assert!(weight(&";".repeat(1 << 20), 100 << 20) < 101 << 20);
        let long = format!("SELECT '{}' -- {}", "x".repeat(1 << 20), "y".repeat(1 << 20));
        assert!(weight(&long, usize::MAX) < 4 * long.len(), "a long text is not many pieces");
    }
}
