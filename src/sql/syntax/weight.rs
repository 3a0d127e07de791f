//! What reading a text takes of the memory, told before it is read.
//!
//! A text becomes tokens, more than once where they are respelled, and these become a tree that is rewritten and planned: for
//! a character that is a token of its own some hundred times as much as the text.

use super::lexemes::{Lexeme, Lexemes};

/// A shorter text is not weighed: nearly all are, and what one of them takes is less than two batches of rows.
const SHORT_BYTES: usize = 8 << 10;
/// The text itself, in the message, as a source of errors, and of its statements.
const COPIES: usize = 3;
/// A blank is a token too.
const BLANK_BYTES: usize = 200;
/// A word or a sign: tokens, and its place in the tree.
const PIECE_BYTES: usize = 400;
/// A number or a text: an expression that is copied from the tree into a plan, and from each plan into the next. A list of numbers
/// was measured at 2,800 for each, with its comma.
const CONSTANT_BYTES: usize = 2_400;

/// What a statement takes that is kept with its plan, and each piece of its text besides.
const PLAN_BYTES: usize = 8 << 10;
const KEPT_PIECE_BYTES: usize = 1 << 10;

/// About how many bytes a statement takes that is kept.
pub(crate) fn kept_weight(text: &str) -> usize {
    let mut bytes = PLAN_BYTES + COPIES * text.len();
    let mut lexemes = Lexemes::new(text);
    while let Ok(Some((lexeme, _))) = lexemes.take() {
        bytes += if matches!(lexeme, Lexeme::Space) { 0 } else { KEPT_PIECE_BYTES };
    }
    bytes
}

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
            Lexeme::Constant | Lexeme::Parameter => CONSTANT_BYTES,
            Lexeme::Other => PIECE_BYTES,
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

    #[test]
    fn a_kept_statement_weighs_by_its_pieces_too() {
        let list = |items: usize| kept_weight(&format!("SELECT * FROM t WHERE a IN ({}0)", "1, ".repeat(items)));
        assert!((10 << 10..40 << 10).contains(&list(1)), "{}", list(1));
        assert!(list(1000) > list(1) + 1000 * KEPT_PIECE_BYTES);
    }
}
