//! A query text becomes statements: split, parsed, classified. Refusals start here.
//!
//! Only the kinds of statements in [`Command`] go any further, and only the queries inside them ever reach DataFusion.
//! Everything else that parses is refused by name (0A000), never ignored.
//!
//! ```text
//!     parse          a text -> its statements: what sqlparser does not read is taken off first
//!     classify       a parsed statement -> its kind, or its refusal
//!     command        the kinds, as data; apart: definition (CREATE TABLE), alteration, index, view, set
//!     dialect        what sqlparser does not read of PostgreSQL's
//!     lifted         a text without its constants: what it was planned as before
//!     constant_rows, parameter_rows, rows_in_text
//!                    the rows of an INSERT that has many, without a look at what they mean
//!     depth, bounded how deep a statement may be, and how long its parse may take
//!     source         the text that statements come from: where in it an error is
//!     syntax_error   what is wrong with a text, as PostgreSQL says it
//!     build, visit   making pieces of syntax, and walking through them
//!     type_names     types as they are written
//!     labels         names of results, as PostgreSQL chooses them
//!     lexemes        a text in pieces, without its meaning
//!     shape          a text without its constants, its lists folded
//!     modes          what kind of transaction it is
//!     weight         what reading a text takes of the memory
//!     queries, expressions, mentions, wanted, tables_read, written
//!                    what texts tell of what they are about: names, changes of rows, tables and what is done with them
//! ```

mod alteration;
mod bounded;
mod build;
mod classify;
mod command;
mod constant_rows;
mod definition;
mod depth;
pub(super) mod dialect;
mod expressions;
#[cfg(test)]
mod grammar;
mod index;
mod labels;
mod lexemes;
mod lifted;
mod mentions;
mod modes;
mod numbers;
mod parameter_rows;
mod parse;
mod queries;
mod rows_in_text;
mod scanner;
mod set;
mod shape;
pub(super) mod source;
mod syntax_error;
mod tables_read;
mod type_names;
mod view;
mod visit;
mod wanted;
mod weight;
mod written;

use std::any::Any;
use std::sync::Arc;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::QualifiedName;

pub(super) use self::alteration::{AlterAction, AlterCommand, ColumnChange};
pub(super) use self::build::{MadeRows, balanced, column_of, is_null, made_query, not, number};
use self::command::ParsedChange;
pub(super) use self::command::{
    Command, Discarded, DropObjects, ExecuteCommand, ExplainCommand, InsertCommand, LockCommand, NotifyCommand,
    RenameIndex, TableMode, Truncate,
};
pub(super) use self::constant_rows::{CellValue, ConstantCell, ConstantRows};
pub(super) use self::definition::{
    ColumnDefinition, ColumnOption, ConstraintKind, CreateTableCommand, ForeignKey, KeyColumns, Matching, OnCommit,
    TableConstraint, TableOption, TableOptions,
};
pub(super) use self::depth::SHORT_ROW;
pub(super) use self::dialect::alter::TakenActions;
pub(super) use self::dialect::column_values::ValueChange;
pub(super) use self::dialect::cursor::{CursorCommand, Declare, Direction, Fetch};
pub(super) use self::dialect::grant::{GrantCommand, GrantPrivileges, Grantee, On, OwnerChange};
pub(super) use self::dialect::role::{RoleCommand, RoleOptions};
pub(super) use self::dialect::sequence::{AlterSequence, CreateSequence, GivenOptions};
pub(super) use self::dialect::set_config::SetConfig;
pub(super) use self::dialect::transaction::TransactionCommand;
pub(super) use self::expressions::{column_names, mentions, renamed, take_next_calls, with_sequences_renamed};
pub(super) use self::index::{
    CreateIndexCommand, IndexDefinition, IndexedPart, index_names_column, index_with_renamed_column,
};
pub(super) use self::labels::{shown_labels, unique_names};
pub(super) use self::lexemes::{Lexeme, Lexemes, Unended};
pub(super) use self::lifted::{Constant, Lifted, lifted};
pub(super) use self::mentions::{Mentioned, mentioned};
pub(super) use self::modes::{Isolation, NamedModes, TransactionModes};
pub(super) use self::parameter_rows::ParameterRows;
use self::parse::parse_tokens_of_expression;
pub(super) use self::parse::{parse, parse_expression, parse_held};
pub(super) use self::queries::{changes_rows, check_only_reads, locks_rows, statement_name, text_in_schema};
pub(super) use self::set::{SetCommand, SetValue};
pub(super) use self::shape::shape_of;
use self::source::SourceText;
pub(super) use self::type_names::TypeName;
pub(super) use self::view::CreateViewCommand;
use self::visit::{walk, walk_mut};
pub(super) use self::wanted::{wanted_by, wanted_of_tables};
pub(super) use self::weight::{kept_weight, weight};
pub(super) use self::written::WrittenColumns;
use tablegate_bind::folded as fold;

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
    /// The text that the client sent it in.
    pub(super) fn whole_text(&self) -> &str {
        if self.source.is_empty() { &self.text } else { &self.source }
    }

    /// The same, which stands for another text, and holds something as long as it is there.
    pub(super) fn told_as(&self, text: &str, held: Arc<dyn Any + Send + Sync>) -> Self {
        Self { command: self.command.clone(), text: text.to_owned(), source: SourceText::holding("", held) }
    }

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

    /// Whether it changes what is declared. It looks at what there is when it has its locks, whatever the snapshot of its transaction
    /// shows: what others have declared and written since must not be undone by it.
    pub(super) fn declares(&self) -> bool {
        matches!(
            &self.command,
            Command::CreateTable(_)
                | Command::AlterTable(_)
                | Command::DropTable(_)
                | Command::CreateView(_)
                | Command::DropView(_)
                | Command::CreateSequence(_)
                | Command::AlterSequence(_)
                | Command::DropSequence(_)
                | Command::CreateIndex(_)
                | Command::DropIndex(_)
                | Command::RenameIndex(_)
                | Command::Comment(_)
                | Command::Truncate(_)
                | Command::Grant(_)
        )
    }
}

pub(super) fn is_significant(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

/// Whether a token is this word, not quoted.
pub(super) fn is_word(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

pub(super) fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// A dotted name (`egt.mode`), folded.
pub(super) fn dotted(name: &QualifiedName) -> String {
    name.folded().join(".")
}
