//! The parser's PostgreSQL dialect with bounds: how long a parse may go on, and how deep a row of ANDs or ORs becomes.
//!
//! The parser asks its dialect before it reads an operand or an operator, so this is where it can be stopped: it tries some
//! forms one after the other and takes each attempt's inner parts again, which for a text that is nested and wrong doubles
//! with every level. And here a long row of ANDs or ORs is read as a whole: it becomes a balanced tree.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::fmt;

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::interrupt;

use super::build::balanced;
use super::depth::SHORT_ROW;

/// So many operands are read for each token, and so many for any text: forms that are tried in turn read some again.
const OPERANDS_OF_TOKEN: usize = 32;
const OPERANDS: usize = 10_000;

/// Words that are followed by an operand or a query in parentheses, and not by the arguments of a call.
const NO_FUNCTIONS: &[Keyword] = &[
    Keyword::ALL,
    Keyword::AND,
    Keyword::ANY,
    Keyword::ARRAY,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::ELSE,
    Keyword::EXISTS,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::LATERAL,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SOME,
    Keyword::THEN,
    Keyword::VALUES,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// PostgreSQL's dialect for the parse of one text.
pub(super) struct BoundedDialect {
    /// How many operands may still be read.
    left: Cell<usize>,
    has_long_rows: bool,
    gave_up: RefCell<Option<Box<SqlError>>>,
}

impl BoundedDialect {
    /// For so many tokens, with so many ANDs and ORs in a row.
    pub(super) fn new(tokens: usize, links: usize) -> Self {
        Self {
            left: Cell::new(OPERANDS.saturating_add(tokens.saturating_mul(OPERANDS_OF_TOKEN))),
            has_long_rows: links > SHORT_ROW,
            gave_up: RefCell::default(),
        }
    }

    /// Why the parse was stopped, if it was: what the parser says then is of no use.
    pub(super) fn gave_up(&self) -> Option<Box<SqlError>> {
        self.gave_up.take()
    }

    /// An error once the parse is to stop.
    fn stop(&self) -> Option<ParserError> {
        let left = self.left.get();
        let stopped = match left.checked_sub(1) {
            None => Err(SqlError::new(ErrorKind::TooComplex, "the statement is too complex")
                .with_detail("It can be read in too many ways.")
                .with_hint("Part it into several statements, or look for a mistake where it is nested deepest.")),
            Some(less) => {
                self.left.set(less);
                interrupt::check()
            }
        };
        let error = stopped.err()?;
        self.left.set(0);
        self.gave_up.borrow_mut().get_or_insert(error);
        // The one error that the parser does not take for a reason to try another form.
        Some(ParserError::RecursionLimitExceeded)
    }
}

/// Whether IN is followed by a list whose first item is a query in parentheses, which the parser would take for all of it, and
/// whether NOT is before it.
fn begins_list_with_query(parser: &Parser) -> Option<bool> {
    let next = parser.peek_token_ref();
    let Token::Word(first) = &next.token else { return None };
    let negated = match first.keyword {
        Keyword::IN => false,
        Keyword::NOT => true,
        _ => return None,
    };
    let mut ahead = (parser.get_current_index()..)
        .map(|at| parser.token_at(at))
        .skip_while(|token| !std::ptr::eq(*token, next) && token.token != Token::EOF)
        .map(|token| &token.token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .skip(1);
    if negated && ahead.next().map(keyword) != Some(Keyword::IN) {
        return None;
    }
    let is_open = [ahead.next(), ahead.next()] == [Some(&Token::LParen); 2];
    let is_query = matches!(ahead.next().map(keyword), Some(Keyword::SELECT | Keyword::WITH | Keyword::VALUES));
    if !is_open || !is_query {
        return None;
    }
    let mut depth = 1_usize;
    let closes = |token: &&Token| {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return true,
            _ => {}
        }
        depth == 0
    };
    ahead.by_ref().find(closes)?;
    match ahead.next() {
        None | Some(Token::EOF | Token::RParen) => None,
        Some(behind) => {
            let behind = keyword(behind);
            (behind != Keyword::FOR && !goes_on_as_query(behind)).then_some(negated)
        }
    }
}

/// The list behind IN.
fn list_of(parser: &mut Parser, expr: &Expr, negated: bool) -> Result<Expr, ParserError> {
    if negated {
        parser.expect_keyword(Keyword::NOT)?;
    }
    parser.expect_keyword(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr: Box::new(expr.clone()), list, negated })
}

/// The keyword that a token is.
fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Whether a word behind a query in parentheses makes it a part of another one.
fn goes_on_as_query(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::OFFSET
            | Keyword::FETCH
    )
}

/// Whether a parenthesis follows the name of a function.
fn is_call(parser: &Parser, parenthesis: usize) -> bool {
    let mut before = (0..parenthesis).rev().map(|at| &parser.token_at(at).token);
    let name = before.find(|token| !matches!(token, Token::Whitespace(_)));
    let Some(Token::Word(name)) = name else { return false };
    name.quote_style.is_some() || !NO_FUNCTIONS.contains(&name.keyword)
}

/// Whether a query begins here that the parser would take for an expression: `VALUES (..)`, which is no call, and
/// `(SELECT ..) UNION ..` or `(SELECT ..) LIMIT ..`, behind an opening parenthesis.
fn begins_query(parser: &Parser) -> bool {
    let next = parser.peek_token_ref();
    let current = parser.get_current_index();
    if !matches!(next.token, Token::LParen | Token::Word(_)) || parser.token_at(current).token != Token::LParen {
        return false;
    }
    let mut ahead = (current..)
        .map(|at| parser.token_at(at))
        .skip_while(|token| !std::ptr::eq(*token, next) && token.token != Token::EOF)
        .map(|token| &token.token)
        .filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut first = ahead.next();
    if first.is_some_and(|first| keyword(first) == Keyword::VALUES) {
        return ahead.next() == Some(&Token::LParen);
    }
    let mut depth = 0_usize;
    while first == Some(&Token::LParen) {
        depth += 1;
        first = ahead.next();
    }
    let is_query = matches!(
        first.map_or(Keyword::NoKeyword, keyword),
        Keyword::SELECT | Keyword::VALUES | Keyword::WITH | Keyword::TABLE
    );
    if depth == 0 || !is_query {
        return false;
    }
    for token in ahead.by_ref() {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::EOF => return false,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    let behind = ahead.next().map_or(Keyword::NoKeyword, keyword);
    if behind == Keyword::ORDER && is_call(parser, current) {
        // The order is that of an aggregate's rows, and not of the sub-query that is its argument.
        return false;
    }
    goes_on_as_query(behind)
}

impl fmt::Debug for BoundedDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoundedDialect")
    }
}

/// What PostgreSQL's dialect says otherwise than others. But for names of arguments that are expressions: PostgreSQL 15 has none, and
/// the parser would take each argument for one first, with all calls in it: twice as often for each call around.
macro_rules! as_postgresql {
    ($($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $method(&self, $($argument: $type),*) -> $result {
            PostgreSqlDialect {}.$method($($argument),*)
        })*
    };
}

pub(super) use as_postgresql;

impl Dialect for BoundedDialect {
    /// The parser asks in places whether it has that dialect.
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Some(stopped) = self.stop() {
            return Some(Err(stopped));
        }
        begins_query(parser).then(|| parser.parse_query().map(Expr::Subquery))
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        if let Some(stopped) = self.stop() {
            return Some(Err(stopped));
        }
        if let Some(negated) = begins_list_with_query(parser) {
            return Some(list_of(parser, expr, negated));
        }
        if !self.has_long_rows {
            return None;
        }
        let link = match &parser.peek_token_ref().token {
            Token::Word(word) if matches!(word.keyword, Keyword::AND | Keyword::OR) => word.keyword,
            _ => return None,
        };
        let mut operands = vec![expr.clone()];
        while parser.parse_keyword(link) {
            match parser.parse_subexpr(precedence) {
                Ok(operand) => operands.push(operand),
                Err(error) => return Some(Err(error)),
            }
        }
        let op = if link == Keyword::AND { BinaryOperator::And } else { BinaryOperator::Or };
        let joined = |left, right| Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) };
        balanced(operands, joined).map(Ok)
    }

    /// `~` and its kin bind as all operators do that have names of signs: tighter than LIKE, from the left.
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::Tilde
            | Token::TildeAsterisk
            | Token::ExclamationMarkTilde
            | Token::ExclamationMarkTildeAsterisk
            | Token::DoubleTilde
            | Token::DoubleTildeAsterisk
            | Token::ExclamationMarkDoubleTilde
            | Token::ExclamationMarkDoubleTildeAsterisk => Some(Ok(self.prec_value(Precedence::PgOther))),
            _ => PostgreSqlDialect {}.get_next_precedence(parser),
        }
    }

    /// A label without AS is no FOR: a locking clause begins there.
    fn is_column_alias(&self, word: &Keyword, _parser: &mut Parser) -> bool {
        *word != Keyword::FOR && !RESERVED_FOR_COLUMN_ALIAS.contains(word)
    }

    as_postgresql! {
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_delimited_identifier_start(ch: char) -> bool;
        is_identifier_start(ch: char) -> bool;
        is_identifier_part(ch: char) -> bool;
        supports_unicode_string_literal() -> bool;
        is_reserved_for_identifier(word: Keyword) -> bool;
        is_custom_operator_part(ch: char) -> bool;
        supports_filter_during_aggregation() -> bool;
        supports_group_by_expr() -> bool;
        prec_value(precedence: Precedence) -> u8;
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_listen_notify() -> bool;
        supports_factorial_operator() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comment_on() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_empty_projections() -> bool;
        supports_nested_comments() -> bool;
        supports_string_escape_constant() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_geometric_types() -> bool;
        supports_set_names() -> bool;
        supports_alter_column_type_using() -> bool;
        supports_notnull_operator() -> bool;
        supports_interval_options() -> bool;
        supports_insert_table_alias() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_xml_expressions() -> bool;
        supports_comment_optimizer_hint() -> bool;
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::parse;

    #[test]
    fn calls_within_calls_are_read_once() {
        let nested = |call: &str, levels: usize| format!("SELECT {}a{}", call.repeat(levels), ", 1)".repeat(levels));
        for call in ["f(", "coalesce(", "f(1, ", "replace(a => "] {
            assert!(parse(&nested(call, 45)).is_ok(), "{call}");
        }
    }
}
