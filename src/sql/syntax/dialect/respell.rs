//! PostgreSQL's spellings that sqlparser does not read, in ones that it does.
//!
//! This works on the tokens of one statement, before it is parsed; every token keeps its place in the text, so errors
//! still point to it.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use tablegate_bind::query::EXCLUSIONS;
use tablegate_bind::query::bound::FrameExclusion;
pub(crate) use tablegate_bind::statement::{DEFAULT_VALUES, DO_NOTHING};
pub(crate) use tablegate_bind::{ROWS_FROM, SYMMETRIC, VARIADIC};
use tablegate_types::error::{SqlError, SqlResult};

use super::grouped_queries::with_grouped_queries;
use super::named_records::with_named_records;
use super::names::{is_reserved, with_names_behind_points};
use super::search_cycle::with_search_and_cycle;
use crate::syntax::{is_significant, keyword};

/// Respells one statement.
///
/// # Errors
/// 0A000 for an alias behind USING and for the fields of an expression, which nothing stands for.
pub(crate) fn respell(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    let first = tokens.iter().find(|t| is_significant(t)).and_then(keyword);
    let tokens = with_grouped_queries(with_array_brackets(with_named_records(with_names_behind_points(tokens))));
    let is_query = matches!(
        first,
        None | Some(Keyword::SELECT | Keyword::WITH | Keyword::TABLE | Keyword::VALUES | Keyword::EXPLAIN)
            | Some(Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE | Keyword::MERGE | Keyword::COPY)
    );
    let makes_query = matches!(first, Some(Keyword::CREATE));
    if !is_query && !makes_query {
        return Ok(tokens);
    }
    let tokens = with_search_and_cycle(tokens.into_iter().filter(is_significant).collect());
    let mut source = tokens.into_iter().peekable();
    let mut kept: Vec<TokenWithSpan> = Vec::new();
    let mut in_merge = first == Some(Keyword::MERGE);
    // How deep the calls are whose last argument is VARIADIC.
    let (mut depth, mut spread) = (0_usize, Vec::new());
    while let Some(token) = source.next() {
        in_merge |= keyword(&token) == Some(Keyword::MERGE);
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                if spread.pop_if(|of| *of == depth).is_some() {
                    kept.push(symbol(&token, Token::RParen));
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if token.token == Token::Mul && kept.last().is_some_and(|before| before.token == Token::Period) {
            whole_row(&mut kept, token, source.peek())?;
            continue;
        }
        match keyword(&token) {
            // A table of the session's own has one kind here.
            Some(Keyword::LOCAL | Keyword::GLOBAL | Keyword::UNLOGGED)
                if follows_into(&kept) && source.peek().is_some_and(is_word) => {}
            Some(Keyword::TABLE) if follows_into(&kept) && source.peek().is_some_and(is_word) => {}
            Some(Keyword::TABLE)
                if begins_query(kept.last(), is_query) && source.peek().is_some_and(names_relation) =>
            {
                kept.extend([word(&token, "SELECT", Keyword::SELECT), symbol(&token, Token::Mul)]);
                kept.push(word(&token, "FROM", Keyword::FROM));
            }
            Some(Keyword::ONLY) if names_table(kept.last()) && source.peek().is_some_and(is_word) => {}
            Some(_)
                if is_source_without_parentheses(&token, &kept)
                    && source.peek().is_none_or(|next| next.token != Token::LParen) =>
            {
                let (open, close) = (symbol(&token, Token::LParen), symbol(&token, Token::RParen));
                kept.extend([token, open, close]);
            }
            Some(Keyword::BETWEEN) if source.peek().and_then(keyword) == Some(Keyword::SYMMETRIC) => {
                source.next();
                let marker = symbol(&token, Token::make_word(SYMMETRIC, Some('"')));
                let joined = symbol(&token, Token::StringConcat);
                kept.extend([token, marker, joined]);
            }
            Some(Keyword::BETWEEN) if source.peek().and_then(keyword) == Some(Keyword::ASYMMETRIC) => {
                source.next();
                kept.push(token);
            }
            Some(_) if is_called(&token, "ISNULL") && ends_operand(&kept) => {
                kept.extend([word(&token, "IS", Keyword::IS), word(&token, "NULL", Keyword::NULL)]);
            }
            Some(_) if is_called(&token, "NOTNULL") && ends_operand(&kept) => {
                kept.extend([word(&token, "IS", Keyword::IS), word(&token, "NOT", Keyword::NOT)]);
                kept.push(word(&token, "NULL", Keyword::NULL));
            }
            // Behind a cast sqlparser does not read it, and it changes nothing.
            Some(Keyword::COLLATE) if follows_cast(&kept) && !defines_column(&kept) => {
                source.next();
                while source.next_if(|next| next.token == Token::Period).is_some() {
                    source.next();
                }
            }
            Some(Keyword::EXCLUDE) if ends_frame(kept.last()) => {
                let mut words = vec![token];
                while let Some(word) = source.next_if(is_word) {
                    words.push(word);
                }
                match exclusion_of(&words[1..]).filter(|_| source.peek().is_some_and(|t| t.token == Token::RParen)) {
                    Some(exclusion) => exclude(&mut kept, exclusion),
                    None => kept.extend(words),
                }
            }
            // The parser takes a text for an interval, and reads no cast behind it.
            None if matches!(token.token, Token::SingleQuotedString(_))
                && begins_bound(&kept)
                && source.peek().is_some_and(|next| next.token == Token::DoubleColon) =>
            {
                let (open, close) = (symbol(&token, Token::LParen), symbol(&token, Token::RParen));
                let ends =
                    |token: &TokenWithSpan| matches!(keyword(token), Some(Keyword::PRECEDING | Keyword::FOLLOWING));
                let mut inside = 0_i32;
                let mut bound = vec![token];
                while let Some(part) = source.next_if(|next| !ends(next) && (inside > 0 || next.token != Token::RParen))
                {
                    inside += i32::from(part.token == Token::LParen) - i32::from(part.token == Token::RParen);
                    bound.push(part);
                }
                match source.peek().is_some_and(ends) {
                    true => kept.extend(std::iter::once(open).chain(bound).chain([close])),
                    false => kept.extend(bound),
                }
            }
            // A function of functions to the parser.
            Some(Keyword::ROWS) if begins_source(&kept) => {
                match source.next_if(|next| keyword(next) == Some(Keyword::FROM)) {
                    Some(_) if source.peek().is_some_and(|next| next.token == Token::LParen) => {
                        kept.push(symbol(&token, Token::make_word(ROWS_FROM, Some('"'))));
                    }
                    from => kept.extend(std::iter::once(token).chain(from)),
                }
            }
            Some(_) if is_called(&token, "VARIADIC") && begins_argument(kept.last(), source.peek()) => {
                spread.push(depth);
                let marker = symbol(&token, Token::make_word(VARIADIC, Some('"')));
                let open = symbol(&token, Token::LParen);
                kept.extend([marker, open]);
            }
            Some(Keyword::AS) if follows_using(&kept) => {
                return Err(SqlError::not_supported("an alias behind USING (...)")
                    .with_hint("Name the columns, or join ON a condition."));
            }
            Some(Keyword::DO) if in_merge && kept.last().and_then(keyword) == Some(Keyword::THEN) => {
                source.next();
                let column = if is_not_matched(&kept) { INSERT_OF } else { UPDATE_OF };
                kept.extend(stand_in(&token, column, DO_NOTHING));
            }
            Some(Keyword::DEFAULT) if in_merge && kept.last().and_then(keyword) == Some(Keyword::INSERT) => {
                source.next();
                kept.pop();
                kept.extend(stand_in(&token, INSERT_OF, DEFAULT_VALUES));
            }
            _ => kept.push(token),
        }
    }
    Ok(kept)
}

/// `text ARRAY`, the standard's spelling of `text[]`. A constructor is followed by a bracket or a parenthesis.
fn with_array_brackets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| keyword(token) == Some(Keyword::ARRAY)) {
        return tokens;
    }
    let words: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let declares = matches!(words.first().and_then(keyword), Some(Keyword::CREATE | Keyword::ALTER))
        && !words.iter().any(|word| keyword(word) == Some(Keyword::SELECT));
    let is_of_type = |at: usize| {
        let follows_type =
            at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|before| match &before.token {
                Token::Word(_) => keyword(before) != Some(Keyword::AS),
                other => *other == Token::RParen,
            });
        let constructs = words.get(at + 1).is_some_and(|next| matches!(next.token, Token::LBracket | Token::LParen));
        let is_sized = matches!(
            words.get(at + 1..at + 4),
            Some([open, size, close]) if open.token == Token::LBracket
                && matches!(size.token, Token::Number(..))
                && close.token == Token::RBracket
        );
        let behind_cast = at.checked_sub(2).is_some_and(|before| words[before].token == Token::DoubleColon);
        let constructs = constructs && !(is_sized && (behind_cast || declares));
        follows_type && !constructs && keyword(&words[at]) == Some(Keyword::ARRAY)
    };
    let respelled = words.iter().enumerate().flat_map(|(at, token)| match is_of_type(at) {
        // With a size the brackets are there.
        true if words.get(at + 1).is_some_and(|next| next.token == Token::LBracket) => Vec::new(),
        true => vec![symbol(token, Token::LBracket), symbol(token, Token::RBracket)],
        false => vec![token.clone()],
    });
    respelled.collect()
}

/// Whether a table's name may begin here, behind TABLE.
fn names_relation(token: &TokenWithSpan) -> bool {
    keyword(token) == Some(Keyword::ONLY) || (is_word(token) && !is_reserved(token))
}

/// Whether `INTO` or `INTO TEMPORARY` stands at the end.
fn follows_into(kept: &[TokenWithSpan]) -> bool {
    let words: Vec<Option<Keyword>> = kept.iter().rev().take(2).map(keyword).collect();
    match words.as_slice() {
        [Some(Keyword::INTO), before @ ..] => !matches!(before, [Some(Keyword::INSERT | Keyword::MERGE)]),
        [Some(Keyword::TEMP | Keyword::TEMPORARY), Some(Keyword::INTO)] => true,
        _ => false,
    }
}

/// A function in FROM that is called without parentheses: `FROM current_user`.
fn is_source_without_parentheses(token: &TokenWithSpan, kept: &[TokenWithSpan]) -> bool {
    const CALLED: [&str; 4] = ["current_user", "current_role", "session_user", "current_catalog"];
    let Some((before, rest)) = kept.split_last() else { return false };
    let is_source = match keyword(before) {
        Some(Keyword::JOIN) => true,
        Some(Keyword::FROM) => rest.last().and_then(keyword) != Some(Keyword::DISTINCT),
        _ => false,
    };
    is_source && CALLED.iter().any(|name| is_called(token, name))
}

/// Whether the tokens end with `::` and the name of a type.
fn follows_cast(kept: &[TokenWithSpan]) -> bool {
    let mut before = kept.iter().rev().map(|token| &token.token).peekable();
    while before.next_if(|token| matches!(token, Token::LBracket | Token::RBracket)).is_some() {}
    if before.next_if(|token| **token == Token::RParen).is_some() {
        while before.next_if(|token| matches!(token, Token::Number(..) | Token::Comma)).is_some() {}
        before.next_if(|token| **token == Token::LParen);
    }
    before.find(|token| !matches!(token, Token::Word(_) | Token::Period)) == Some(&Token::DoubleColon)
}

/// Whether a column of a table is being defined here, outside of parentheses of its own.
fn defines_column(kept: &[TokenWithSpan]) -> bool {
    let first: Vec<Keyword> = kept.iter().filter_map(keyword).take(5).collect();
    let outside = match first.first() {
        Some(Keyword::CREATE) => 1,
        Some(Keyword::ALTER) => 0,
        _ => return false,
    };
    let (mut depth, mut is_expression) = (0, false);
    for token in kept {
        match (&token.token, keyword(token)) {
            (Token::LParen, _) => depth += 1,
            (Token::RParen, _) => depth -= 1,
            (Token::Comma, _) if depth == outside => is_expression = false,
            // Of CREATE TABLE AS, and of ALTER TYPE.
            (_, Some(Keyword::AS)) if depth == 0 => return false,
            (_, Some(Keyword::USING)) if depth == outside => is_expression = true,
            _ => {}
        }
    }
    first.contains(&Keyword::TABLE) && depth == outside && !is_expression
}

/// The star of `t.*`: `(t).*` is spelled without parentheses, and where the row is one value it stands in them.
fn whole_row(kept: &mut Vec<TokenWithSpan>, star: TokenWithSpan, next: Option<&TokenWithSpan>) -> SqlResult<()> {
    let is = |token: &TokenWithSpan, wanted: Token| token.token == wanted;
    match kept.as_slice() {
        [before @ .., open, table, close, point]
            if is(close, Token::RParen) && is(open, Token::LParen) && is_word(table) && !names_function(before) =>
        {
            let row = [table.clone(), point.clone()];
            kept.truncate(kept.len() - 4);
            kept.extend(row);
        }
        [.., close, _] if is(close, Token::RParen) => {
            return Err(
                SqlError::not_supported("the fields of an expression as .*").with_hint("Name each: (row).field.")
            );
        }
        _ => {}
    }
    let is_value = next.is_some_and(|next| {
        is(next, Token::DoubleColon)
            || keyword(next) == Some(Keyword::IS)
            || is_called(next, "ISNULL")
            || is_called(next, "NOTNULL")
    });
    if !is_value {
        kept.push(star);
        return Ok(());
    }
    let dotted = kept.iter().rev().take_while(|t| is_word(t) || t.token == Token::Period).count();
    let leading =
        kept[kept.len() - dotted..].windows(2).take_while(|pair| is_word(&pair[0]) && is_word(&pair[1])).count();
    kept.insert(kept.len() - dotted + leading, symbol(&star, Token::LParen));
    let close = symbol(&star, Token::RParen);
    kept.extend([star, close]);
    Ok(())
}

/// Whether what comes next in parentheses are arguments.
fn names_function(before: &[TokenWithSpan]) -> bool {
    matches!(before.last(), Some(TokenWithSpan { token: Token::Word(word), .. }) if word.keyword == Keyword::NoKeyword)
}

/// Whether TABLE here is a query of its own, and not part of a command's name.
fn begins_query(before: Option<&TokenWithSpan>, is_query: bool) -> bool {
    let Some(before) = before else { return true };
    match keyword(before) {
        Some(
            Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT
            | Keyword::ALL
            | Keyword::DISTINCT
            | Keyword::AS
            | Keyword::EXPLAIN
            | Keyword::ANALYZE
            | Keyword::VERBOSE,
        ) => true,
        Some(_) => is_query && is_word(before),
        None => is_query || before.token == Token::LParen,
    }
}

pub(super) fn is_called(token: &TokenWithSpan, name: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name))
}

/// Whether a test may stand behind the token.
fn ends_operand(kept: &[TokenWithSpan]) -> bool {
    let Some((before, rest)) = kept.split_last() else { return false };
    // Behind a point a keyword is a name.
    if rest.last().is_some_and(|token| token.token == Token::Period) && is_word(before) {
        return true;
    }
    match &before.token {
        Token::RParen | Token::RBracket | Token::Number(..) | Token::SingleQuotedString(_) => true,
        Token::Word(_) => !matches!(
            keyword(before),
            Some(
                Keyword::SELECT
                    | Keyword::DISTINCT
                    | Keyword::ALL
                    | Keyword::AS
                    | Keyword::WHERE
                    | Keyword::HAVING
                    | Keyword::ON
                    | Keyword::BY
                    | Keyword::AND
                    | Keyword::OR
                    | Keyword::NOT
                    | Keyword::CASE
                    | Keyword::WHEN
                    | Keyword::THEN
                    | Keyword::ELSE
                    | Keyword::SET
            )
        ),
        _ => false,
    }
}

fn names_table(before: Option<&TokenWithSpan>) -> bool {
    let Some(before) = before else { return false };
    before.token == Token::Comma
        || matches!(
            keyword(before),
            Some(Keyword::FROM | Keyword::JOIN | Keyword::UPDATE | Keyword::USING | Keyword::INTO)
        )
}

/// Whether something that is read from may begin here.
fn begins_source(kept: &[TokenWithSpan]) -> bool {
    match kept.last() {
        Some(last) if last.token == Token::Comma => {
            let mut depth = 0_usize;
            for token in kept.iter().rev() {
                match (&token.token, keyword(token)) {
                    (Token::RParen, _) => depth += 1,
                    (Token::LParen, _) if depth == 0 => return false,
                    (Token::LParen, _) => depth -= 1,
                    (_, Some(Keyword::FROM | Keyword::USING)) if depth == 0 => return true,
                    (_, Some(Keyword::SELECT | Keyword::WHERE | Keyword::BY)) if depth == 0 => return false,
                    _ => {}
                }
            }
            false
        }
        Some(last) => matches!(keyword(last), Some(Keyword::FROM | Keyword::JOIN | Keyword::LATERAL | Keyword::USING)),
        None => false,
    }
}

/// What the words behind EXCLUDE leave out; `None` for others than PostgreSQL has.
fn exclusion_of(words: &[TokenWithSpan]) -> Option<FrameExclusion> {
    match words {
        [no, others] if is_called(no, "NO") && is_called(others, "OTHERS") => Some(FrameExclusion::NoOthers),
        [current, row] if is_called(current, "CURRENT") && is_called(row, "ROW") => Some(FrameExclusion::CurrentRow),
        [group] if is_called(group, "GROUP") => Some(FrameExclusion::Group),
        [ties] if is_called(ties, "TIES") => Some(FrameExclusion::Ties),
        _ => None,
    }
}

/// Puts what EXCLUDE says behind the keys of ORDER BY, before the frame that the tokens end with.
fn exclude(kept: &mut Vec<TokenWithSpan>, exclusion: FrameExclusion) {
    let Some((_, name)) = EXCLUSIONS.iter().find(|(known, _)| *known == exclusion) else { return };
    let mut depth = 0_usize;
    let mut is_sorted = false;
    let mut frame = None;
    for (at, token) in kept.iter().enumerate().rev() {
        match (&token.token, keyword(token)) {
            (Token::RParen, _) => depth += 1,
            (Token::LParen, _) if depth == 0 => break,
            (Token::LParen, _) => depth -= 1,
            (_, Some(Keyword::ROWS | Keyword::RANGE | Keyword::GROUPS)) if depth == 0 && frame.is_none() => {
                frame = Some(at);
            }
            (_, Some(Keyword::ORDER)) if depth == 0 && frame.is_some() => {
                is_sorted = true;
                break;
            }
            _ => {}
        }
    }
    let Some(at) = frame else { return };
    let place = kept[at].clone();
    let before = match is_sorted {
        true => vec![symbol(&place, Token::Comma)],
        false => vec![word(&place, "ORDER", Keyword::ORDER), word(&place, "BY", Keyword::BY)],
    };
    let marker = symbol(&place, Token::make_word(name, Some('"')));
    kept.splice(at..at, before.into_iter().chain([marker]));
}

/// Whether VARIADIC stands before an argument here.
fn begins_argument(before: Option<&TokenWithSpan>, next: Option<&TokenWithSpan>) -> bool {
    let follows = matches!(before.map(|token| &token.token), Some(Token::LParen | Token::Comma));
    let ends = matches!(next.map(|token| &token.token), None | Some(Token::Comma | Token::RParen | Token::Period));
    follows && !ends
}

/// Whether a bound of a frame begins behind the tokens.
fn begins_bound(kept: &[TokenWithSpan]) -> bool {
    let begins_frame = |token: Option<&TokenWithSpan>| {
        matches!(token.and_then(keyword), Some(Keyword::ROWS | Keyword::RANGE | Keyword::GROUPS))
    };
    match kept.last().and_then(keyword) {
        Some(Keyword::BETWEEN) => begins_frame(kept.len().checked_sub(2).and_then(|at| kept.get(at))),
        Some(Keyword::AND) => ends_frame(kept.len().checked_sub(2).and_then(|at| kept.get(at))),
        _ => begins_frame(kept.last()),
    }
}

fn ends_frame(before: Option<&TokenWithSpan>) -> bool {
    matches!(before.and_then(keyword), Some(Keyword::ROW | Keyword::PRECEDING | Keyword::FOLLOWING))
}

/// Whether the tokens end with `USING (a, b)`, the condition of a join.
fn follows_using(kept: &[TokenWithSpan]) -> bool {
    let Some((TokenWithSpan { token: Token::RParen, .. }, rest)) = kept.split_last() else { return false };
    let names = rest.iter().rev().take_while(|t| matches!(t.token, Token::Word(_) | Token::Comma)).count();
    let [.., using, open] = &rest[..rest.len() - names] else { return false };
    let is_join = kept.iter().any(|t| keyword(t) == Some(Keyword::JOIN));
    names > 0 && open.token == Token::LParen && keyword(using) == Some(Keyword::USING) && is_join
}

/// Whether the last WHEN of a MERGE is for rows that are not there.
fn is_not_matched(kept: &[TokenWithSpan]) -> bool {
    let when = kept.iter().rposition(|t| keyword(t) == Some(Keyword::WHEN));
    when.and_then(|when| kept.get(when + 1)).and_then(keyword) == Some(Keyword::NOT)
}

pub(super) fn is_word(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Word(_))
}

/// An action of MERGE: what is said before its column, and after it.
type Action = (&'static [(&'static str, Keyword)], &'static [Token]);

const UPDATE_OF: Action = (&[("UPDATE", Keyword::UPDATE), ("SET", Keyword::SET)], &[Token::Eq]);
const INSERT_OF: Action = (&[("INSERT", Keyword::INSERT)], &[]);

/// An action on a column that no table has.
fn stand_in(at: &TokenWithSpan, action: Action, column: &str) -> Vec<TokenWithSpan> {
    let (words, after) = action;
    let column = symbol(at, Token::make_word(column, Some('"')));
    let zero = symbol(at, Token::Number("0".to_owned(), false));
    let mut tokens: Vec<TokenWithSpan> = words.iter().map(|(text, keyword)| word(at, text, *keyword)).collect();
    if after.is_empty() {
        let (open, close) = (|| symbol(at, Token::LParen), || symbol(at, Token::RParen));
        tokens.extend([open(), column, close(), word(at, "VALUES", Keyword::VALUES), open(), zero, close()]);
    } else {
        tokens.push(column);
        tokens.extend(after.iter().map(|token| symbol(at, token.clone())));
        tokens.push(zero);
    }
    tokens
}

pub(super) fn word(at: &TokenWithSpan, text: &str, keyword: Keyword) -> TokenWithSpan {
    symbol(at, Token::Word(Word { value: text.to_owned(), quote_style: None, keyword }))
}

pub(super) fn symbol(at: &TokenWithSpan, token: Token) -> TokenWithSpan {
    TokenWithSpan { token, span: at.span }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn respelled(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let tokens = respell(tokens).unwrap();
        tokens.iter().map(|t| t.token.to_string()).collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    #[test]
    fn table_is_a_query() {
        assert_eq!(respelled("TABLE t"), "SELECT * FROM t");
        assert_eq!(respelled("INSERT INTO t TABLE u"), "INSERT INTO t SELECT * FROM u");
        assert_eq!(respelled("TABLE t UNION ALL (TABLE u)"), "SELECT * FROM t UNION ALL ( SELECT * FROM u )");
        assert_eq!(respelled("CREATE TABLE t (a int)"), "CREATE TABLE t ( a int )");
        assert_eq!(respelled("CREATE TABLE t AS TABLE u"), "CREATE TABLE t AS SELECT * FROM u");
        assert_eq!(respelled("DROP TABLE t").replace(' ', ""), "DROPTABLEt");
    }

    #[test]
    fn arrays_of_a_type() {
        assert_eq!(respelled("CREATE TABLE t (a text ARRAY NOT NULL)"), "CREATE TABLE t ( a text [ ] NOT NULL )");
        assert_eq!(respelled("SELECT '{1}'::int array, ARRAY[1]"), "SELECT '{1}' :: int [ ] , ARRAY [ 1 ]");
        assert_eq!(respelled("ALTER TABLE t ADD a numeric(5) array"), "ALTER TABLE t ADD a numeric ( 5 ) [ ]");
    }

    #[test]
    fn functions_in_from_without_parentheses() {
        assert_eq!(respelled("SELECT * FROM current_user"), "SELECT * FROM current_user ( )");
        assert_eq!(respelled("SELECT a IS DISTINCT FROM current_user"), "SELECT a IS DISTINCT FROM current_user");
    }

    #[test]
    fn tests_of_postgresql() {
        assert_eq!(respelled("SELECT a ISNULL, (b) NOTNULL"), "SELECT a IS NULL , ( b ) IS NOT NULL");
        assert_eq!(respelled("SELECT isnull FROM t"), "SELECT isnull FROM t");
        assert_eq!(respelled("SELECT a BETWEEN ASYMMETRIC 1 AND 2"), "SELECT a BETWEEN 1 AND 2");
        assert_eq!(respelled("SELECT a BETWEEN SYMMETRIC 2 AND 1"), "SELECT a BETWEEN \"symmetric#\" || 2 AND 1");
    }

    #[test]
    fn what_a_frame_leaves_out_stands_behind_its_order() {
        assert_eq!(
            respelled("SELECT sum(a) OVER (ROWS 1 PRECEDING EXCLUDE TIES) FROM t"),
            "SELECT sum ( a ) OVER ( ORDER BY \"exclude#ties\" ROWS 1 PRECEDING ) FROM t"
        );
        assert_eq!(
            respelled("SELECT 1 OVER (ORDER BY f(b) ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)"),
            "SELECT 1 OVER ( ORDER BY f ( b ) , \"exclude#current row\" ROWS BETWEEN 1 PRECEDING AND CURRENT ROW )"
        );
        assert_eq!(
            respelled("SELECT 1 OVER (ORDER BY a RANGE BETWEEN '1 day'::interval PRECEDING AND '1' FOLLOWING)"),
            "SELECT 1 OVER ( ORDER BY a RANGE BETWEEN ( '1 day' :: interval ) PRECEDING AND '1' FOLLOWING )"
        );
    }

    #[test]
    fn only_is_what_there_is() {
        assert_eq!(respelled("SELECT a FROM ONLY t FETCH FIRST ROW ONLY"), "SELECT a FROM t FETCH FIRST ROW ONLY");
    }

    #[test]
    fn whole_rows_are_values() {
        assert_eq!(respelled("SELECT (t).*, u.* FROM t, u"), "SELECT t . * , u . * FROM t , u");
        assert_eq!(respelled("SELECT a, t.*::text FROM t"), "SELECT a , ( t . * ) :: text FROM t");
        assert_eq!(respelled("SELECT s.t.* IS NULL FROM t"), "SELECT ( s . t . * ) IS NULL FROM t");
        assert_eq!(respelled("SELECT count(t.*) * 2"), "SELECT count ( t . * ) * 2");
    }

    #[test]
    fn actions_of_merge() {
        assert_eq!(
            respelled("MERGE INTO t USING u ON a = b WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING"),
            "MERGE INTO t USING u ON a = b WHEN MATCHED THEN UPDATE SET \"do#nothing\" = 0 \
             WHEN NOT MATCHED THEN INSERT ( \"do#nothing\" ) VALUES ( 0 )"
        );
        assert_eq!(
            respelled("MERGE INTO t USING u ON a = b WHEN NOT MATCHED THEN INSERT DEFAULT VALUES"),
            "MERGE INTO t USING u ON a = b WHEN NOT MATCHED THEN INSERT ( \"default#values\" ) VALUES ( 0 )"
        );
    }

    #[test]
    fn what_nothing_stands_for_is_refused() {
        for sql in ["SELECT f(1).*", "SELECT 1 FROM t JOIN u USING (a) AS x"] {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            assert!(respell(tokens).is_err(), "{sql}");
        }
        assert_eq!(respelled("DELETE FROM t USING (a) AS x"), "DELETE FROM t USING ( a ) AS x");
    }
}
