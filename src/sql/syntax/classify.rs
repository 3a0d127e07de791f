//! Which kind a parsed statement is; a kind that is not on the list ends here, refused by name.

use sqlparser::ast::{self, CopyTarget, ObjectType, ResetStatement};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::{ParsedExpression, QualifiedName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::dialect::copy::CopyCommand;
use super::dialect::create_as::{CreateAsCommand, of_select_into};
use super::dialect::sequence::SequenceCommand;
use super::index::CreateIndexCommand;
use super::view::CreateViewCommand;
use super::{
    AlterCommand, Command, CreateTableCommand, Discarded, DropObjects, ExecuteCommand, InsertCommand, LockCommand,
    NotifyCommand, ParsedChange, RenameIndex, SetCommand, TableMode, Truncate, dotted, fold, is_significant, keyword,
};
use crate::syntax::SetConfig;

pub(super) fn classify(statement: ast::Statement) -> SqlResult<Command> {
    use ast::Statement as S;
    Ok(match statement {
        S::Query(query) => match SetConfig::of_query(&query) {
            Some(call) => Command::SetConfig(call),
            None => match of_select_into(query) {
                Ok(create) => Command::CreateTableAs(create),
                Err(query) => Command::Query(Box::new((*query).into())),
            },
        },
        S::Insert(insert) => Command::Insert(Box::new(InsertCommand { insert, overriding: None })),
        S::Update(update) => Command::Update(Box::new(ParsedChange(update))),
        S::Delete(delete) => Command::Delete(Box::new(ParsedChange(delete))),
        S::Merge(merge) => Command::Merge(Box::new(ParsedChange(merge))),
        S::CreateTable(mut create) => match create.query.take() {
            Some(query) => Command::CreateTableAs(Box::new(CreateAsCommand::of(create, *query))),
            None => Command::CreateTable(Box::new(CreateTableCommand::of(create))),
        },
        S::AlterTable(alter)
            if alter.location.is_none() && alter.on_cluster.is_none() && alter.table_type.is_none() =>
        {
            Command::AlterTable(Box::new(AlterCommand::of(alter)))
        }
        S::CreateIndex(create) => Command::CreateIndex(Box::new(CreateIndexCommand::of(create))),
        S::Drop { object_type: ObjectType::Table, if_exists, names, cascade, .. } => {
            Command::DropTable(DropObjects { names: names_of(names), if_exists, cascade })
        }
        S::CreateView(create) => Command::CreateView(Box::new(CreateViewCommand::of(create))),
        S::Drop { object_type: ObjectType::View, if_exists, names, cascade, .. } => {
            Command::DropView(DropObjects { names: names_of(names), if_exists, cascade })
        }
        S::Drop { object_type: ObjectType::Sequence, if_exists, names, cascade, .. } => {
            Command::DropSequence(DropObjects { names: names_of(names), if_exists, cascade })
        }
        S::Drop { object_type: ObjectType::Index, if_exists, names, cascade, .. } => {
            Command::DropIndex(DropObjects { names: names_of(names), if_exists, cascade })
        }
        S::AlterIndex { name, operation: ast::AlterIndexOperation::RenameIndex { index_name } } => {
            Command::RenameIndex(RenameIndex { name: name.into(), to: index_name.into() })
        }
        S::Drop { object_type, .. } => return Err(SqlError::not_supported(format!("DROP {object_type}"))),
        S::Truncate(truncate) => Command::Truncate(Truncate {
            restart_identity: truncate.identity == Some(ast::TruncateIdentityOption::Restart),
            cascade: truncate.cascade == Some(ast::CascadeOption::Cascade),
            names: truncate.table_names.into_iter().map(|t| t.name.into()).collect(),
        }),
        S::Copy { source, to, target, .. } => {
            check_copy_target(to, &target)?;
            Command::Copy(Box::new(CopyCommand::of(source, to)))
        }
        S::Lock(lock) => Command::Lock(lock_command(lock)),
        S::ShowVariable { variable } => {
            let words: Vec<&str> = variable.iter().map(|i| i.value.as_str()).collect();
            Command::Show(words.join(" "))
        }
        S::Set(set) => Command::Set(Box::new(SetCommand::of(set))),
        S::Reset(ResetStatement { reset }) => match reset {
            ast::Reset::ALL => Command::Reset(None),
            ast::Reset::ConfigurationParameter(name) => Command::Reset(Some(dotted(&name.into()))),
        },
        S::Execute { name: Some(name), parameters, immediate: false, into, using, .. }
            if into.is_empty() && using.is_empty() =>
        {
            Command::Execute(ExecuteCommand {
                name: dotted(&name.into()),
                arguments: parameters.into_iter().map(ParsedExpression::from).collect(),
            })
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
        S::Discard { object_type } => Command::Discard(match object_type {
            ast::DiscardObject::ALL => Discarded::All,
            ast::DiscardObject::PLANS => Discarded::Plans,
            ast::DiscardObject::SEQUENCES => Discarded::Sequences,
            ast::DiscardObject::TEMP => Discarded::Temporary,
        }),
        other => return Err(refusal(&other)),
    })
}

fn names_of(names: Vec<ast::ObjectName>) -> Vec<QualifiedName> {
    names.into_iter().map(QualifiedName::from).collect()
}

fn lock_command(lock: ast::Lock) -> LockCommand {
    use ast::LockTableMode as M;
    LockCommand {
        tables: lock.tables.into_iter().map(|target| target.name.into()).collect(),
        mode: match lock.lock_mode {
            Some(M::AccessShare) => TableMode::AccessShare,
            Some(M::RowShare) => TableMode::RowShare,
            Some(M::RowExclusive) => TableMode::RowExclusive,
            Some(M::ShareUpdateExclusive) => TableMode::ShareUpdateExclusive,
            Some(M::Share) => TableMode::Share,
            Some(M::ShareRowExclusive) => TableMode::ShareRowExclusive,
            Some(M::Exclusive) => TableMode::Exclusive,
            None | Some(M::AccessExclusive) => TableMode::AccessExclusive,
        },
        nowait: lock.nowait,
    }
}

pub(super) fn classify_sequence(command: SequenceCommand) -> SqlResult<Command> {
    match command {
        SequenceCommand::Create(create) => Ok(Command::CreateSequence(Box::new(create))),
        SequenceCommand::Alter(alter) => Ok(Command::AlterSequence(Box::new(alter))),
        SequenceCommand::Refused(what) => Err(SqlError::not_supported(what)),
    }
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

/// Commands of PostgreSQL that sqlparser cannot read: refused by name instead of as a syntax error.
pub(super) fn refuse_unparsed_commands(tokens: &[TokenWithSpan]) -> SqlResult<()> {
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
    if !excludes {
        return Ok(());
    }
    Err(SqlError::not_supported("an EXCLUDE constraint")
        .with_hint("Leave it out and check in the application: a transaction reaches one partition of one table."))
}
