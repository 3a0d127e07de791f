//! From a query text to its statements. What sqlparser does not read, or reads otherwise than PostgreSQL, is removed
//! from the tokens or respelled before it sees them.

use std::any::Any;
use std::sync::Arc;

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use tablegate_bind::ParsedExpression;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bounded::BoundedDialect;
use super::classify::{classify, classify_sequence, refuse_unparsed_commands};
use super::dialect::alter::without_unread_actions;
use super::dialect::create_as::CreateAs;
use super::dialect::cursor::{self, CursorCommand, CursorSyntax};
use super::dialect::explain::{self, ExplainSyntax};
use super::dialect::overriding::Overriding;
use super::dialect::prepare::{self, PrepareCommand};
use super::dialect::respell::respell;
use super::dialect::row_locks::readable_locks;
use super::dialect::sequence::{self, GivenOptions, SequenceCommand};
use super::dialect::utility::UtilityCommand;
use super::dialect::words::Unexpected;
use super::dialect::{
    change, comment, fetch_first, grant, item_assignment, like, names, not_done, operators, plain, role, set_forms,
    signs, storage, transaction, unicode, utility,
};
use super::numbers;
use super::scanner;
use super::source::SourceText;
use super::syntax_error::{syntax_error, unexpected_token};
use super::{Command, ExplainCommand, Statement, depth, is_significant, keyword};
use crate::limits::MAX_NESTING;

/// Most statements around another one: EXPLAIN DECLARE, and what is refused.
const MOST_AROUND: usize = 3;

/// Splits a query text into its statements and parses each. All of it parses, or nothing runs: as in PostgreSQL.
pub(crate) fn parse(sql: &str) -> SqlResult<Vec<Statement>> {
    parse_source(&SourceText::new(sql))
}

/// The same, of a text for which something is held as long as there are statements of it.
pub(crate) fn parse_held(sql: &str, held: Arc<dyn Any + Send + Sync>) -> SqlResult<Vec<Statement>> {
    parse_source(&SourceText::holding(sql, held))
}

fn parse_source(sql: &SourceText) -> SqlResult<Vec<Statement>> {
    let tokens = tokens_of(sql)?;
    numbers::refuse_junk(sql, &tokens)?;
    let mut depth = 0_usize;
    let ends = |token: &TokenWithSpan| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        // Inside of parentheses it parts the commands of a rule.
        depth == 0 && token.token == Token::SemiColon
    };
    let statements = tokens.split(ends).filter(|chunk| chunk.iter().any(is_significant));
    statements.map(|chunk| depth::check(chunk).and_then(|_links| parse_one(sql, chunk, MOST_AROUND))).collect()
}

fn tokens_of(sql: &SourceText) -> SqlResult<Vec<TokenWithSpan>> {
    scanner::tokens(sql)
        .map_err(|e| SqlError::new(ErrorKind::Syntax, e.message).at(sql.position(e.location)))
        .and_then(|tokens| unicode::read(sql, signs::apart(tokens)))
        .and_then(|tokens| with_continued_strings(sql, tokens))
}

/// Strings with nothing but white space and a line's end between them are one.
///
/// # Errors
/// 42601 for two that are not one.
fn with_continued_strings(sql: &SourceText, tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    if tokens.iter().filter(|token| is_string(&token.token)).nth(1).is_none() {
        return Ok(tokens);
    }
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Where the last string is, as long as only white space follows.
    let mut last: Option<usize> = None;
    for token in tokens {
        match (last, &token.token) {
            (Some(at), Token::SingleQuotedString(more)) => {
                let goes_on = kept[at].span.end.line < token.span.start.line;
                match &mut kept[at].token {
                    Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) if goes_on => {
                        text.push_str(more)
                    }
                    _ => {
                        let message = format!("syntax error at or near \"{}\"", token.token);
                        return Err(SqlError::new(ErrorKind::Syntax, message).at(sql.position(token.span.start)));
                    }
                }
                kept[at].span.end = token.span.end;
                kept.truncate(at + 1);
                continue;
            }
            (_, string) if is_string(string) => last = Some(kept.len()),
            (_, Token::Whitespace(_)) => {}
            _ => last = None,
        }
        kept.push(token);
    }
    Ok(kept)
}

fn is_string(token: &Token) -> bool {
    matches!(token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_))
}

/// The bounds of a parse of these tokens.
///
/// # Errors
/// 54001 when what they are would be too deep.
fn bounds_of(tokens: &[TokenWithSpan]) -> SqlResult<BoundedDialect> {
    Ok(BoundedDialect::new(tokens.len(), depth::check(tokens)?))
}

fn parser(bounds: &BoundedDialect) -> Parser<'_> {
    Parser::new(bounds).with_recursion_limit(MAX_NESTING)
}

/// One expression on its own, as declarations keep it.
///
/// # Errors
/// 42601.
pub(crate) fn parse_expression(text: &str) -> SqlResult<ParsedExpression> {
    let (source, start) = (&SourceText::new(text), Location { line: 1, column: 1 });
    let tokens = tokens_of(source)?;
    let bounds = bounds_of(&tokens)?;
    let parsed = parser(&bounds).with_tokens_with_locations(tokens).parse_expr();
    parsed
        .map(ParsedExpression::from)
        .map_err(|error| bounds.gave_up().unwrap_or_else(|| syntax_error(source, start, &error)))
}

/// One expression, in tokens that were taken off a statement.
///
/// # Errors
/// 42601.
pub(super) fn parse_tokens_of_expression(tokens: Vec<Token>) -> SqlResult<ParsedExpression> {
    let tokens: Vec<TokenWithSpan> = tokens.into_iter().map(TokenWithSpan::wrap).collect();
    let bounds = bounds_of(&tokens)?;
    let mut parser = parser(&bounds).with_tokens_with_locations(tokens);
    let parsed = parser.parse_expr().and_then(|expr| match parser.peek_token().token {
        Token::EOF => Ok(expr),
        _ => parser.expected("end of statement", parser.peek_token()),
    });
    parsed.map(ParsedExpression::from).map_err(|error| {
        if let Some(stopped) = bounds.gave_up() {
            return stopped;
        }
        let error = syntax_error(&SourceText::default(), Location { line: 1, column: 1 }, &error);
        Box::new(SqlError { position: None, ..*error })
    })
}

/// Parses a statement in which so many may be within each other.
fn parse_one(sql: &SourceText, tokens: &[TokenWithSpan], around: usize) -> SqlResult<Statement> {
    parse_as_written(sql, tokens, around).or_else(|error| {
        let place_of = |error: &SqlError| {
            let place = sql.line_and_column(error.position.filter(|_| error.kind == ErrorKind::Syntax)?);
            Some(tokens.partition_point(|token| (token.span.start.line, token.span.start.column) < place))
        };
        let parsed =
            names::parsed(tokens, &error, |error| place_of(error), |tokens| parse_as_written(sql, tokens, around));
        parsed.ok_or_else(|| {
            let place = place_of(&error);
            not_done::of_join(tokens, place, error)
        })
    })
}

fn parse_as_written(sql: &SourceText, tokens: &[TokenWithSpan], around: usize) -> SqlResult<Statement> {
    let text = text_of(sql, tokens);
    let significant: Vec<&TokenWithSpan> = tokens.iter().filter(|t| is_significant(t)).collect();
    if let Some(read) = transaction::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Transaction(command), text, source: sql.clone() });
    }
    if let Some(read) = role::read_role(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement {
            command: Command::Role(Box::new(command)),
            text: role::without_strings(&significant),
            source: sql.clone(),
        });
    }
    if let Some(read) = grant::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Grant(Box::new(command)), text, source: sql.clone() });
    }
    if let Some(read) = utility::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Utility(command), text, source: sql.clone() });
    }
    if let Some(command) = parse_around(sql, tokens, &significant, around)? {
        return Ok(Statement { command, text, source: sql.clone() });
    }
    if let Some(read) = comment::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Comment(command), text, source: sql.clone() });
    }
    not_done::refuse(tokens)?;
    let tokens = operators::readable(set_forms::readable(tokens.to_vec())?)?;
    let tokens = storage::without_storage(fetch_first::readable(plain::spelled(tokens)?)?)?;
    let mut tokens = readable_locks(respell(change::readable(item_assignment::readable(tokens)?))?);
    refuse_unparsed_commands(&tokens)?;
    let copy_options = split_copy_options(&mut tokens);
    let overriding = Overriding::take(&mut tokens);
    let end = tokens.last().map_or(Location { line: 1, column: 1 }, |t| t.span.end);
    let bounds = bounds_of(&tokens)?;
    let told = |error: ParserError| bounds.gave_up().unwrap_or_else(|| syntax_error(sql, end, &error));
    let identities = take_identity_options(&mut tokens).map_err(told)?;
    let likes =
        like::take(&mut tokens).map_err(|unexpected| unexpected_token(sql, unexpected.as_ref(), &significant))?;
    let of_view = take_alter_view(&mut tokens);
    let create_as = CreateAs::take(&mut tokens)?;
    let (tokens, taken) = without_unread_actions(tokens, &told)?;
    let mut command = match parse_tokens(tokens, &bounds).map_err(told)? {
        Parsed::Statement(statement) => classify(*statement)?,
        Parsed::Sequence(command) => classify_sequence(*command)?,
    };
    match &mut command {
        Command::Copy(copy) => copy.read_clauses(&copy_options),
        Command::CreateTableAs(create) if create_as.is_some() => {
            create_as.into_iter().for_each(|create_as| create_as.set(create));
        }
        Command::CreateTable(create) => {
            create.set_identities(identities);
            (create.likes, create.source) = (likes, sql.clone());
        }
        Command::AlterTable(alter) => {
            alter.set_identities(identities);
            (alter.taken, alter.of_view, alter.source) = (taken, of_view, sql.clone());
        }
        other => Overriding::set(overriding, other)?,
    }
    Ok(Statement { command, text, source: sql.clone() })
}

/// A command about cursors, or one around another statement, which is parsed as if it stood alone.
fn parse_around(
    sql: &SourceText,
    tokens: &[TokenWithSpan],
    significant: &[&TokenWithSpan],
    around: usize,
) -> SqlResult<Option<Command>> {
    let told = |unexpected: Unexpected<'_>| unexpected_token(sql, unexpected.0, significant);
    let inner = |part: &[&TokenWithSpan]| {
        let is_first = |token: &TokenWithSpan| part.first().is_some_and(|first| std::ptr::eq(*first, token));
        let start = tokens.iter().position(is_first).unwrap_or(tokens.len());
        match around.checked_sub(1) {
            Some(around) => parse_one(sql, &tokens[start..], around),
            None => Err(unexpected_token(sql, part.first().copied(), significant)),
        }
    };
    if let Some(read) = cursor::read(significant) {
        let command = match read.map_err(told)? {
            CursorSyntax::Declare { name, options, query: part } => {
                let query = inner(part)?;
                if !matches!(query.command, Command::Query(_)) {
                    return Err(unexpected_token(sql, part.first().copied(), significant));
                }
                CursorCommand::Declare(Box::new(options.declare(name, query)))
            }
            CursorSyntax::Fetch(fetch) => CursorCommand::Fetch(fetch),
            CursorSyntax::Close(name) => CursorCommand::Close(name),
        };
        return Ok(Some(Command::Cursor(command)));
    }
    if let Some(read) = explain::read(significant) {
        let ExplainSyntax { analyze, verbose, options, statement } = read.map_err(told)?;
        let explained = inner(statement)?;
        if is_stored_view(&explained.command) {
            return Ok(Some(explained.command));
        }
        if !is_explainable(&explained.command) {
            return Err(unexpected_token(sql, statement.first().copied(), significant));
        }
        return Ok(Some(Command::Explain(Box::new(ExplainCommand { inner: explained, analyze, verbose, options }))));
    }
    let Some(read) = prepare::read(significant) else { return Ok(None) };
    let syntax = read.map_err(told)?;
    let statement = inner(syntax.statement)?;
    let is_plannable = matches!(
        statement.command,
        Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) | Command::Merge(_)
    );
    if !is_plannable {
        return Err(unexpected_token(sql, syntax.statement.first().copied(), significant));
    }
    let types = syntax.types()?;
    Ok(Some(Command::Prepare(Box::new(PrepareCommand { name: syntax.name, types, statement }))))
}

/// Whether PostgreSQL's grammar has the command behind EXPLAIN.
fn is_explainable(command: &Command) -> bool {
    match command {
        Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) | Command::Merge(_) => true,
        Command::CreateTableAs(_) | Command::Execute(_) => true,
        Command::Cursor(command) => matches!(command, CursorCommand::Declare(_)),
        _ => false,
    }
}

/// CREATE and REFRESH of a materialized view can be explained in PostgreSQL: here they are refused as they are alone.
fn is_stored_view(command: &Command) -> bool {
    matches!(command, Command::Utility(UtilityCommand::Refused { name, .. }) if name.ends_with("MATERIALIZED VIEW"))
}

/// What the parsers give.
enum Parsed {
    Statement(Box<ast::Statement>),
    Sequence(Box<SequenceCommand>),
}

fn parse_tokens(tokens: Vec<TokenWithSpan>, bounds: &BoundedDialect) -> Result<Parsed, ParserError> {
    let mut parser = parser(bounds).with_tokens_with_locations(tokens);
    let parsed = match sequence::parse_command(&mut parser)? {
        Some(command) => Parsed::Sequence(Box::new(command)),
        None => Parsed::Statement(Box::new(parser.parse_statement()?)),
    };
    match parser.peek_token().token {
        Token::EOF => Ok(parsed),
        _ => parser.expected("end of statement", parser.peek_token()),
    }
}

/// What ALTER VIEW says is read as ALTER TABLE: PostgreSQL takes either for the name of a view and its columns.
fn take_alter_view(tokens: &mut [TokenWithSpan]) -> bool {
    let mut significant = tokens.iter_mut().filter(|t| is_significant(t));
    let (Some(first), Some(second)) = (significant.next(), significant.next()) else { return false };
    let is_alter_view = keyword(first) == Some(Keyword::ALTER) && keyword(second) == Some(Keyword::VIEW);
    if is_alter_view {
        second.token = Token::make_keyword("TABLE");
    }
    is_alter_view
}

/// Takes the options of identity columns off a CREATE or ALTER TABLE: sqlparser knows them in one order only.
fn take_identity_options(tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<GivenOptions>, ParserError> {
    match tokens.iter().filter_map(keyword).next() {
        Some(Keyword::CREATE | Keyword::ALTER) => sequence::identity_options(tokens),
        _ => Ok(Vec::new()),
    }
}

fn text_of(sql: &SourceText, tokens: &[TokenWithSpan]) -> String {
    let mut significant = tokens.iter().filter(|t| is_significant(t));
    let Some(first) = significant.next() else { return String::new() };
    let last = significant.next_back().unwrap_or(first);
    sql.between(sql.position(first.span.start), sql.position(last.span.end)).to_owned()
}

/// Takes what follows STDIN or STDOUT off a COPY.
fn split_copy_options(tokens: &mut Vec<TokenWithSpan>) -> Vec<Token> {
    let significant: Vec<usize> = (0..tokens.len()).filter(|at| is_significant(&tokens[*at])).take(3).collect();
    let [copy, second, third] = significant.as_slice() else { return Vec::new() };
    if keyword(&tokens[*copy]) != Some(Keyword::COPY) {
        return Vec::new();
    }
    // `COPY BINARY t`, from before there were options.
    let is_table =
        matches!(&tokens[*third].token, Token::Word(word) if !matches!(word.keyword, Keyword::FROM | Keyword::TO));
    let binary = is_table && keyword(&tokens[*second]) == Some(Keyword::BINARY);
    if binary {
        tokens.remove(*second);
    }
    let mut depth = 0_usize;
    let target = tokens.iter().position(|token| match token.token {
        Token::LParen => {
            depth += 1;
            false
        }
        Token::RParen => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0 && matches!(keyword(token), Some(Keyword::STDIN | Keyword::STDOUT)),
    });
    let Some(target) = target else { return Vec::new() };
    let options = tokens.split_off(target + 1).into_iter().filter(is_significant).map(|t| t.token);
    let mut options: Vec<Token> = options.collect();
    if binary {
        let behind_with = matches!(options.first(), Some(Token::Word(word)) if word.keyword == Keyword::WITH);
        options.insert(usize::from(behind_with), Token::make_keyword("BINARY"));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::TransactionCommand;

    fn kinds(sql: &str) -> Vec<String> {
        parse(sql).unwrap().iter().map(|s| s.text.clone()).collect()
    }

    #[test]
    fn a_text_splits_at_semicolons_outside_strings() {
        assert_eq!(kinds("SELECT ';' ; ;\n select $$;$$ -- ;\n;"), ["SELECT ';'", "select $$;$$"]);
        assert!(kinds(" ; -- nothing\n").is_empty());
    }

    #[test]
    fn syntax_errors_have_positions() {
        let error = parse("SELECT 1;\nSELEC 2").unwrap_err();
        assert_eq!((error.kind, error.position), (ErrorKind::Syntax, Some(11)));
        assert_eq!(error.message, "syntax error at or near \"SELEC\"");
        let error = parse("SELECT 'é', FROM").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Syntax);
        let error = parse("SELECT * FROM t WHERE").unwrap_err();
        assert_eq!(error.message, "syntax error at end of input");
    }

    #[test]
    fn what_is_not_done_is_refused_by_name() {
        for (sql, kind) in [
            ("COPY t TO '/tmp/x'", ErrorKind::InsufficientPrivilege),
            ("COPY t FROM PROGRAM 'ls'", ErrorKind::InsufficientPrivilege),
            ("CREATE TABLE t (a int, EXCLUDE USING gist (a WITH =))", ErrorKind::FeatureNotSupported),
        ] {
            assert_eq!(parse(sql).unwrap_err().kind, kind, "{sql}");
        }
    }

    #[test]
    fn transaction_commands_have_positions_too() {
        let error = parse("BEGIN; COMMIT AND").unwrap_err();
        assert_eq!((error.message.as_str(), error.position), ("syntax error at end of input", Some(18)));
        let error = parse("abort to s").unwrap_err();
        assert_eq!((error.message.as_str(), error.position), ("syntax error at or near \"to\"", Some(7)));
        assert!(matches!(
            parse(" abort work -- x").unwrap()[0].command,
            Command::Transaction(TransactionCommand::Rollback { chain: false })
        ));
    }
}
