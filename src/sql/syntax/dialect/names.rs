//! Words that are names to PostgreSQL and keywords to sqlparser: `SELECT a view FROM t top`.
//!
//! sqlparser knows the keywords of many dialects and keeps some of them from being names; PostgreSQL has its own list of those. So
//! where a statement does not parse, the word it stops at, or one shortly before it, is read as a name if PostgreSQL would read
//! it so, and the statement is parsed again. A statement that parses costs nothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use tablegate_types::built_in::KEYWORDS;

use crate::syntax::{is_significant, keyword};

/// Most words of one statement that are read as names so: each costs a parse or two.
const NAMES_MAX: usize = 20;

/// Tokens that are parsed again at most, all attempts together: a text as long as this is parsed once more.
const TOKENS_MAX: usize = 500_000;

/// How many words before the one where a parse stops may have been taken for keywords: `FROM a asof JOIN b ON ...`.
const LOOK_BACK: usize = 6;

/// Parses again with words read as names, as long as that gets further.
///
/// `parse` gives the place in the tokens where it stops, besides what it gives. `None` when no word helps.
pub(crate) fn parsed<T, E>(
    tokens: &[TokenWithSpan],
    error: &E,
    place_of: impl Fn(&E) -> Option<usize>,
    parse: impl Fn(&[TokenWithSpan]) -> Result<T, E>,
) -> Option<T> {
    let mut stopped = place_of(error)?;
    let mut tokens = tokens.to_vec();
    let mut left = TOKENS_MAX.div_ceil(tokens.len().max(1));
    for _ in 0..NAMES_MAX {
        let before = (0..stopped.min(tokens.len())).rev().filter(|at| is_significant(&tokens[*at])).take(LOOK_BACK);
        let candidates: Vec<usize> =
            std::iter::once(stopped).chain(before).filter(|at| is_name(&tokens, *at)).collect();
        // One of them, or all: `FROM a asof JOIN b semi ON ...`.
        let attempts = candidates.iter().map(std::slice::from_ref).chain([candidates.as_slice()]);
        let mut further = None;
        for names in attempts {
            left = left.checked_sub(1)?;
            let mut attempt = tokens.clone();
            names.iter().for_each(|at| as_name(&mut attempt[*at]));
            match parse(&attempt) {
                Ok(parsed) => return Some(parsed),
                Err(error) => {
                    further = place_of(&error).filter(|place| *place > stopped).map(|place| (attempt, place));
                }
            }
            if further.is_some() {
                break;
            }
        }
        (tokens, stopped) = further?;
    }
    None
}

/// What PostgreSQL's grammar lets a word be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Uses {
    /// A column, a table or the alias of either: a word that is not reserved.
    name: bool,
    /// The label of a column without AS.
    label: bool,
}

/// The words of PostgreSQL's grammar; all others are names anywhere.
static USES: LazyLock<HashMap<&str, Uses>> = LazyLock::new(|| {
    let uses = |line: &'static str| {
        let (word, code) = line.split_once(' ')?;
        Some((word, Uses { name: !code.starts_with(['R', 'T']), label: !code.ends_with('-') }))
    };
    KEYWORDS.lines().filter_map(uses).collect()
});

/// Whether no table and no column can have the word as its name.
pub(crate) fn is_reserved(token: &TokenWithSpan) -> bool {
    let word = keyword(token).map(|_| token.token.to_string().to_lowercase());
    word.and_then(|word| USES.get(word.as_str()).copied()).is_some_and(|uses| !uses.name)
}

/// Whether PostgreSQL would read the word as a name where it stands, although it is a keyword to sqlparser.
fn is_name(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(word) = tokens.get(at).filter(|token| keyword(token).is_some_and(|word| word != Keyword::NoKeyword))
    else {
        return false;
    };
    let uses = USES.get(word.token.to_string().to_lowercase().as_str()).copied();
    let Some(Uses { name, label }) = uses else { return true };
    let before = tokens[..at].iter().rev().find(|token| is_significant(token));
    let is_explicit = before.and_then(keyword) == Some(Keyword::AS);
    name || (is_in_list(&tokens[..at]) && (is_explicit || label))
}

/// Whether what comes next stands in a select list: its labels may be any words.
fn is_in_list(before: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in before.iter().rev() {
        match &token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return false,
            Token::LParen => depth -= 1,
            _ if depth > 0 => {}
            _ => match keyword(token) {
                Some(Keyword::SELECT | Keyword::RETURNING) => return true,
                Some(Keyword::FROM | Keyword::WHERE | Keyword::INTO | Keyword::SET | Keyword::VALUES) => return false,
                Some(Keyword::GROUP | Keyword::HAVING | Keyword::WINDOW | Keyword::ORDER | Keyword::LIMIT) => {
                    return false;
                }
                _ => {}
            },
        }
    }
    false
}

/// Words that the parser takes for values wherever they stand.
const VALUES: [Keyword; 12] = [
    Keyword::CURRENT_CATALOG,
    Keyword::CURRENT_DATE,
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::CURRENT_USER,
    Keyword::FALSE,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
    Keyword::NULL,
    Keyword::SESSION_USER,
    Keyword::TRUE,
    Keyword::USER,
];

/// Makes such words names behind a point, where PostgreSQL's grammar has names alone: `o.user`.
pub(super) fn with_names_behind_points(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut is_behind_point = false;
    for token in tokens.iter_mut().filter(|token| is_significant(token)) {
        if is_behind_point && keyword(token).is_some_and(|word| VALUES.contains(&word)) {
            as_name(token);
        }
        is_behind_point = token.token == Token::Period;
    }
    tokens
}

/// Takes the keyword out of a word. It stays without quotes, so that it is folded as other names are.
fn as_name(token: &mut TokenWithSpan) {
    if let Token::Word(Word { keyword, .. }) = &mut token.token {
        *keyword = Keyword::NoKeyword;
    }
}
