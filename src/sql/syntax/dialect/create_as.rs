//! What sqlparser does not read of CREATE TABLE ... AS: the names of its columns, and WITH [NO] DATA.

use sqlparser::ast::{self, Query, SetExpr};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use tablegate_bind::{Identifier, ParsedQuery};
use tablegate_types::error::{SqlError, SqlResult};

use crate::syntax::{CreateTableCommand, is_significant, keyword};

/// CREATE TABLE ... AS, or SELECT ... INTO.
#[derive(Debug, Clone)]
pub(crate) struct CreateAsCommand {
    /// The table, without its columns.
    pub table: CreateTableCommand,
    pub query: ParsedQuery,
    /// Names for the first of its columns.
    pub columns: Vec<Identifier>,
    pub with_data: bool,
}

impl CreateAsCommand {
    /// Without what is taken off its tokens.
    pub(crate) fn of(create: ast::CreateTable, query: Query) -> Self {
        let table = CreateTableCommand::of(create);
        Self { table, query: query.into(), columns: Vec::new(), with_data: true }
    }
}

/// What was taken off the tokens of a CREATE TABLE ... AS.
#[derive(Debug, Clone)]
pub(crate) struct CreateAs {
    columns: Vec<Identifier>,
    with_data: bool,
}

impl CreateAs {
    /// Takes it off the tokens; `None` where they are no CREATE TABLE ... AS.
    ///
    /// # Errors
    /// 0A000 for AS EXECUTE.
    pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> SqlResult<Option<Self>> {
        let significant: Vec<usize> = (0..tokens.len()).filter(|at| is_significant(&tokens[*at])).collect();
        let word = |n: usize| significant.get(n).and_then(|at| keyword(&tokens[*at]));
        let is_table = (1..4).any(|n| word(n) == Some(Keyword::TABLE));
        if word(0) != Some(Keyword::CREATE) || !is_table {
            return Ok(None);
        }
        let Some(as_at) = outside_parentheses(tokens, &significant, Keyword::AS) else { return Ok(None) };
        let next = significant.iter().find(|at| **at > as_at).and_then(|at| keyword(&tokens[*at]));
        if next == Some(Keyword::EXECUTE) {
            return Err(SqlError::not_supported("CREATE TABLE ... AS EXECUTE")
                .with_hint("Write the prepared statement's query behind AS."));
        }
        let with_data = take_data(tokens, &significant);
        let columns = take_columns(tokens, as_at);
        Ok(Some(Self { columns, with_data }))
    }

    /// Gives it back to the command.
    pub(crate) fn set(self, command: &mut CreateAsCommand) {
        (command.columns, command.with_data) = (self.columns, self.with_data);
    }
}

/// `SELECT ... INTO table`, which means the same; a query without INTO comes back.
pub(crate) fn of_select_into(mut query: Box<Query>) -> Result<Box<CreateAsCommand>, Box<Query>> {
    let Some(into) = take_into(&mut query.body) else { return Err(query) };
    let create = ast::helpers::stmt_create_table::CreateTableBuilder::new(into.name).temporary(into.temporary).build();
    Ok(Box::new(CreateAsCommand::of(create, *query)))
}

fn take_into(body: &mut SetExpr) -> Option<ast::SelectInto> {
    match body {
        SetExpr::Select(select) => select.into.take(),
        SetExpr::SetOperation { left, .. } => take_into(left),
        _ => None,
    }
}

/// Where a keyword stands outside of all parentheses.
fn outside_parentheses(tokens: &[TokenWithSpan], significant: &[usize], wanted: Keyword) -> Option<usize> {
    let mut depth = 0_usize;
    significant.iter().copied().find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && keyword(&tokens[*at]) == Some(wanted)
    })
}

/// Takes WITH [NO] DATA off the end; whether there is to be data.
fn take_data(tokens: &mut Vec<TokenWithSpan>, significant: &[usize]) -> bool {
    let last: Vec<Option<Keyword>> = significant.iter().rev().take(3).map(|at| keyword(&tokens[*at])).collect();
    let (count, with_data) = match last.as_slice() {
        [Some(Keyword::DATA), Some(Keyword::NO), Some(Keyword::WITH)] => (3, false),
        [Some(Keyword::DATA), Some(Keyword::WITH), ..] => (2, true),
        _ => return true,
    };
    if let Some(from) = significant.len().checked_sub(count) {
        tokens.truncate(significant[from]);
    }
    with_data
}

/// Takes the list of names behind the table's own off, if there is one.
fn take_columns(tokens: &mut Vec<TokenWithSpan>, as_at: usize) -> Vec<Identifier> {
    let Some(open) = tokens[..as_at].iter().position(|t| t.token == Token::LParen) else { return Vec::new() };
    let Some(close) = tokens[open..as_at].iter().position(|t| t.token == Token::RParen) else { return Vec::new() };
    let before = tokens[..open].iter().rev().find(|t| is_significant(t)).and_then(keyword);
    let inside: Vec<&Token> =
        tokens[open + 1..open + close].iter().filter(|t| is_significant(t)).map(|t| &t.token).collect();
    let names: Vec<Identifier> = inside
        .iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.clone().into_ident(Span::empty()).into()),
            _ => None,
        })
        .collect();
    let is_list = names.len() + names.len().saturating_sub(1) == inside.len();
    if before == Some(Keyword::WITH) || !is_list {
        return Vec::new();
    }
    tokens.drain(open..=open + close);
    names
}
