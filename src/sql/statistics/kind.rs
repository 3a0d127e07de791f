//! Kinds of statements, few enough to count each.

use crate::syntax::{Command, statement_name};

/// What a statement does, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    Copy,
    Cursor,
    Transaction,
    Ddl,
    Explain,
    /// EXECUTE, whatever it runs.
    Execute,
    /// SET, SHOW, GRANT, VACUUM and the like.
    Utility,
}

impl Kind {
    pub(crate) const ALL: [Kind; 12] = [
        Kind::Select,
        Kind::Insert,
        Kind::Update,
        Kind::Delete,
        Kind::Merge,
        Kind::Copy,
        Kind::Cursor,
        Kind::Transaction,
        Kind::Ddl,
        Kind::Explain,
        Kind::Execute,
        Kind::Utility,
    ];

    pub(crate) fn of(command: &Command) -> Self {
        match command {
            Command::Query(query) => match statement_name(query) {
                "INSERT" => Kind::Insert,
                "UPDATE" => Kind::Update,
                "DELETE" => Kind::Delete,
                "MERGE" => Kind::Merge,
                _ => Kind::Select,
            },
            Command::Insert(_) => Kind::Insert,
            Command::Update(_) => Kind::Update,
            Command::Delete(_) => Kind::Delete,
            Command::Merge(_) => Kind::Merge,
            Command::Copy(_) => Kind::Copy,
            Command::Cursor(_) => Kind::Cursor,
            Command::Transaction(_) => Kind::Transaction,
            Command::Explain(_) => Kind::Explain,
            Command::Execute(_) => Kind::Execute,
            Command::CreateTable(_)
            | Command::CreateTableAs(_)
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
            | Command::Truncate(_) => Kind::Ddl,
            Command::Utility(_)
            | Command::Lock(_)
            | Command::Prepare(_)
            | Command::Deallocate(_)
            | Command::Set(_)
            | Command::Show(_)
            | Command::SetConfig(_)
            | Command::Grant(_)
            | Command::Role(_)
            | Command::Reset(_)
            | Command::Notify(_)
            | Command::Discard(_) => Kind::Utility,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Select => "select",
            Kind::Insert => "insert",
            Kind::Update => "update",
            Kind::Delete => "delete",
            Kind::Merge => "merge",
            Kind::Copy => "copy",
            Kind::Cursor => "cursor",
            Kind::Transaction => "transaction",
            Kind::Ddl => "ddl",
            Kind::Explain => "explain",
            Kind::Execute => "execute",
            Kind::Utility => "utility",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_place() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "{}", kind.name());
        }
    }
}
