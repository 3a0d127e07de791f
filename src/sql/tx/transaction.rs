//! The transaction of a session: none, an implicit one, or a block.

use std::sync::Arc;

use tablegate_store::model::{EdmDateTime, PartitionKey};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::claims::Claims;
use super::rules::{self, Unit};
use super::serial::{CommitTurn, SerialTransaction};
use super::write_set::Mark;
use super::{WriteSet, WriteSpace, locks};
use crate::catalog::{CatalogMoment, MadeTable, StagedCatalog};
use crate::observe::{Footprint, Observed, Rule, SeenStatement};
use crate::place::{Place, StoredTable};
use crate::relation::Relation;
use crate::syntax::{NamedModes, TransactionModes};

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
#[derive(Debug)]
pub(crate) struct Transaction {
    space: Arc<WriteSpace>,
    block: Option<Block>,
    /// Outside a block: what the statements before the next Sync have collected.
    implicit: Collected,
    /// The writing statement that runs, or ran last, when observe mode holds for it.
    statement: Option<Arc<SeenStatement>>,
    /// That statement has written, and is noted as one of its transaction.
    is_noted: bool,
    claims: Claims,
    /// A statement of it has read or written tables.
    has_begun: bool,
    /// What all its statements read, where its isolation asks for that.
    snapshot: Option<Snapshot>,
    /// How many savepoints were ever made: each has a number.
    savepoints_made: u64,
}

/// What the statements of a transaction read.
pub(crate) struct Snapshot {
    pub moment: CatalogMoment,
    /// What makes it serializable.
    pub serial: Option<SerialTransaction>,
}

/// What a transaction has collected.
#[derive(Debug)]
pub(crate) struct Collected {
    pub writes: WriteSet,
    /// What it changed in the catalogue.
    pub catalog: StagedCatalog,
    /// The rules it broke, and its statements, as far as observe mode looked on.
    pub observed: Observed,
}

#[derive(Debug)]
struct Block {
    collected: Collected,
    savepoints: Vec<Savepoint>,
    failed: bool,
    modes: TransactionModes,
    began: EdmDateTime,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    number: u64,
    before: StatementMark,
    locks: locks::Mark,
    modes: TransactionModes,
}

/// What a transaction had collected when a savepoint was made.
#[derive(Debug)]
pub(crate) struct StatementMark {
    writes: Mark,
    catalog: StagedCatalog,
    breaches: usize,
}

impl Transaction {
    /// Of a session that has begun none yet; what it collects takes from `space`.
    pub(crate) fn new(claims: Claims, space: Arc<WriteSpace>) -> Self {
        let implicit = Collected::new(&space);
        Self {
            space,
            block: None,
            implicit,
            statement: None,
            is_noted: false,
            claims,
            has_begun: false,
            snapshot: None,
            savepoints_made: 0,
        }
    }

    pub(crate) fn state(&self) -> TransactionState {
        match &self.block {
            None => TransactionState::Idle,
            Some(block) if block.failed => TransactionState::Failed,
            Some(_) => TransactionState::InBlock,
        }
    }

    /// When the block was opened.
    pub(crate) fn began(&self) -> Option<EdmDateTime> {
        self.block.as_ref().map(|block| block.began)
    }

    pub(crate) fn in_block(&self) -> bool {
        self.block.is_some()
    }

    /// The modes of the open block.
    pub(crate) fn modes(&self) -> Option<TransactionModes> {
        self.block.as_ref().map(|block| block.modes)
    }

    /// Opens a block; the writes of an implicit transaction become its first.
    ///
    /// # Errors
    /// When those writes are not one EGT, and observe mode did not look on.
    pub(crate) fn begin(&mut self, modes: TransactionModes, now: EdmDateTime) -> SqlResult<()> {
        if self.implicit.observed.breaches().is_empty() {
            let unit = self.block_unit();
            rules::check(&mut self.implicit.writes, unit)?;
        }
        let collected = self.take_implicit();
        self.block = Some(Block { collected, savepoints: Vec::new(), failed: false, modes, began: now });
        Ok(())
    }

    /// Changes the modes of the open block.
    ///
    /// # Errors
    /// 25001 for what cannot change any more.
    pub(crate) fn set_modes(&mut self, named: NamedModes) -> SqlResult<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        let (nested, has_begun) = (!block.savepoints.is_empty(), self.has_begun);
        let refused = |message: &str| Err(SqlError::new(ErrorKind::ActiveTransaction, message));
        if named.isolation.is_some_and(|isolation| isolation != block.modes.isolation) {
            if has_begun {
                return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query");
            }
            if nested {
                return refused("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
            }
        }
        if named.read_only == Some(false) && block.modes.read_only {
            if nested {
                return refused("cannot set transaction read-write mode inside a read-only transaction");
            }
            if has_begun {
                return refused("transaction read-write mode must be set before any query");
            }
        }
        if named.deferrable.is_some() {
            if nested {
                return refused("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction");
            }
            if has_begun {
                return refused("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
            }
        }
        block.modes = named.or(block.modes);
        Ok(())
    }

    /// A statement that reads or writes tables begins.
    pub(crate) fn set_begun(&mut self) {
        self.has_begun = true;
    }

    /// What all statements of the transaction read, once it was taken.
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    pub(crate) fn set_snapshot(&mut self, snapshot: Snapshot) {
        self.snapshot = Some(snapshot);
    }

    /// Asks for leave to commit, which is needed to be serializable.
    ///
    /// # Errors
    /// 40001 when what the transaction has read was changed by another one.
    pub(crate) async fn commit_turn(&self, writes: &WriteSet) -> SqlResult<Option<CommitTurn>> {
        match self.snapshot.as_ref().and_then(|snapshot| snapshot.serial.as_ref()) {
            Some(serial) if !writes.is_empty() => serial.commit(writes.keys()).await.map(Some),
            _ => Ok(None),
        }
    }

    /// A writing statement begins; `observed` is given where observe mode holds for it.
    pub(crate) fn start_statement(&mut self, observed: Option<Arc<SeenStatement>>) {
        self.statement = observed;
        self.is_noted = false;
    }

    /// A writing statement ended: those that follow read what it wrote.
    pub(crate) fn end_statement(&mut self) {
        self.writes_mut().settle();
    }

    /// The writing statement that runs, or ran last, when observe mode holds for it.
    pub(crate) fn observed_statement(&self) -> Option<&Arc<SeenStatement>> {
        self.statement.as_ref()
    }

    /// Ends the block and hands over what it collected. Its locks stay until that is committed.
    pub(crate) fn end(&mut self) -> Collected {
        self.block.take().map_or_else(|| Collected::new(&self.space), |block| block.collected)
    }

    /// Ends the implicit transaction and hands over what it collected.
    pub(crate) fn take_implicit(&mut self) -> Collected {
        std::mem::replace(&mut self.implicit, Collected::new(&self.space))
    }

    pub(crate) fn has_implicit_writes(&self) -> bool {
        !self.implicit.writes.is_empty() || !self.implicit.catalog.is_empty()
    }

    /// Whether nothing at all was collected outside a block, be it only to be forgotten at the commit.
    pub(crate) fn has_collected_nothing(&self) -> bool {
        let Collected { writes, catalog, observed } = &self.implicit;
        writes.is_untouched() && catalog.is_untouched() && observed.is_untouched()
    }

    /// Whether there is something that is still to be committed or rolled back.
    pub(crate) fn is_open(&self) -> bool {
        self.in_block() || self.has_implicit_writes()
    }

    /// A statement failed: a block waits for ROLLBACK, an implicit transaction is over. Hands over what that collected.
    /// What was locked since the last savepoint is free again, as it is in PostgreSQL.
    pub(crate) fn fail(&mut self) -> Collected {
        let mut locks = locks::Mark::default();
        if let Some(block) = &mut self.block {
            block.failed = true;
            locks = block.savepoints.last().map_or(locks, |savepoint| savepoint.locks);
        }
        self.claims.held().release_to(locks);
        if self.block.is_none() {
            self.finish();
        }
        self.take_implicit()
    }

    /// The transaction has ended: others may have what it locked, and the next one reads anew.
    pub(crate) fn finish(&mut self) {
        self.claims.held().release_all();
        self.snapshot = None;
        self.has_begun = false;
    }

    pub(crate) fn claims(&self) -> &Claims {
        &self.claims
    }

    pub(crate) fn claims_mut(&mut self) -> &mut Claims {
        &mut self.claims
    }

    /// Hands its locks over to a statement that ends it.
    pub(crate) fn take_claims(&mut self) -> Claims {
        let next = self.claims.of_next_transaction();
        std::mem::replace(&mut self.claims, next)
    }

    /// The writes collected so far.
    pub(crate) fn writes(&self) -> &WriteSet {
        self.block.as_ref().map_or(&self.implicit.writes, |b| &b.collected.writes)
    }

    pub(crate) fn writes_mut(&mut self) -> &mut WriteSet {
        &mut self.collected().writes
    }

    /// What was changed in the catalogue so far.
    pub(crate) fn catalog(&self) -> &StagedCatalog {
        self.block.as_ref().map_or(&self.implicit.catalog, |b| &b.collected.catalog)
    }

    pub(crate) fn catalog_mut(&mut self) -> &mut StagedCatalog {
        &mut self.collected().catalog
    }

    /// Keeps a stored table that was made for it until it ends: nobody else sees that before the commit.
    pub(crate) fn keep(&mut self, made: MadeTable) {
        let savepoints = self.savepoints_made;
        if let MadeTable::Fresh(fresh) = &made {
            self.writes_mut().set_unseen(fresh.stored().clone(), savepoints);
        }
        self.catalog_mut().keep(made);
    }

    /// Whether what is written to this stored table goes when it does: the transaction has made it, and no savepoint is
    /// between the two.
    pub(crate) fn may_write_at_once(&self, table: &StoredTable) -> bool {
        let Some(since) = self.writes().unseen_since(table) else { return false };
        self.block.iter().flat_map(|block| &block.savepoints).all(|savepoint| savepoint.number <= since)
    }

    /// Whether rows of a table may be collected as columns, any number of them: no rule is asked after each row, and they are
    /// not written before the commit.
    pub(crate) fn collects_columns(&self, relation: &Relation) -> bool {
        let is_observed = self.statement.is_some() && relation.place() == Place::Public;
        (is_observed || !relation.place().has_rules()) && self.writes().unseen_since(&relation.stored).is_none()
    }

    /// After a row of a block: whether its writes are still one EGT.
    ///
    /// # Errors
    /// 0A000 or 54000, naming the rule, unless observe mode just notes it.
    pub(crate) fn check_block_rules(&mut self) -> SqlResult<()> {
        self.check_one_store()?;
        match self.statement {
            Some(_) if self.is_observable() => self.note_rules(),
            _ => {
                let unit = self.block_unit();
                rules::check(self.writes_mut(), unit)?;
            }
        }
        Ok(())
    }

    /// A block of the store that the server is for, if that can be observed.
    fn block_unit(&self) -> Unit {
        Unit::Block { is_observable: self.is_observable() && self.claims.commits_groups(Place::Public) }
    }

    /// Whether all that is written goes to one store: no two of them commit together. What is temporary may come besides.
    ///
    /// # Errors
    /// 0A000 naming two schemas.
    pub(crate) fn check_one_store(&self) -> SqlResult<()> {
        let (writes, catalog) = (self.writes(), self.catalog());
        if catalog.is_empty() && !writes.has_several_tables() {
            return Ok(());
        }
        let mut places = writes.places();
        places.extend(catalog.places());
        rules::check_one_store(&places)
    }

    /// Whether observe mode can carry out what is written: it looks on at the store that the server is for.
    fn is_observable(&self) -> bool {
        self.writes().places().iter().all(|place| *place == Place::Public)
    }

    /// After a row of a statement under `egt.autocommit = strict`, which observe mode leaves in force.
    ///
    /// # Errors
    /// 0A000 or 54000, naming the rule.
    pub(crate) fn check_statement_rules(&mut self) -> SqlResult<()> {
        rules::check(self.writes_mut(), Unit::Statement)?;
        self.note_rules();
        Ok(())
    }

    /// In observe mode, notes the statement and the rules that the collected writes break.
    pub(crate) fn note_rules(&mut self) {
        let Some(statement) = self.statement.clone() else { return };
        if self.writes().operations() == 0 || !self.is_observable() {
            return;
        }
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
    pub(crate) fn check_move(&mut self, relation: &Relation, from: &PartitionKey, to: &PartitionKey) -> SqlResult<()> {
        let statement = self.statement.clone().filter(|_| relation.place() == Place::Public);
        let Some(statement) = statement else { return Err(rules::moved_row(relation, from, to)) };
        self.collected().observed.broke(Rule::MovedRow, &statement);
        Ok(())
    }

    /// # Errors
    /// 25P01 outside a block.
    pub(crate) fn savepoint(&mut self, name: String) -> SqlResult<()> {
        let (locks, number) = (self.claims.mark(), self.savepoints_made + 1);
        let block = self.block_for("SAVEPOINT")?;
        let (before, modes) = (block.collected.mark(), block.modes);
        block.savepoints.push(Savepoint { name, number, before, locks, modes });
        self.savepoints_made = number;
        Ok(())
    }

    /// How many savepoints the block has.
    pub(crate) fn savepoints(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.savepoints.len())
    }

    /// # Errors
    /// 25P01 outside a block, 3B001 for an unknown name.
    pub(crate) fn release(&mut self, name: &str) -> SqlResult<()> {
        let block = self.block_for("RELEASE SAVEPOINT")?;
        let at = block.find(name)?;
        block.modes = block.savepoints[at].modes;
        block.savepoints.truncate(at);
        Ok(())
    }

    /// Goes back to the savepoint, which stays; also out of the failed state. What was locked since is free again.
    ///
    /// # Errors
    /// 25P01 outside a block, 3B001 for an unknown name.
    pub(crate) fn rollback_to(&mut self, name: &str) -> SqlResult<()> {
        let block = self.block_for("ROLLBACK TO SAVEPOINT")?;
        let at = block.find(name)?;
        block.savepoints.truncate(at + 1);
        let Savepoint { before, locks, modes, .. } = &block.savepoints[at];
        block.collected.restore(before);
        block.modes = *modes;
        block.failed = false;
        let locks = *locks;
        self.claims.held().release_to(locks);
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

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("serial", &self.serial).finish_non_exhaustive()
    }
}

impl Collected {
    fn new(space: &Arc<WriteSpace>) -> Self {
        Self {
            writes: WriteSet::new(Arc::clone(space)),
            catalog: StagedCatalog::default(),
            observed: Observed::default(),
        }
    }

    /// The extent of what it writes; asked only of one that broke a rule, so nothing is counted for others.
    pub(crate) fn footprint(&self) -> Footprint {
        if self.observed.breaches().is_empty() { Footprint::new() } else { self.writes.footprint() }
    }

    fn mark(&mut self) -> StatementMark {
        let (writes, catalog) = (self.writes.mark(), self.catalog.clone());
        StatementMark { writes, catalog, breaches: self.observed.breaches().len() }
    }

    fn restore(&mut self, mark: &StatementMark) {
        self.writes.restore(&mark.writes);
        self.catalog.clone_from(&mark.catalog);
        self.observed.forget_breaches_after(mark.breaches);
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
