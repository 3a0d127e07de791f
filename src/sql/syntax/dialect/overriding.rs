//! OVERRIDING SYSTEM VALUE and OVERRIDING USER VALUE, which sqlparser does not read: they are taken off an INSERT's tokens.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{SqlError, SqlResult};

use crate::syntax::{Command, is_significant, keyword};

/// What an INSERT does about the values it gives to identity columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// OVERRIDING SYSTEM VALUE: they are taken, also for GENERATED ALWAYS.
    System,
    /// OVERRIDING USER VALUE: they are left out, the columns count.
    User,
}

impl Overriding {
    /// Takes the clause off an INSERT, if it has one.
    pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Option<Self> {
        let first = tokens.iter().filter_map(keyword).next();
        if !matches!(first, Some(Keyword::INSERT | Keyword::WITH | Keyword::EXPLAIN)) {
            return None;
        }
        let words: Vec<usize> = (0..tokens.len()).filter(|at| is_significant(&tokens[*at])).collect();
        let is_word = |at: usize, word: &str| match &tokens[at].token {
            Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        let found = words.windows(3).find(|three| is_word(three[0], "overriding") && is_word(three[2], "value"))?;
        let overriding = match (is_word(found[1], "system"), is_word(found[1], "user")) {
            (true, _) => Overriding::System,
            (_, true) => Overriding::User,
            _ => return None,
        };
        let (from, to) = (found[0], found[2]);
        tokens.drain(from..=to);
        Some(overriding)
    }

    /// Gives the clause back to the INSERT.
    ///
    /// # Errors
    /// 0A000 for an INSERT behind or inside WITH.
    pub(crate) fn set(overriding: Option<Self>, command: &mut Command) -> SqlResult<()> {
        match command {
            Command::Insert(insert) => insert.overriding = overriding,
            _ if overriding.is_some() => {
                return Err(SqlError::not_supported("OVERRIDING in a statement that begins with WITH")
                    .with_hint("Put the WITH clause behind INSERT INTO."));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    #[test]
    fn overriding_is_taken_off_an_insert() {
        for (sql, overriding) in [
            ("INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (1)", Some(Overriding::System)),
            ("insert into t overriding user value select 1", Some(Overriding::User)),
            ("INSERT INTO t VALUES (1)", None),
        ] {
            let Command::Insert(insert) = parse(sql).unwrap().remove(0).command else { panic!("{sql}") };
            assert_eq!(insert.overriding, overriding, "{sql}");
        }
        assert!(parse("SELECT 1 OVERRIDING SYSTEM VALUE").is_err());
    }
}
