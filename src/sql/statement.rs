//! A query text becomes statements: split, parsed, classified. Refusals start here.
//!
//! Only the kinds of statements in [`Command`] go any further, and only the queries inside them ever reach DataFusion.
//! Everything else that parses is refused by name (0A000), never ignored.

use datafusion::sql::sqlparser::ast::{
    self, CopySource, CopyTarget, ObjectName, ObjectType, ResetStatement, Set, UtilityOption,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::change_syntax;
use super::comment_syntax::{self, CommentCommand};
use super::create_as_syntax::{CreateAs, CreateAsCommand, of_select_into};
use super::cursor::{self, CursorCommand, CursorSyntax};
use super::ddl::without_storage_actions;
use super::dml::changes_rows;
use super::error::{ErrorKind, SqlError, SqlResult};
use super::like_syntax::{self, LikeClause};
use super::locking::readable_locks;
use super::overriding::Overriding;
use super::prepare_syntax::{self, PrepareCommand};
use super::privileges::{self, GrantCommand, RoleCommand};
use super::respell::respell;
use super::sequence::{self, AlterSequence, CreateSequence, GivenOptions, SequenceCommand};
use super::session::SetConfig;
use super::source::SourceText;
use super::transaction_syntax;
pub(super) use super::transaction_syntax::TransactionCommand;
use super::utility_syntax::{self, UtilityCommand};
use super::words::Unexpected;

/// One statement of a query text: parsed and classified, not planned.
#[derive(Debug, Clone)]
pub struct Statement {
    pub(super) command: Command,
    /// The statement's own text, without the semicolon.
    pub text: String,
    /// The text that it is a part of: positions count from its beginning.
    pub(super) source: SourceText,
}

impl Statement {
    /// Whether this statement may run while a block waits for ROLLBACK.
    pub(super) fn is_allowed_in_failed_block(&self) -> bool {
        use TransactionCommand as T;
        let Command::Transaction(command) = &self.command else { return false };
        matches!(command, T::Commit { .. } | T::Rollback { .. } | T::RollbackTo(_) | T::Prepare)
    }

    /// Whether it reads or writes tables, so that a transaction's snapshot is of the moment when it begins.
    pub(super) fn takes_snapshot(&self) -> bool {
        let does_not = matches!(
            &self.command,
            Command::Transaction(_)
                | Command::Set(_)
                | Command::Show(_)
                | Command::Reset(_)
                | Command::Notify(_)
                | Command::Role(_)
                | Command::Discard(_)
                | Command::Lock(_)
                | Command::Cursor(CursorCommand::Fetch(_) | CursorCommand::Close(_))
                | Command::Deallocate(_)
        );
        !does_not
    }
}

/// The kinds of statements there are.
#[derive(Debug, Clone)]
pub(super) enum Command {
    Query(Box<ast::Query>),
    Insert(Box<InsertCommand>),
    Update(Box<ast::Update>),
    Delete(Box<ast::Delete>),
    Merge(Box<ast::Merge>),
    CreateTable(Box<CreateTableCommand>),
    CreateTableAs(Box<CreateAsCommand>),
    AlterTable(Box<AlterCommand>),
    DropTable(DropObjects),
    CreateView(Box<ast::CreateView>),
    DropView(DropObjects),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    DropSequence(DropObjects),
    CreateIndex(Box<ast::CreateIndex>),
    DropIndex(DropObjects),
    Comment(CommentCommand),
    Truncate(Truncate),
    Utility(UtilityCommand),
    Copy(Box<CopyCommand>),
    Lock(Box<ast::Lock>),
    Explain(Box<ExplainCommand>),
    Transaction(TransactionCommand),
    Cursor(CursorCommand),
    Prepare(Box<PrepareCommand>),
    Execute(ExecuteCommand),
    /// DEALLOCATE of one prepared statement, or of all.
    Deallocate(Option<String>),
    Set(Box<Set>),
    Show(String),
    SetConfig(SetConfig),
    Grant(Box<GrantCommand>),
    Role(Box<RoleCommand>),
    Reset(Option<String>),
    Notify(NotifyCommand),
    Discard(ast::DiscardObject),
}

/// A command about notifications.
#[derive(Debug, Clone)]
pub(super) enum NotifyCommand {
    Listen(String),
    /// Of one channel, or of all.
    Unlisten(Option<String>),
    Notify {
        channel: String,
        payload: String,
    },
}

#[derive(Debug, Clone)]
pub(super) struct InsertCommand {
    pub insert: ast::Insert,
    pub overriding: Option<Overriding>,
}

#[derive(Debug, Clone)]
pub(super) struct CreateTableCommand {
    pub create: ast::CreateTable,
    /// The options of each identity column, in the order of the columns.
    pub identities: Vec<GivenOptions>,
    /// Tables whose columns it gets too.
    pub likes: Vec<LikeClause>,
}

#[derive(Debug, Clone)]
pub(super) struct AlterCommand {
    pub alter: ast::AlterTable,
    /// The options of each new identity, in the order of the text.
    pub identities: Vec<GivenOptions>,
    /// Actions without a meaning here, which sqlparser does not read.
    pub ignored: Vec<&'static str>,
    /// ALTER VIEW: it must be one.
    pub of_view: bool,
}

#[derive(Debug, Clone)]
pub(super) struct DropObjects {
    pub names: Vec<ObjectName>,
    pub if_exists: bool,
    pub cascade: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Truncate {
    pub names: Vec<ObjectName>,
    pub restart_identity: bool,
    pub cascade: bool,
}

#[derive(Debug, Clone)]
pub(super) struct CopyCommand {
    pub source: CopySource,
    pub to_stdout: bool,
    /// What follows STDIN or STDOUT: sqlparser does not know all of PostgreSQL's options.
    pub options: Vec<Token>,
}

impl CopyCommand {
    /// Whether what it copies out are the rows of a change.
    pub fn changes_rows(&self) -> bool {
        matches!(&self.source, CopySource::Query(query) if changes_rows(query))
    }
}

#[derive(Debug, Clone)]
pub(super) struct ExplainCommand {
    pub inner: Statement,
    pub analyze: bool,
    pub verbose: bool,
    pub options: Vec<UtilityOption>,
}

#[derive(Debug, Clone)]
pub(super) struct ExecuteCommand {
    pub name: String,
    pub arguments: Vec<ast::Expr>,
}

/// Deepest nesting of expressions and sub-queries that is parsed: sqlparser's own default, which its author chose to
/// stay clear of a 2 MiB stack.
const MAX_NESTING: usize = 50;

/// Splits a query text into its statements and parses each. All of it parses, or nothing runs: as in PostgreSQL.
pub(super) fn parse(sql: &str) -> SqlResult<Vec<Statement>> {
    let dialect = PostgreSqlDialect {};
    let sql = &SourceText::new(sql);
    let tokens = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|e| SqlError::new(ErrorKind::Syntax, e.message).at(sql.position(e.location)))?;
    tokens
        .split(|t| t.token == Token::SemiColon)
        .filter(|chunk| chunk.iter().any(is_significant))
        .map(|chunk| parse_one(sql, chunk))
        .collect()
}

/// One expression on its own, as declarations keep it.
///
/// # Errors
/// 42601.
pub(super) fn parse_expression(text: &str) -> SqlResult<ast::Expr> {
    let parsed = Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(MAX_NESTING)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| syntax_error(&SourceText::new(text), Location { line: 1, column: 1 }, &error))
}

/// One expression, in tokens that were taken off a statement.
///
/// # Errors
/// 42601.
pub(super) fn parse_tokens_of_expression(tokens: Vec<Token>) -> SqlResult<ast::Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_recursion_limit(MAX_NESTING).with_tokens(tokens);
    let parsed = parser.parse_expr().and_then(|expr| match parser.peek_token().token {
        Token::EOF => Ok(expr),
        _ => parser.expected("end of statement", parser.peek_token()),
    });
    parsed.map_err(|error| {
        let error = syntax_error(&SourceText::default(), Location { line: 1, column: 1 }, &error);
        Box::new(SqlError { position: None, ..*error })
    })
}

pub(super) fn is_significant(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

fn parse_one(sql: &SourceText, tokens: &[TokenWithSpan]) -> SqlResult<Statement> {
    let text = text_of(sql, tokens);
    let significant: Vec<&TokenWithSpan> = tokens.iter().filter(|t| is_significant(t)).collect();
    if let Some(read) = transaction_syntax::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Transaction(command), text, source: sql.clone() });
    }
    if let Some(read) = privileges::read_role(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement {
            command: Command::Role(Box::new(command)),
            text: privileges::without_strings(&significant),
            source: sql.clone(),
        });
    }
    if let Some(read) = privileges::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Grant(Box::new(command)), text, source: sql.clone() });
    }
    if let Some(read) = utility_syntax::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Utility(command), text, source: sql.clone() });
    }
    if let Some(command) = parse_around(sql, tokens, &significant)? {
        return Ok(Statement { command, text, source: sql.clone() });
    }
    if let Some(read) = comment_syntax::read(&significant) {
        let command = read.map_err(|unexpected| unexpected_token(sql, unexpected.0, &significant))?;
        return Ok(Statement { command: Command::Comment(command), text, source: sql.clone() });
    }
    let mut tokens = readable_locks(respell(change_syntax::readable(tokens.to_vec()))?);
    refuse_unparsed_commands(&tokens)?;
    let copy_options = split_copy_options(&mut tokens);
    let overriding = Overriding::take(&mut tokens);
    let end = tokens.last().map_or(Location { line: 1, column: 1 }, |t| t.span.end);
    let told = |error: ParserError| syntax_error(sql, end, &error);
    let identities = take_identity_options(&mut tokens).map_err(told)?;
    let likes = like_syntax::take(&mut tokens)
        .map_err(|unexpected| unexpected_token(sql, unexpected.as_ref(), &significant))?;
    let of_view = take_alter_view(&mut tokens);
    let create_as = CreateAs::take(&mut tokens)?;
    let (tokens, ignored) = without_storage_actions(tokens)?;
    let mut command = match parse_tokens(tokens).map_err(told)? {
        Parsed::Statement(statement) => classify(*statement)?,
        Parsed::Sequence(command) => classify_sequence(*command)?,
    };
    match &mut command {
        Command::Copy(copy) => copy.options = copy_options,
        Command::CreateTable(create) if create.create.query.is_some() => {
            let create = create.create.clone();
            if let Some(made) = create_as.and_then(|create_as| create_as.command(create)) {
                command = Command::CreateTableAs(Box::new(made));
            }
        }
        Command::CreateTable(create) => (create.identities, create.likes) = (identities, likes),
        Command::AlterTable(alter) => {
            (alter.identities, alter.ignored, alter.of_view) = (identities, ignored, of_view);
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
) -> SqlResult<Option<Command>> {
    let told = |unexpected: Unexpected<'_>| unexpected_token(sql, unexpected.0, significant);
    let inner = |part: &[&TokenWithSpan]| {
        let is_first = |token: &TokenWithSpan| part.first().is_some_and(|first| std::ptr::eq(*first, token));
        let start = tokens.iter().position(is_first).unwrap_or(tokens.len());
        parse_one(sql, &tokens[start..])
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
    let Some(read) = prepare_syntax::read(significant) else { return Ok(None) };
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

/// What the parsers give.
enum Parsed {
    Statement(Box<ast::Statement>),
    Sequence(Box<SequenceCommand>),
}

fn parse_tokens(tokens: Vec<TokenWithSpan>) -> Result<Parsed, ParserError> {
    let mut parser =
        Parser::new(&PostgreSqlDialect {}).with_recursion_limit(MAX_NESTING).with_tokens_with_locations(tokens);
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

fn classify_sequence(command: SequenceCommand) -> SqlResult<Command> {
    match command {
        SequenceCommand::Create(create) => Ok(Command::CreateSequence(Box::new(create))),
        SequenceCommand::Alter(alter) => Ok(Command::AlterSequence(Box::new(alter))),
        SequenceCommand::Refused(what) => Err(SqlError::not_supported(what)),
    }
}

fn text_of(sql: &SourceText, tokens: &[TokenWithSpan]) -> String {
    let mut significant = tokens.iter().filter(|t| is_significant(t));
    let Some(first) = significant.next() else { return String::new() };
    let last = significant.next_back().unwrap_or(first);
    let (from, to) = (sql.position(first.span.start) - 1, sql.position(last.span.end) - 1);
    sql.chars().skip(from).take(to.saturating_sub(from)).collect()
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

pub(super) fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Commands of PostgreSQL that sqlparser cannot read: refused by name instead of as a syntax error.
fn refuse_unparsed_commands(tokens: &[TokenWithSpan]) -> SqlResult<()> {
    let first = tokens.iter().find(|t| is_significant(t));
    let Some(TokenWithSpan { token: Token::Word(word), .. }) = first else { return Ok(()) };
    let name = word.value.to_ascii_uppercase();
    if name == "CREATE" || name == "ALTER" {
        refuse_exclusion(tokens)?;
        refuse_view_clauses(tokens)?;
    }
    match name.as_str() {
        "SECURITY" | "REASSIGN" | "IMPORT" => Err(SqlError::not_supported(name)),
        _ => Ok(()),
    }
}

/// CREATE RECURSIVE VIEW and WITH CHECK OPTION, which sqlparser does not read.
fn refuse_view_clauses(tokens: &[TokenWithSpan]) -> SqlResult<()> {
    let words: Vec<Option<Keyword>> = tokens.iter().filter(|t| is_significant(t)).map(keyword).collect();
    let is_view = words.iter().take(6).any(|word| *word == Some(Keyword::VIEW));
    if is_view && words.iter().take(5).any(|word| *word == Some(Keyword::RECURSIVE)) {
        return Err(SqlError::not_supported("CREATE RECURSIVE VIEW")
            .with_hint("Use CREATE VIEW name AS WITH RECURSIVE name (columns) AS (...) SELECT * FROM name."));
    }
    if is_view && words.ends_with(&[Some(Keyword::CHECK), Some(Keyword::OPTION)]) {
        return Err(SqlError::not_supported("CREATE VIEW ... WITH CHECK OPTION")
            .with_hint("Views cannot be written to: leave the clause out, and put a CHECK on the table."));
    }
    Ok(())
}

/// EXCLUDE constraints, which sqlparser takes for a column's name.
fn refuse_exclusion(tokens: &[TokenWithSpan]) -> SqlResult<()> {
    let significant: Vec<&TokenWithSpan> = tokens.iter().filter(|t| is_significant(t)).collect();
    let excludes = significant.windows(2).any(|pair| {
        keyword(pair[0]) == Some(Keyword::EXCLUDE)
            && (keyword(pair[1]) == Some(Keyword::USING) || pair[1].token == Token::LParen)
    });
    if excludes { Err(SqlError::not_supported("an EXCLUDE constraint")) } else { Ok(()) }
}

/// A token that makes no sense where it is; `None` stands for the end of the statement.
fn unexpected_token(sql: &SourceText, token: Option<&TokenWithSpan>, tokens: &[&TokenWithSpan]) -> Box<SqlError> {
    let end = tokens.last().map_or(Location { line: 1, column: 1 }, |token| token.span.end);
    match token {
        None => SqlError::new(ErrorKind::Syntax, "syntax error at end of input").at(sql.position(end)),
        Some(token) => SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{}\"", token.token))
            .at(sql.position(token.span.start)),
    }
}

/// sqlparser's message, said as PostgreSQL says it, with the position.
fn syntax_error(sql: &SourceText, end: Location, error: &ParserError) -> Box<SqlError> {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => {
            return SqlError::new(ErrorKind::TooComplex, "the statement is nested too deeply")
                .with_detail(format!("At most {MAX_NESTING} levels of parentheses and sub-queries are parsed."));
        }
    };
    let (what, location) = split_location(text);
    let position = sql.position(location.unwrap_or(end));
    let error = match what.rsplit_once("found: ") {
        Some((_, "EOF")) => SqlError::new(ErrorKind::Syntax, "syntax error at end of input"),
        Some((expected, found)) => SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{found}\""))
            .with_detail(expected.trim_end_matches([',', ' ']).to_owned() + "."),
        None => SqlError::new(ErrorKind::Syntax, format!("syntax error: {what}")),
    };
    error.at(position)
}

/// Takes ` at Line: 1, Column: 8` off the end of a message.
fn split_location(text: &str) -> (&str, Option<Location>) {
    let parse = || {
        let (what, location) = text.rsplit_once(" at Line: ")?;
        let (line, column) = location.split_once(", Column: ")?;
        Some((what, Location { line: line.parse().ok()?, column: column.trim().parse().ok()? }))
    };
    parse().map_or((text, None), |(what, location)| (what, Some(location)))
}

fn classify(statement: ast::Statement) -> SqlResult<Command> {
    use ast::Statement as S;
    Ok(match statement {
        S::Query(query) => match SetConfig::of_query(&query) {
            Some(call) => Command::SetConfig(call),
            None => match of_select_into(query) {
                Ok(create) => Command::CreateTableAs(create),
                Err(query) => Command::Query(query),
            },
        },
        S::Insert(insert) => Command::Insert(Box::new(InsertCommand { insert, overriding: None })),
        S::Update(update) => Command::Update(Box::new(update)),
        S::Delete(delete) => Command::Delete(Box::new(delete)),
        S::Merge(merge) => Command::Merge(Box::new(merge)),
        S::CreateTable(create) => {
            let (identities, likes) = (Vec::new(), Vec::new());
            Command::CreateTable(Box::new(CreateTableCommand { create, identities, likes }))
        }
        S::AlterTable(alter)
            if alter.location.is_none() && alter.on_cluster.is_none() && alter.table_type.is_none() =>
        {
            Command::AlterTable(Box::new(AlterCommand {
                alter,
                identities: Vec::new(),
                ignored: Vec::new(),
                of_view: false,
            }))
        }
        S::CreateIndex(create) => Command::CreateIndex(Box::new(create)),
        S::Drop { object_type: ObjectType::Table, if_exists, names, cascade, .. } => {
            Command::DropTable(DropObjects { names, if_exists, cascade })
        }
        S::CreateView(create) => Command::CreateView(Box::new(create)),
        S::Drop { object_type: ObjectType::View, if_exists, names, cascade, .. } => {
            Command::DropView(DropObjects { names, if_exists, cascade })
        }
        S::Drop { object_type: ObjectType::Sequence, if_exists, names, cascade, .. } => {
            Command::DropSequence(DropObjects { names, if_exists, cascade })
        }
        S::Drop { object_type: ObjectType::Index, if_exists, names, cascade, .. } => {
            Command::DropIndex(DropObjects { names, if_exists, cascade })
        }
        S::Drop { object_type, .. } => return Err(SqlError::not_supported(format!("DROP {object_type}"))),
        S::Truncate(truncate) => Command::Truncate(Truncate {
            restart_identity: truncate.identity == Some(ast::TruncateIdentityOption::Restart),
            cascade: truncate.cascade == Some(ast::CascadeOption::Cascade),
            names: truncate.table_names.into_iter().map(|t| t.name).collect(),
        }),
        S::Copy { source, to, target, .. } => {
            let copy = CopyCommand { source, to_stdout: to, options: Vec::new() };
            check_copy_target(to, &target)?;
            Command::Copy(Box::new(copy))
        }
        S::Explain { analyze, verbose, statement, format, options, .. } => {
            let mut options = options.unwrap_or_default();
            if let Some(format) = format {
                let name = ast::Ident::new("FORMAT");
                let value = ast::Expr::Identifier(ast::Ident::new(format.to_string().trim_start_matches("FORMAT ")));
                options.push(UtilityOption { name, arg: Some(value) });
            }
            let text = statement.to_string();
            // Its errors are those of the statement around it.
            let inner = Statement { command: classify(*statement)?, text, source: SourceText::default() };
            Command::Explain(Box::new(ExplainCommand { inner, analyze, verbose, options }))
        }
        S::Lock(lock) => Command::Lock(Box::new(lock)),
        S::ShowVariable { variable } => {
            let words: Vec<&str> = variable.iter().map(|i| i.value.as_str()).collect();
            Command::Show(words.join(" "))
        }
        S::Set(set) => Command::Set(Box::new(set)),
        S::Reset(ResetStatement { reset }) => match reset {
            ast::Reset::ALL => Command::Reset(None),
            ast::Reset::ConfigurationParameter(name) => Command::Reset(Some(dotted(&name))),
        },
        S::Execute { name: Some(name), parameters, immediate: false, into, using, .. }
            if into.is_empty() && using.is_empty() =>
        {
            Command::Execute(ExecuteCommand { name: dotted(&name), arguments: parameters })
        }
        S::Deallocate { name, .. } => {
            let all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
            Command::Deallocate((!all).then(|| fold(&name)))
        }
        S::LISTEN { channel } => Command::Notify(NotifyCommand::Listen(fold(&channel))),
        S::UNLISTEN { channel } => {
            let all = channel.quote_style.is_none() && channel.value == "*";
            Command::Notify(NotifyCommand::Unlisten((!all).then(|| fold(&channel))))
        }
        S::NOTIFY { channel, payload } => {
            Command::Notify(NotifyCommand::Notify { channel: fold(&channel), payload: payload.unwrap_or_default() })
        }
        S::Discard { object_type } => Command::Discard(object_type),
        other => return Err(refusal(&other)),
    })
}

fn check_copy_target(to: bool, target: &CopyTarget) -> SqlResult<()> {
    match (to, target) {
        // PostgreSQL takes either word for the client.
        (_, CopyTarget::Stdout | CopyTarget::Stdin) => Ok(()),
        (_, CopyTarget::File { .. } | CopyTarget::Program { .. }) => Err(SqlError::new(
            ErrorKind::InsufficientPrivilege,
            "COPY to or from a file or program of the server is not allowed",
        )
        .with_hint("Use COPY ... FROM STDIN or TO STDOUT; psql's \\copy reads and writes files of the client.")),
    }
}

/// Why a statement that parses is not run: by its command's name, and 42501 for what would touch the server's files.
fn refusal(statement: &ast::Statement) -> Box<SqlError> {
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    let name = words.join(" ");
    match statement {
        ast::Statement::Load { .. } | ast::Statement::Install { .. } | ast::Statement::Directory { .. } => {
            SqlError::new(
                ErrorKind::InsufficientPrivilege,
                format!("{name} is not allowed: it would touch the server's files"),
            )
        }
        _ => SqlError::not_supported(name),
    }
}

/// An identifier as PostgreSQL folds it: lower case unless quoted.
pub(super) fn fold(ident: &ast::Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// A dotted name (`egt.mode`), folded.
pub(super) fn dotted(name: &ObjectName) -> String {
    let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

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
