//! How deep the tree of a statement becomes, told from its tokens before there is a tree.
//!
//! The parser bounds how deeply parentheses are nested, but not how long a row of operators is, and each of these is a level
//! of the tree: `1::int::int::int` is three casts within each other. A tree that is too deep cannot even be dropped. So
//! what may become a level is counted in the tokens: what a comma, a clause or a branch of CASE parts is counted apart,
//! what is in parentheses comes on top. The count may be too high, as some of these tokens make no level; it is never too
//! low: only what cannot stand within an expression begins a new count.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{is_significant, keyword};
use crate::limits::{MAX_DEPTH, MAX_LINKS, MAX_NESTING};

/// A row of ANDs or ORs as long as this stays as it is written; a longer one becomes a balanced tree.
pub(crate) const SHORT_ROW: usize = 32;

/// Refuses a statement whose tree would be too deep; gives how many ANDs and ORs it has at most in a row.
///
/// # Errors
/// 54001
pub(super) fn check(tokens: &[TokenWithSpan]) -> SqlResult<usize> {
    let Measure { levels, links, nesting } = measure(tokens);
    if nesting > MAX_NESTING {
        return Err(nested_too_deeply());
    }
    if links > MAX_LINKS {
        return Err(SqlError::new(ErrorKind::TooComplex, "the statement is too complex")
            .with_detail(format!("It has {links} AND and OR in a row; at most {MAX_LINKS} are planned."))
            .with_hint("Look for one of many values with IN (...) or = ANY (array), or join with VALUES."));
    }
    if levels > MAX_DEPTH {
        return Err(SqlError::new(ErrorKind::TooComplex, "the statement is too complex")
            .with_detail(format!("Its operators, joins and set operations make {levels} levels; at most {MAX_DEPTH} are planned."))
            .with_hint("Part it: join many texts with concat() or string_agg(), put many rows into one VALUES list, or keep what parts of it give in temporary tables."));
    }
    Ok(links)
}

/// Parentheses, sub-queries and the like are too deep within each other.
pub(super) fn nested_too_deeply() -> Box<SqlError> {
    SqlError::new(ErrorKind::TooComplex, "the statement is nested too deeply")
        .with_detail(format!("At most {MAX_NESTING} levels of parentheses and sub-queries are parsed."))
        .with_hint("Leave out parentheses that change nothing, and write inner queries in a WITH clause.")
}

#[derive(Debug, PartialEq, Eq)]
struct Measure {
    /// Of the deepest tree that the tokens can become.
    levels: usize,
    /// Most ANDs and ORs in a row.
    links: usize,
    /// Most parentheses and CASEs within each other, or signs in a row: the parser goes into each.
    nesting: usize,
}

fn measure(tokens: &[TokenWithSpan]) -> Measure {
    let mut open = vec![Group::of(Opened::Statement)];
    let (mut links, mut nesting, mut negations) = (0, 0, 0);
    let mut before = None;
    for token in tokens.iter().filter(|token| is_significant(token)) {
        take(token, before, &mut open, &mut links);
        before = Some(token);
        negations = if keyword(token) == Some(Keyword::NOT) { negations + 1 } else { 0 };
        nesting = nesting.max(open.len() - 1 + negations);
    }
    while open.len() > 1 {
        close(&mut open, &mut links);
    }
    let levels = open.pop().map_or(0, |mut statement| statement.levels(&mut links));
    Measure { levels, links, nesting }
}

fn take(token: &TokenWithSpan, before: Option<&TokenWithSpan>, open: &mut Vec<Group>, links: &mut usize) {
    match &token.token {
        Token::LParen | Token::LBracket | Token::LBrace => {
            if token.token == Token::LBracket {
                current(open).row += 1;
            }
            open.push(Group::of(Opened::Parenthesis));
        }
        Token::RParen | Token::RBracket | Token::RBrace => {
            if open.iter().any(|group| group.opened == Opened::Parenthesis) {
                while current(open).opened != Opened::Parenthesis {
                    close(open, links);
                }
                close(open, links);
            }
        }
        Token::Comma | Token::SemiColon => current(open).end_item(links),
        Token::Word(word) if word.quote_style.is_none() => take_word(word.keyword, before, open, links),
        Token::Word(_) => {}
        token if is_constant(token) => {}
        // Operators of all kinds, and what makes no sense.
        _ => current(open).row += 1,
    }
}

fn take_word(word: Keyword, before: Option<&TokenWithSpan>, open: &mut Vec<Group>, links: &mut usize) {
    let group = current(open);
    match word {
        Keyword::AND | Keyword::OR => group.end_row(),
        Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT | Keyword::MINUS => {
            group.set_operations += 1;
            group.end_item(links);
            group.end_joins();
        }
        Keyword::JOIN => group.joins += 1,
        Keyword::CASE => open.push(Group::of(Opened::Case)),
        Keyword::END if group.opened == Opened::Case => close(open, links),
        _ if is_operator(word) => group.row += 1,
        _ if begins_clause(word) && before.is_some_and(ends_operand) => group.end_item(links),
        _ => {}
    }
}

/// The group that tokens are in: the statement's own is never closed before its end.
fn current(open: &mut [Group]) -> &mut Group {
    open.last_mut().expect("the statement is a group itself")
}

fn close(open: &mut Vec<Group>, links: &mut usize) {
    if let Some(mut group) = open.pop() {
        let levels = group.levels(links);
        let around = current(open);
        around.within = around.within.max(levels);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    Statement,
    Parenthesis,
    Case,
}

/// What is between two parentheses, or between CASE and END.
struct Group {
    opened: Opened,
    /// Operators since the last AND, OR, comma or clause.
    row: usize,
    /// Levels of the deepest group since then.
    within: usize,
    /// Levels of the deepest row since the last comma or clause.
    deepest_row: usize,
    /// ANDs and ORs since then.
    links: usize,
    /// Levels of the deepest item so far.
    deepest_item: usize,
    joins: usize,
    most_joins: usize,
    set_operations: usize,
}

impl Group {
    fn of(opened: Opened) -> Self {
        Self {
            opened,
            row: 0,
            within: 0,
            deepest_row: 0,
            links: 0,
            deepest_item: 0,
            joins: 0,
            most_joins: 0,
            set_operations: 0,
        }
    }

    /// AND or OR.
    fn end_row(&mut self) {
        self.end_operators();
        self.links += 1;
    }

    fn end_operators(&mut self) {
        self.deepest_row = self.deepest_row.max(self.row + self.within);
        (self.row, self.within) = (0, 0);
    }

    fn end_item(&mut self, links: &mut usize) {
        self.end_operators();
        self.deepest_item = self.deepest_item.max(self.deepest_row + levels_of_links(self.links));
        *links = self.links.max(*links);
        (self.deepest_row, self.links) = (0, 0);
    }

    /// A query ends, and another one begins beside it.
    fn end_joins(&mut self) {
        self.most_joins = self.most_joins.max(self.joins);
        self.joins = 0;
    }

    fn levels(&mut self, links: &mut usize) -> usize {
        self.end_item(links);
        self.end_joins();
        1 + self.deepest_item + self.most_joins + self.set_operations
    }
}

/// The levels of a row of ANDs and ORs: of each of the two rows, as ANDs stand below ORs.
fn levels_of_links(links: usize) -> usize {
    if links <= SHORT_ROW { links } else { 2 * (usize::BITS - links.leading_zeros()) as usize + SHORT_ROW }
}

fn is_constant(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::Char(_)
            | Token::SingleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::Placeholder(_)
    )
}

/// Words that make a level of what is before them, or of what is behind them.
fn is_operator(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::XOR
            | Keyword::AT
            | Keyword::NOT
            | Keyword::IN
            | Keyword::BETWEEN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::RLIKE
            | Keyword::REGEXP
            | Keyword::MATCH
            | Keyword::SIMILAR
            | Keyword::MEMBER
            | Keyword::NOTNULL
            | Keyword::IS
            | Keyword::OVERLAPS
            | Keyword::OPERATOR
            | Keyword::DIV
            | Keyword::COLLATE
            | Keyword::PRIOR
            | Keyword::ARRAY
            | Keyword::INTERVAL
            | Keyword::EXPLAIN
            | Keyword::DECLARE
            | Keyword::PREPARE
            | Keyword::LATERAL
    )
}

/// Words that cannot follow an operand within an expression: behind one, they begin something else. FROM is none of them:
/// `a IS DISTINCT FROM b` goes on.
fn begins_clause(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::WHERE
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::OFFSET
            | Keyword::ON
            | Keyword::USING
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
            | Keyword::SET
            | Keyword::VALUES
            | Keyword::RETURNING
            | Keyword::WINDOW
            | Keyword::SELECT
    )
}

/// Whether an operand ends with this token, and no operator is left that waits for another one. In doubt it is not said to.
fn ends_operand(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::RParen | Token::RBracket => true,
        Token::Word(word) if word.quote_style.is_some() => true,
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::NoKeyword
                | Keyword::NULL
                | Keyword::TRUE
                | Keyword::FALSE
                | Keyword::END
                | Keyword::ASC
                | Keyword::DESC
        ),
        token => is_constant(token),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn tokens(text: &str) -> Vec<TokenWithSpan> {
        Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().unwrap()
    }

    fn measured(text: &str) -> (usize, usize) {
        let Measure { levels, links, .. } = measure(&tokens(text));
        (levels, links)
    }

    #[test]
    fn rows_of_operators_are_levels_and_lists_are_not() {
        let row = |part: &str| measured(&format!("SELECT 1{}", part.repeat(100))).0;
        for part in ["::int", "+1", "||'a'", " IS NULL", "[1]", "->'a'", " COLLATE \"C\"", " AT TIME ZONE 'UTC'"] {
            assert!(row(part) > 100, "{part}");
        }
        for part in [" IN (1)", " BETWEEN 1 AND 2", " IS DISTINCT FROM 1", " LIKE 'a'", " UNION SELECT 1"] {
            assert!(row(part) >= 100 || measured(&format!("SELECT 1{}", part.repeat(100))).1 >= 100, "{part}");
        }
        for part in [", 1 + 1", ", (1, 2)", ", CASE WHEN a = 1 THEN 2 END"] {
            assert!(row(part) < 10, "{part}");
        }
        let case = format!("SELECT CASE{} END", " WHEN a = 1 THEN 'b' || c".repeat(100));
        assert!(measured(&case).0 < 10, "{}", measured(&case).0);
        let insert = format!("INSERT INTO t VALUES (1, -2){}", ", (1, -2)".repeat(100));
        assert!(measured(&insert).0 < 10);
    }

    #[test]
    fn links_take_few_levels() {
        let (levels, links) =
            measured(&format!("SELECT FROM t WHERE a = 1{}", " OR a = 2 AND b + 1 = 3".repeat(5_000)));
        assert_eq!(links, 10_000);
        assert!(levels < 80, "{levels}");
    }

    #[test]
    fn clauses_are_counted_apart_and_names_are_no_clauses() {
        let (levels, _) = measured(&"SELECT a + 1 FROM t WHERE a = 1 GROUP BY b HAVING c > 2 UNION ALL ".repeat(100));
        assert!((100..110).contains(&levels), "{levels}");
        for name in ["offset", "select", "\"where\"", "t.limit", "values", "case"] {
            let (levels, _) = measured(&format!("SELECT {name}{}", format!(" + {name}").repeat(100)));
            assert!(levels > 100, "{name}: {levels}");
        }
    }

    #[test]
    fn what_is_in_parentheses_comes_on_top() {
        let nested = format!("SELECT {}1{}", "1 + (2 * ".repeat(50), ")".repeat(50));
        assert!(measured(&nested).0 > 150);
        let subquery = format!("SELECT 1{} FROM (SELECT 2{}) AS t", "+1".repeat(40), "+1".repeat(60));
        assert!(measured(&subquery).0 > 100);
    }

    #[test]
    fn what_is_too_deep_is_refused_with_a_way_out() {
        let refused = |text: &str| check(&tokens(text)).unwrap_err();
        let error = refused(&format!("SELECT 1{}", "+1".repeat(MAX_DEPTH)));
        assert_eq!(error.kind, ErrorKind::TooComplex);
        assert!(error.hint.is_some());
        assert_eq!(refused(&format!("SELECT a{}", " OR a".repeat(MAX_LINKS + 1))).kind, ErrorKind::TooComplex);
        assert_eq!(refused(&"(".repeat(1_000_000)).kind, ErrorKind::TooComplex);
        assert_eq!(refused(&"case ".repeat(1_000_000)).kind, ErrorKind::TooComplex);
        assert_eq!(refused(&"NOT ".repeat(100)).kind, ErrorKind::TooComplex);
    }
}
