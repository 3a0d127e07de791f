//! The transaction of a session: none, an implicit one, or a block.

use std::sync::Arc;

use super::WriteSet;
use super::rules::{self, Unit};
use super::write_set::Mark;
use crate::model::{EdmDateTime, PartitionKey};
use crate::sql::catalog::StagedCatalog;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::observe::{Footprint, Observed, Rule, SeenStatement};
use crate::sql::relation::Relation;

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
    /// Outside a block: what the statements before the next Sync have collected.
    implicit: Collected,
    /// The writing statement that runs, or ran last, when observe mode holds for it.
    statement: Option<Arc<SeenStatement>>,
    /// That statement has written, and is noted as one of its transaction.
    is_noted: bool,
}

/// What a transaction has collected.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub writes: WriteSet,
    /// What it changed in the catalogue.
    pub catalog: StagedCatalog,
    /// The rules it broke, and its statements, as far as observe mode looked on.
    pub observed: Observed,
}

impl Collected {
    /// The extent of what it writes; asked only of one that broke a rule, so nothing is counted for others.
    pub fn footprint(&self) -> Footprint {
        if self.observed.breaches().is_empty() { Footprint::new() } else { self.writes.footprint() }
    }
}

#[derive(Debug, Default)]
struct Block {
    collected: Collected,
    savepoints: Vec<Savepoint>,
    failed: bool,
    read_only: bool,
    began: Option<EdmDateTime>,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    writes: Mark,
    catalog: StagedCatalog,
    breaches: usize,
}

impl Transaction {
    pub fn state(&self) -> TransactionState {
        match &self.block {
            None => TransactionState::Idle,
            Some(block) if block.failed => TransactionState::Failed,
            Some(_) => TransactionState::InBlock,
        }
    }

    /// When the block was opened.
    pub fn began(&self) -> Option<EdmDateTime> {
        self.block.as_ref()?.began
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
    /// When those writes are not one EGT, and observe mode did not look on.
    pub fn begin(&mut self, read_only: bool, now: EdmDateTime) -> SqlResult<()> {
        if self.implicit.observed.breaches().is_empty() {
            rules::check(&mut self.implicit.writes, Unit::Block)?;
        }
        let collected = std::mem::take(&mut self.implicit);
        self.block = Some(Block { collected, read_only, began: Some(now), ..Block::default() });
        Ok(())
    }

    /// A writing statement begins; `observed` is given where observe mode holds for it.
    pub fn start_statement(&mut self, observed: Option<Arc<SeenStatement>>) {
        self.statement = observed;
        self.is_noted = false;
    }

    /// The writing statement that runs, or ran last, when observe mode holds for it.
    pub fn observed_statement(&self) -> Option<&Arc<SeenStatement>> {
        self.statement.as_ref()
    }

    /// SET TRANSACTION READ ONLY or READ WRITE.
    pub fn set_read_only(&mut self, read_only: bool) {
        if let Some(block) = &mut self.block {
            block.read_only = read_only;
        }
    }

    /// Ends the block and hands over what it collected.
    pub fn end(&mut self) -> Collected {
        self.block.take().map(|b| b.collected).unwrap_or_default()
    }

    /// Ends the implicit transaction and hands over what it collected.
    pub fn take_implicit(&mut self) -> Collected {
        std::mem::take(&mut self.implicit)
    }

    pub fn has_implicit_writes(&self) -> bool {
        !self.implicit.writes.is_empty() || !self.implicit.catalog.is_empty()
    }

    /// A statement failed: a block waits for ROLLBACK, an implicit transaction is over. Hands over what that collected.
    pub fn fail(&mut self) -> Collected {
        if let Some(block) = &mut self.block {
            block.failed = true;
        }
        self.take_implicit()
    }

    /// The writes collected so far.
    pub fn writes(&self) -> &WriteSet {
        self.block.as_ref().map_or(&self.implicit.writes, |b| &b.collected.writes)
    }

    pub fn writes_mut(&mut self) -> &mut WriteSet {
        &mut self.collected().writes
    }

    /// What was changed in the catalogue so far.
    pub fn catalog(&self) -> &StagedCatalog {
        self.block.as_ref().map_or(&self.implicit.catalog, |b| &b.collected.catalog)
    }

    pub fn catalog_mut(&mut self) -> &mut StagedCatalog {
        &mut self.collected().catalog
    }

    /// After a row of a block: whether its writes are still one EGT.
    ///
    /// # Errors
    /// 0A000 or 54000, naming the rule, unless observe mode just notes it.
    pub fn check_block_rules(&mut self) -> SqlResult<()> {
        match self.statement {
            Some(_) => self.note_rules(),
            None => rules::check(self.writes_mut(), Unit::Block)?,
        }
        Ok(())
    }

    /// After a row of a statement under `egt.autocommit = strict`, which observe mode leaves in force.
    ///
    /// # Errors
    /// 0A000 or 54000, naming the rule.
    pub fn check_statement_rules(&mut self) -> SqlResult<()> {
        rules::check(self.writes_mut(), Unit::Statement)?;
        self.note_rules();
        Ok(())
    }

    /// In observe mode, notes the statement and the rules that the collected writes break.
    pub fn note_rules(&mut self) {
        let Some(statement) = self.statement.clone() else { return };
        let is_noted = std::mem::replace(&mut self.is_noted, true);
        let Collected { writes, observed, .. } = self.collected();
        if !is_noted {
            observed.see(&statement);
        }
        rules::broken(writes).for_each(|rule| observed.broke(rule, &statement));
    }

    /// A row is about to move to another partition.
    ///
    /// # Errors
    /// 0A000, unless observe mode just notes it.
    pub fn check_move(&mut self, relation: &Relation, from: &PartitionKey, to: &PartitionKey) -> SqlResult<()> {
        let Some(statement) = self.statement.clone() else { return Err(rules::moved_row(relation, from, to)) };
        self.collected().observed.broke(Rule::MovedRow, &statement);
        Ok(())
    }

    /// # Errors
    /// 25P01 outside a block.
    pub fn savepoint(&mut self, name: String) -> SqlResult<()> {
        let block = self.block_for("SAVEPOINT")?;
        let writes = block.collected.writes.mark();
        let catalog = block.collected.catalog.clone();
        let breaches = block.collected.observed.breaches().len();
        block.savepoints.push(Savepoint { name, writes, catalog, breaches });
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
        let savepoint = &block.savepoints[at];
        block.collected.writes.restore(&savepoint.writes);
        block.collected.catalog.clone_from(&savepoint.catalog);
        block.collected.observed.forget_breaches_after(savepoint.breaches);
        block.failed = false;
        Ok(())
    }

    fn collected(&mut self) -> &mut Collected {
        match &mut self.block {
            Some(block) => &mut block.collected,
            None => &mut self.implicit,
        }
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
