//! Reads the commands that control transactions, straight from the tokens: sqlparser knows only some of PostgreSQL's
//! forms (no ABORT, no DEFERRABLE, no PREPARE TRANSACTION).

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::{Read, Unexpected, Words};
use crate::syntax::{Isolation, NamedModes};

/// A command that controls transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransactionCommand {
    Begin(NamedModes),
    /// START TRANSACTION: BEGIN with another tag.
    Start(NamedModes),
    /// SET TRANSACTION.
    SetModes(NamedModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetSessionModes(NamedModes),
    /// SET TRANSACTION SNAPSHOT.
    SetSnapshot,
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// PREPARE TRANSACTION.
    Prepare,
    /// COMMIT PREPARED and ROLLBACK PREPARED, with the name of what they end.
    EndPrepared(String),
}

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'t>(tokens: &[&'t TokenWithSpan]) -> Option<Result<TransactionCommand, Unexpected<'t>>> {
    let mut reader = Reader(Words::new(tokens));
    let command = reader.command()?;
    Some(command.and_then(|command| reader.0.end().map(|()| command)))
}

/// The words of such a command.
struct Reader<'a, 't>(Words<'a, 't>);

impl<'t> Reader<'_, 't> {
    fn command(&mut self) -> Option<Read<'t, TransactionCommand>> {
        let first = self.0.take_word()?.value.to_ascii_uppercase();
        Some(match first.as_str() {
            "BEGIN" => self.begin(),
            "START" => self.start(),
            "COMMIT" | "END" => self.commit(),
            "ROLLBACK" | "ABORT" => self.rollback(first == "ABORT"),
            "SAVEPOINT" => self.0.name().map(TransactionCommand::Savepoint),
            "RELEASE" => {
                self.0.eat("SAVEPOINT");
                self.0.name().map(TransactionCommand::Release)
            }
            "PREPARE" if self.0.eat("TRANSACTION") => self.0.text().map(|_| TransactionCommand::Prepare),
            "SET" => return self.set(),
            _ => return None,
        })
    }

    fn begin(&mut self) -> Read<'t, TransactionCommand> {
        self.eat_unit();
        self.optional_modes().map(TransactionCommand::Begin)
    }

    fn start(&mut self) -> Read<'t, TransactionCommand> {
        self.0.expect("TRANSACTION")?;
        self.optional_modes().map(TransactionCommand::Start)
    }

    fn commit(&mut self) -> Read<'t, TransactionCommand> {
        if self.0.eat("PREPARED") {
            return self.0.text().map(TransactionCommand::EndPrepared);
        }
        self.eat_unit();
        Ok(TransactionCommand::Commit { chain: self.chain()? })
    }

    fn rollback(&mut self, abort: bool) -> Read<'t, TransactionCommand> {
        if !abort && self.0.eat("PREPARED") {
            return self.0.text().map(TransactionCommand::EndPrepared);
        }
        self.eat_unit();
        if !abort && self.0.eat("TO") {
            self.0.eat("SAVEPOINT");
            return self.0.name().map(TransactionCommand::RollbackTo);
        }
        Ok(TransactionCommand::Rollback { chain: self.chain()? })
    }

    /// `SET [LOCAL] TRANSACTION` and `SET SESSION CHARACTERISTICS`; any other SET is not of this kind.
    fn set(&mut self) -> Option<Read<'t, TransactionCommand>> {
        if self.0.eat("SESSION") {
            if self.0.eat("CHARACTERISTICS") {
                return Some(self.session_modes());
            }
        } else {
            self.0.eat("LOCAL");
        }
        if !self.0.eat("TRANSACTION") {
            return None;
        }
        if self.0.eat("SNAPSHOT") {
            return Some(self.0.text().map(|_| TransactionCommand::SetSnapshot));
        }
        Some(self.modes().map(TransactionCommand::SetModes))
    }

    fn session_modes(&mut self) -> Read<'t, TransactionCommand> {
        self.0.expect("AS")?;
        self.0.expect("TRANSACTION")?;
        self.modes().map(TransactionCommand::SetSessionModes)
    }

    fn optional_modes(&mut self) -> Read<'t, NamedModes> {
        if self.0.peek().is_none() { Ok(NamedModes::default()) } else { self.modes() }
    }

    /// One mode or more, with or without commas between them; of two of a kind the last one counts.
    fn modes(&mut self) -> Read<'t, NamedModes> {
        let mut modes = NamedModes::default();
        loop {
            self.mode(&mut modes)?;
            if !self.0.eat_token(&Token::Comma) && self.0.peek().is_none() {
                return Ok(modes);
            }
        }
    }

    fn mode(&mut self, modes: &mut NamedModes) -> Read<'t, ()> {
        if self.0.eat("ISOLATION") {
            self.0.expect("LEVEL")?;
            modes.isolation = Some(self.isolation()?);
        } else if self.0.eat("READ") {
            let only = self.0.eat("ONLY");
            if !only {
                self.0.expect("WRITE")?;
            }
            modes.read_only = Some(only);
        } else if self.0.eat("NOT") {
            self.0.expect("DEFERRABLE")?;
            modes.deferrable = Some(false);
        } else {
            self.0.expect("DEFERRABLE")?;
            modes.deferrable = Some(true);
        }
        Ok(())
    }

    fn isolation(&mut self) -> Read<'t, Isolation> {
        if self.0.eat("SERIALIZABLE") {
            Ok(Isolation::Serializable)
        } else if self.0.eat("REPEATABLE") {
            self.0.expect("READ").map(|()| Isolation::RepeatableRead)
        } else {
            self.0.expect("READ")?;
            if self.0.eat("UNCOMMITTED") {
                return Ok(Isolation::ReadUncommitted);
            }
            self.0.expect("COMMITTED").map(|()| Isolation::ReadCommitted)
        }
    }

    /// `AND [NO] CHAIN`.
    fn chain(&mut self) -> Read<'t, bool> {
        if !self.0.eat("AND") {
            return Ok(false);
        }
        let no = self.0.eat("NO");
        self.0.expect("CHAIN").map(|()| !no)
    }

    fn eat_unit(&mut self) {
        let _ = self.0.eat("WORK") || self.0.eat("TRANSACTION");
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    /// The command, or the token at which it makes no sense.
    fn command(sql: &str) -> Option<Result<TransactionCommand, String>> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let tokens: Vec<_> = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
        read(&tokens).map(|read| read.map_err(|at| at.0.map_or(String::new(), |token| token.token.to_string())))
    }

    fn ok(sql: &str) -> TransactionCommand {
        command(sql).unwrap_or_else(|| panic!("{sql}")).unwrap_or_else(|at| panic!("{sql}: at {at:?}"))
    }

    #[test]
    fn all_forms_are_read() {
        use TransactionCommand as C;
        for sql in ["commit", "END", "end work", "COMMIT TRANSACTION AND NO CHAIN"] {
            assert_eq!(ok(sql), C::Commit { chain: false }, "{sql}");
        }
        for sql in ["abort and chain", "ROLLBACK AND CHAIN", "Abort Transaction And Chain"] {
            assert_eq!(ok(sql), C::Rollback { chain: true }, "{sql}");
        }
        assert_eq!(ok("rollback work to savepoint \"S\""), C::RollbackTo("S".to_owned()));
        assert_eq!(ok("ROLLBACK TO S"), C::RollbackTo("s".to_owned()));
        assert_eq!(ok("release s"), C::Release("s".to_owned()));
        assert_eq!(ok("release savepoint s"), C::Release("s".to_owned()));
        assert_eq!(ok("begin work"), C::Begin(NamedModes::default()));
        assert_eq!(ok("prepare transaction 'x'"), C::Prepare);
        assert_eq!(ok("commit prepared 'x'"), C::EndPrepared("x".to_owned()));
        assert_eq!(ok("set transaction snapshot 'x'"), C::SetSnapshot);
    }

    #[test]
    fn modes_have_commas_or_none() {
        let modes =
            NamedModes { isolation: Some(Isolation::RepeatableRead), read_only: Some(true), deferrable: Some(false) };
        for list in [
            "ISOLATION LEVEL REPEATABLE READ READ ONLY NOT DEFERRABLE",
            "read only, isolation level repeatable read, not deferrable",
            "read write not deferrable, read only isolation level repeatable read",
        ] {
            assert_eq!(ok(&format!("BEGIN {list}")), TransactionCommand::Begin(modes), "{list}");
            assert_eq!(ok(&format!("START TRANSACTION {list}")), TransactionCommand::Start(modes), "{list}");
            assert_eq!(ok(&format!("SET TRANSACTION {list}")), TransactionCommand::SetModes(modes), "{list}");
            let sql = format!("SET SESSION CHARACTERISTICS AS TRANSACTION {list}");
            assert_eq!(ok(&sql), TransactionCommand::SetSessionModes(modes), "{list}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_pointed_at() {
        for (sql, at) in [
            ("begin isolation level bogus", "bogus"),
            ("begin read committed", "committed"),
            ("begin read only,, read write", ","),
            ("begin read only,", ""),
            ("start work", "work"),
            ("set transaction", ""),
            ("commit and", ""),
            ("rollback to", ""),
            ("abort to s", "to"),
            ("savepoint 's'", "'s'"),
            ("commit now", "now"),
        ] {
            assert_eq!(command(sql).unwrap_or_else(|| panic!("{sql}")), Err(at.to_owned()), "{sql}");
        }
    }

    #[test]
    fn other_commands_are_left_alone() {
        for sql in [
            "select 1",
            "set transaction_read_only = on",
            "set session x = 1",
            "prepare p as select 1",
            "set local a = 1",
        ] {
            assert!(command(sql).is_none(), "{sql}");
        }
    }
}
