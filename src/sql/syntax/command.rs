//! The kinds of statements there are, each with what its text says.

use sqlparser::ast::{self, CopySource, ObjectName, Set, UtilityOption};
use sqlparser::tokenizer::Token;

use super::dialect::comment::CommentCommand;
use super::dialect::create_as::CreateAsCommand;
use super::dialect::like::LikeClause;
use super::dialect::overriding::Overriding;
use super::dialect::prepare::PrepareCommand;
use super::dialect::utility::UtilityCommand;
use super::source::SourceText;
use super::{Statement, TransactionCommand};
use crate::syntax::{
    AlterSequence, CreateSequence, CursorCommand, GivenOptions, GrantCommand, RoleCommand, SetConfig, TakenActions,
    changes_rows,
};

/// The kinds of statements there are.
#[derive(Debug, Clone)]
pub(crate) enum Command {
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
    RenameIndex(RenameIndex),
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
pub(crate) enum NotifyCommand {
    Listen(String),
    /// Of one channel, or of all.
    Unlisten(Option<String>),
    Notify {
        channel: String,
        payload: String,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct InsertCommand {
    pub insert: ast::Insert,
    pub overriding: Option<Overriding>,
}

#[derive(Debug, Clone)]
pub(crate) struct CreateTableCommand {
    pub create: ast::CreateTable,
    /// The options of each identity column, in the order of the columns.
    pub identities: Vec<GivenOptions>,
    /// Tables whose columns it gets too.
    pub likes: Vec<LikeClause>,
    /// The text that it is a part of.
    pub source: SourceText,
}

#[derive(Debug, Clone)]
pub(crate) struct AlterCommand {
    pub alter: ast::AlterTable,
    /// The options of each new identity, in the order of the text.
    pub identities: Vec<GivenOptions>,
    /// Actions that sqlparser does not read.
    pub taken: TakenActions,
    /// ALTER VIEW: it must be one.
    pub of_view: bool,
    /// The text that it is a part of.
    pub source: SourceText,
}

/// ALTER INDEX ... RENAME TO.
#[derive(Debug, Clone)]
pub(crate) struct RenameIndex {
    pub name: ObjectName,
    pub to: ObjectName,
}

#[derive(Debug, Clone)]
pub(crate) struct DropObjects {
    pub names: Vec<ObjectName>,
    pub if_exists: bool,
    pub cascade: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Truncate {
    pub names: Vec<ObjectName>,
    pub restart_identity: bool,
    pub cascade: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct CopyCommand {
    pub source: CopySource,
    pub to_stdout: bool,
    /// What follows STDIN or STDOUT: sqlparser does not know all of PostgreSQL's options.
    pub options: Vec<Token>,
}

impl CopyCommand {
    /// Whether what it copies out are the rows of a change.
    pub(crate) fn changes_rows(&self) -> bool {
        matches!(&self.source, CopySource::Query(query) if changes_rows(query))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ExplainCommand {
    pub inner: Statement,
    pub analyze: bool,
    pub verbose: bool,
    pub options: Vec<UtilityOption>,
}

#[derive(Debug, Clone)]
pub(crate) struct ExecuteCommand {
    pub name: String,
    pub arguments: Vec<ast::Expr>,
}
