//! COPY FROM STDIN and COPY TO STDOUT.
//!
//! What is read goes the way INSERT's rows go. Outside a block it is committed while more arrives, as entity group
//! transactions of one partition each; inside a block it is collected and obeys the block's rules. Text and CSV are read
//! and written here; the binary format is made of the front-end's forms of values, so rows pass through as they are.

mod bytes;
mod columns;
mod condition;
mod direct;
mod encoding;
mod fields;
mod input;
mod lines;
mod options;
mod output;
mod reader;
mod room;
mod writer;

use tablegate_types::error::{SqlError, SqlResult};

pub(super) use self::input::{COPY_FROM, CopyInProgress, with_way_on};
use self::options::CopyOptions;
pub use self::reader::CopiedRows;
pub use self::room::InputRoom;
use super::{Position, Session};
use crate::outcome::Outcome;
use crate::syntax::dialect::copy::{CopyCommand, CopySource};
use crate::syntax::{Command, changes_rows};

/// As psql names itself.
const PSQL: &str = "psql";

impl Session {
    /// The error of a statement that did not begin. Of COPY FROM STDIN psql is told what it does next with the script that it
    /// reads, which nothing but psql can help.
    pub(super) fn told_of_rows_that_follow(&self, command: &Command, error: Box<SqlError>) -> Box<SqlError> {
        let rows_follow = matches!(command, Command::Copy(copy) if !copy.to_stdout);
        if !rows_follow || error.hint.is_some() || self.settings.application_name() != PSQL {
            return error;
        }
        error.with_hint(
            "psql reads the rows that follow in a script as statements. Have it stop at the first error with psql -v \
             ON_ERROR_STOP=1, or restore with pg_dump -Fc and pg_restore.",
        )
    }

    pub(super) async fn start_copy(&mut self, copy: &CopyCommand, position: Position) -> SqlResult<Outcome> {
        let options = CopyOptions::of(copy)?;
        match (&copy.source, copy.to_stdout) {
            (CopySource::Table { name, columns }, true) => self.copy_table_out(name, columns, options, position).await,
            (CopySource::Query(query), _) if changes_rows(query) => {
                Box::pin(self.copy_changes_out(query, &options, position)).await
            }
            (CopySource::Query(query), _) => self.copy_query_out(query, None, options, position).await,
            (CopySource::Table { name, columns }, false) => {
                self.check_writable("COPY FROM")?;
                self.begin_copy_in(name, columns, options, copy.condition()).await
            }
        }
    }
}
