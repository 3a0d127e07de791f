//! The kinds of statements there are, each with what its text says.

use sqlparser::ast;
use tablegate_bind::statement::{self, Syntax};
use tablegate_bind::{ParsedExpression, ParsedQuery, QualifiedName};

use super::alteration::AlterCommand;
use super::definition::CreateTableCommand;
use super::dialect::comment::CommentCommand;
use super::dialect::copy::{CopyCommand, CopySource};
use super::dialect::create_as::CreateAsCommand;
use super::dialect::explain::ExplainOption;
use super::dialect::overriding::Overriding;
use super::dialect::prepare::PrepareCommand;
use super::dialect::utility::UtilityCommand;
use super::index::CreateIndexCommand;
use super::set::SetCommand;
use super::view::CreateViewCommand;
use super::{Statement, TransactionCommand};
use crate::syntax::{AlterSequence, CreateSequence, CursorCommand, GrantCommand, RoleCommand, SetConfig, changes_rows};

/// The kinds of statements there are.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Query(Box<ParsedQuery>),
    Insert(Box<InsertCommand>),
    Update(Box<ParsedChange<ast::Update>>),
    Delete(Box<ParsedChange<ast::Delete>>),
    Merge(Box<ParsedChange<ast::Merge>>),
    CreateTable(Box<CreateTableCommand>),
    CreateTableAs(Box<CreateAsCommand>),
    AlterTable(Box<AlterCommand>),
    DropTable(DropObjects),
    CreateView(Box<CreateViewCommand>),
    DropView(DropObjects),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    DropSequence(DropObjects),
    CreateIndex(Box<CreateIndexCommand>),
    DropIndex(DropObjects),
    RenameIndex(RenameIndex),
    Comment(CommentCommand),
    Truncate(Truncate),
    Utility(UtilityCommand),
    Copy(Box<CopyCommand>),
    Lock(LockCommand),
    Explain(Box<ExplainCommand>),
    Transaction(TransactionCommand),
    Cursor(CursorCommand),
    Prepare(Box<PrepareCommand>),
    Execute(ExecuteCommand),
    /// DEALLOCATE of one prepared statement, or of all.
    Deallocate(Option<String>),
    Set(Box<SetCommand>),
    Show(String),
    SetConfig(SetConfig),
    Grant(Box<GrantCommand>),
    Role(Box<RoleCommand>),
    Reset(Option<String>),
    Notify(NotifyCommand),
    Discard(Discarded),
}

impl Command {
    /// The syntax that is bound, and what an INSERT says about identity columns.
    pub(crate) fn bound_syntax(&self) -> Option<(Syntax<'_>, statement::Overriding)> {
        let query = match self {
            Self::Query(query) => query,
            Self::CreateTableAs(command) => &command.query,
            Self::CreateView(create) => &create.query,
            Self::Copy(copy) => match &copy.source {
                CopySource::Query(query) => query,
                CopySource::Table { .. } => return None,
            },
            Self::Explain(explain) => return explain.inner.command.bound_syntax(),
            change => return change.change_syntax(),
        };
        Some((query.syntax(), statement::Overriding::Nothing))
    }

    /// The same of a change.
    pub(crate) fn change_syntax(&self) -> Option<(Syntax<'_>, statement::Overriding)> {
        let syntax = match self {
            Self::Query(query) if changes_rows(query) => query.syntax(),
            Self::Insert(command) => {
                let overriding = match command.overriding {
                    None => statement::Overriding::Nothing,
                    Some(Overriding::System) => statement::Overriding::System,
                    Some(Overriding::User) => statement::Overriding::User,
                };
                return Some((Syntax::Insert(&command.insert), overriding));
            }
            Self::Update(update) => Syntax::Update(&update.0),
            Self::Delete(delete) => Syntax::Delete(&delete.0),
            Self::Merge(merge) => Syntax::Merge(&merge.0),
            _ => return None,
        };
        Some((syntax, statement::Overriding::Nothing))
    }
}

/// A command about notifications.
#[derive(Debug, Clone)]
pub(crate) enum NotifyCommand {
    Listen(String),
    /// Of one channel, or of all.
    Unlisten(Option<String>),
    Notify {
        channel: String,
        payload: String,
    },
}

/// A change of rows, which the binder alone looks into.
#[derive(Debug, Clone)]
pub(crate) struct ParsedChange<T>(pub(super) T);

#[derive(Debug, Clone)]
pub(crate) struct InsertCommand {
    pub(super) insert: ast::Insert,
    pub overriding: Option<Overriding>,
}

/// ALTER INDEX ... RENAME TO.
#[derive(Debug, Clone)]
pub(crate) struct RenameIndex {
    pub name: QualifiedName,
    pub to: QualifiedName,
}

#[derive(Debug, Clone)]
pub(crate) struct DropObjects {
    pub names: Vec<QualifiedName>,
    pub if_exists: bool,
    pub cascade: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Truncate {
    pub names: Vec<QualifiedName>,
    pub restart_identity: bool,
    pub cascade: bool,
}

/// LOCK TABLE.
#[derive(Debug, Clone)]
pub(crate) struct LockCommand {
    pub tables: Vec<QualifiedName>,
    pub mode: TableMode,
    pub nowait: bool,
}

/// How strongly a table is locked, in the order of PostgreSQL's table 13.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableMode {
    /// SELECT.
    AccessShare,
    /// SELECT FOR UPDATE and its like.
    RowShare,
    /// INSERT, UPDATE, DELETE.
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    /// DROP TABLE, TRUNCATE; LOCK TABLE without a mode.
    AccessExclusive,
}

/// What DISCARD is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discarded {
    All,
    Plans,
    Sequences,
    Temporary,
}

#[derive(Debug, Clone)]
pub(crate) struct ExplainCommand {
    pub inner: Statement,
    pub analyze: bool,
    pub verbose: bool,
    pub options: Vec<ExplainOption>,
}

#[derive(Debug, Clone)]
pub(crate) struct ExecuteCommand {
    pub name: String,
    pub arguments: Vec<ParsedExpression>,
}
