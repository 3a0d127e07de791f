//! The transaction of a session: none, an implicit one, or a block.

use super::WriteSet;
use super::rules::{self, Unit};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionState {
    /// Outside a block.
    Idle,
    InBlock,
    /// In a block that waits for ROLLBACK.
    Failed,
}

/// The open transaction and what it has collected.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    block: Option<Block>,
    /// Outside a block: the writes of the statements before the next Sync.
    implicit: WriteSet,
}

#[derive(Debug, Default)]
struct Block {
    writes: WriteSet,
    savepoints: Vec<Savepoint>,
    failed: bool,
    read_only: bool,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    writes: WriteSet,
}

impl Transaction {
    pub fn state(&self) -> TransactionState {
        match &self.block {
            None => TransactionState::Idle,
            Some(block) if block.failed => TransactionState::Failed,
            Some(_) => TransactionState::InBlock,
        }
    }

    pub fn in_block(&self) -> bool {
        self.block.is_some()
    }

    pub fn is_read_only(&self) -> bool {
        self.block.as_ref().is_some_and(|b| b.read_only)
    }

    /// Opens a block; the writes of an implicit transaction become its first.
    ///
    /// # Errors
    /// When those writes are not one EGT.
    pub fn begin(&mut self, read_only: bool) -> SqlResult<()> {
        rules::check(&self.implicit, Unit::Block)?;
        let writes = std::mem::take(&mut self.implicit);
        self.block = Some(Block { writes, read_only, ..Block::default() });
        Ok(())
    }

    /// SET TRANSACTION READ ONLY or READ WRITE.
    pub fn set_read_only(&mut self, read_only: bool) {
        if let Some(block) = &mut self.block {
            block.read_only = read_only;
        }
    }

    /// Ends the block and hands over what it collected.
    pub fn end(&mut self) -> WriteSet {
        self.block.take().map(|b| b.writes).unwrap_or_default()
    }

    /// Ends the implicit transaction and hands over what it collected.
    pub fn take_implicit(&mut self) -> WriteSet {
        std::mem::take(&mut self.implicit)
    }

    pub fn has_implicit_writes(&self) -> bool {
        !self.implicit.is_empty()
    }

    /// A statement failed: a block waits for ROLLBACK, an implicit transaction is forgotten.
    pub fn fail(&mut self) {
        self.implicit = WriteSet::default();
        if let Some(block) = &mut self.block {
            block.failed = true;
        }
    }

    /// The writes collected so far.
    pub fn writes(&self) -> &WriteSet {
        self.block.as_ref().map_or(&self.implicit, |b| &b.writes)
    }

    pub fn writes_mut(&mut self) -> &mut WriteSet {
        match &mut self.block {
            Some(block) => &mut block.writes,
            None => &mut self.implicit,
        }
    }

    /// Whether a block's writes are still one EGT.
    ///
    /// # Errors
    /// 0A000 or 54000, naming the rule.
    pub fn check_block_rules(&self) -> SqlResult<()> {
        match &self.block {
            Some(block) => rules::check(&block.writes, Unit::Block),
            None => Ok(()),
        }
    }

    /// Whether a statement's writes are one EGT, for `egt.autocommit = strict`.
    ///
    /// # Errors
    /// As [`Transaction::check_block_rules`].
    pub fn check_statement_rules(&self) -> SqlResult<()> {
        rules::check(&self.implicit, Unit::Statement)
    }

    /// # Errors
    /// 25P01 outside a block.
    pub fn savepoint(&mut self, name: String) -> SqlResult<()> {
        let block = self.block_for("SAVEPOINT")?;
        let writes = block.writes.clone();
        block.savepoints.push(Savepoint { name, writes });
        Ok(())
    }

    /// # Errors
    /// 25P01 outside a block, 3B001 for an unknown name.
    pub fn release(&mut self, name: &str) -> SqlResult<()> {
        let block = self.block_for("RELEASE SAVEPOINT")?;
        let at = block.find(name)?;
        block.savepoints.truncate(at);
        Ok(())
    }

    /// Goes back to the savepoint, which stays; also out of the failed state.
    ///
    /// # Errors
    /// 25P01 outside a block, 3B001 for an unknown name.
    pub fn rollback_to(&mut self, name: &str) -> SqlResult<()> {
        let block = self.block_for("ROLLBACK TO SAVEPOINT")?;
        let at = block.find(name)?;
        block.savepoints.truncate(at + 1);
        block.writes = block.savepoints[at].writes.clone();
        block.failed = false;
        Ok(())
    }

    fn block_for(&mut self, command: &str) -> SqlResult<&mut Block> {
        self.block.as_mut().ok_or_else(|| {
            SqlError::new(ErrorKind::NoActiveTransaction, format!("{command} can only be used in transaction blocks"))
        })
    }
}

impl Block {
    fn find(&self, name: &str) -> SqlResult<usize> {
        self.savepoints
            .iter()
            .rposition(|s| s.name == name)
            .ok_or_else(|| SqlError::new(ErrorKind::InvalidSavepoint, format!("savepoint \"{name}\" does not exist")))
    }
}
