//! BEGIN, COMMIT, ROLLBACK, savepoints and SET.

use datafusion::sql::sqlparser::ast::{ContextModifier, Expr, Set, UnaryOperator, Value};

use super::Session;
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, Outcome};
use crate::sql::statement::{TransactionCommand, TransactionModes, dotted};
use crate::sql::tx::TransactionState;

impl Session {
    pub(super) async fn run_transaction(&mut self, command: &TransactionCommand) -> SqlResult<Outcome> {
        let tag = match command {
            TransactionCommand::Begin(modes) => self.begin(*modes)?,
            TransactionCommand::SetModes(modes) => {
                if let Some(read_only) = modes.read_only {
                    self.transaction.set_read_only(read_only);
                }
                "SET"
            }
            TransactionCommand::Commit { chain } => self.commit(*chain).await?,
            TransactionCommand::Rollback { chain } => self.rollback(*chain)?,
            TransactionCommand::Savepoint(name) => {
                self.transaction.savepoint(name.clone())?;
                "SAVEPOINT"
            }
            TransactionCommand::Release(name) => {
                self.transaction.release(name)?;
                "RELEASE"
            }
            TransactionCommand::RollbackTo(name) => {
                self.transaction.rollback_to(name)?;
                "ROLLBACK"
            }
        };
        Ok(Outcome::Done(CommandTag::Plain(tag)))
    }

    fn begin(&mut self, modes: TransactionModes) -> SqlResult<&'static str> {
        if self.transaction.in_block() {
            self.notice(Notice::warning("there is already a transaction in progress"));
            return Ok("BEGIN");
        }
        let read_only = modes.read_only.unwrap_or_else(|| self.settings.default_read_only());
        self.transaction.begin(read_only, self.engine.now())?;
        Ok("BEGIN")
    }

    async fn commit(&mut self, chain: bool) -> SqlResult<&'static str> {
        match self.transaction.state() {
            TransactionState::Failed => {
                self.rollback(chain)?;
                return Ok("ROLLBACK");
            }
            TransactionState::Idle if chain => return Err(no_block("COMMIT AND CHAIN")),
            TransactionState::Idle => {
                self.notice(Notice::warning("there is no transaction in progress"));
                self.finish_implicit().await?;
            }
            TransactionState::InBlock => {
                let read_only = self.transaction.is_read_only();
                let collected = self.transaction.end();
                let committed = self.commit_block(collected).await;
                self.settings.end_transaction(committed.is_ok());
                committed?;
                if chain {
                    self.transaction.begin(read_only, self.engine.now())?;
                }
            }
        }
        Ok("COMMIT")
    }

    fn rollback(&mut self, chain: bool) -> SqlResult<&'static str> {
        if !self.transaction.in_block() {
            if chain {
                return Err(no_block("ROLLBACK AND CHAIN"));
            }
            self.notice(Notice::warning("there is no transaction in progress"));
        }
        let read_only = self.transaction.is_read_only();
        for forgotten in [self.transaction.end(), self.transaction.take_implicit()] {
            self.record_rollback(&forgotten);
        }
        self.settings.end_transaction(false);
        if chain {
            self.transaction.begin(read_only, self.engine.now())?;
        }
        Ok("ROLLBACK")
    }

    pub(super) fn run_set(&mut self, set: &Set) -> SqlResult<Outcome> {
        match set {
            Set::SingleAssignment { scope, variable, values, .. } => {
                let name = dotted(variable);
                let local = matches!(scope, Some(ContextModifier::Local));
                match set_text(values)? {
                    Some(text) => self.assign_setting(&name, &text, local)?,
                    None => self.settings.reset(Some(&name))?,
                }
            }
            Set::SetTimeZone { local, value } => match set_text(std::slice::from_ref(value))? {
                Some(text) => self.assign_setting("TimeZone", &text, *local)?,
                None => self.settings.reset(Some("TimeZone"))?,
            },
            Set::SetNames { charset_name, .. } => {
                self.assign_setting("client_encoding", &charset_name.value, false)?;
            }
            Set::SetNamesDefault {} => self.settings.reset(Some("client_encoding"))?,
            // The modes that get here are the defaults.
            Set::SetTransaction { .. } => {}
            other => return Err(SqlError::not_supported(format!("SET {other}"))),
        }
        Ok(Outcome::Done(CommandTag::Plain("SET")))
    }

    fn assign_setting(&mut self, name: &str, value: &str, local: bool) -> SqlResult<()> {
        if !local {
            return self.settings.set(name, value);
        }
        if !self.transaction.in_block() {
            self.notice(Notice::warning("SET LOCAL can only be used in transaction blocks"));
        }
        self.settings.set_local(name, value)
    }
}

fn no_block(command: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::NoActiveTransaction, format!("{command} can only be used in transaction blocks"))
}

/// The value of a SET as text; `None` for DEFAULT.
fn set_text(values: &[Expr]) -> SqlResult<Option<String>> {
    if let [Expr::Identifier(ident)] = values
        && ident.quote_style.is_none()
        && ident.value.eq_ignore_ascii_case("default")
    {
        return Ok(None);
    }
    let parts = values.iter().map(value_text).collect::<SqlResult<Vec<_>>>()?;
    Ok(Some(parts.join(", ")))
}

fn value_text(value: &Expr) -> SqlResult<String> {
    match value {
        Expr::Value(v) => Ok(match &v.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) | Value::Number(text, _) => {
                text.clone()
            }
            Value::DollarQuotedString(text) => text.value.clone(),
            other => other.to_string(),
        }),
        Expr::Identifier(ident) => Ok(ident.value.clone()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(format!("-{}", value_text(expr)?)),
        other => Err(SqlError::new(ErrorKind::Syntax, format!("SET takes constants only, not {other}"))),
    }
}
