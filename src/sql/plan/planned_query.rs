//! A query that was planned: what it was planned from and with, and whether there is a short way to its rows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use tablegate_types::error::SqlResult;
use tablegate_types::single_row::SingleRow;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Style;

use super::assigned::{Receiver, check_constants, check_given, check_types};
use super::direct::{self, DirectRead, Length};
use super::held_rows::HeldRows;
use super::lasting::Lasting;
use super::outputs::Run;
use super::over_rows::OverRows;
use super::short::{self, ShortQuery};
use crate::catalog::{CatalogView, View};
use crate::engine::Engine;
use crate::outcome::{ResultColumn, RowStream};
use crate::reads::Reads;
use crate::relation::{Relation, RelationKind};
use crate::settings::Settings;

/// A query that was planned once and can be run with other parameters and on later snapshots.
pub(crate) struct PlannedQuery {
    pub plan: LogicalPlan,
    /// Type of each parameter, `$1` first.
    pub parameters: Vec<SqlType>,
    /// The numbers of those that the query itself names.
    pub(super) named: Vec<usize>,
    pub columns: Arc<[ResultColumn]>,
    /// The relations it was planned with: it stays valid while they keep their shape.
    pub relations: Vec<Arc<Relation>>,
    /// The views whose queries became part of it.
    pub views: Vec<Arc<View>>,
    /// Reads system relations, whose content is part of the plan.
    pub reads_system_catalog: bool,
    /// What its columns are assigned to.
    pub(super) receivers: Vec<Receiver>,
    /// The style of the session it was planned in.
    pub(super) style: Style,
    /// The read that it is, if it needs no optimizer. Found out when it first runs.
    pub(super) direct: OnceLock<Option<DirectRead>>,
    /// The short query that it is, if it may be one. Found out when it runs for the second time.
    pub(super) short: OnceLock<Option<ShortQuery>>,
    pub(super) has_run: AtomicBool,
    /// What it computes of the rows that it is planned over, if that needs no plan. Found out as [`PlannedQuery::direct`] is.
    pub(super) over_rows: OnceLock<Option<OverRows>>,
    pub(super) current_in: CurrentIn,
}

/// The version of the catalogue in which something was found to be current last.
#[derive(Debug)]
pub(crate) struct CurrentIn(AtomicU64);

impl Default for CurrentIn {
    /// None.
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl CurrentIn {
    pub(crate) fn is(&self, version: u64) -> bool {
        version == self.0.load(Ordering::Relaxed)
    }

    /// What depends on these relations is current in this version. Columns that are observed change without the catalogue.
    pub(crate) fn set<'r>(&self, version: u64, mut relations: impl Iterator<Item = &'r Arc<Relation>>) {
        if relations.all(is_declared) {
            self.0.store(version, Ordering::Relaxed);
        }
    }
}

/// Whether a relation has the same columns in each state of the same catalogue: none of them are observed.
pub(crate) fn is_declared(relation: &Arc<Relation>) -> bool {
    relation.kind != RelationKind::Found && !relation.open
}

impl PlannedQuery {
    /// The query, whose columns are assigned to these of a table.
    ///
    /// # Errors
    /// 42804 for a type that is not assigned to the column's, and what the column's type says of a literal without one.
    pub(crate) fn assigned_to(self, receivers: Vec<Receiver>) -> SqlResult<Self> {
        check_types(&self.plan, &receivers, self.style)?;
        Ok(Self { receivers, ..self })
    }

    /// Whether it was found to be current in what this view shows.
    pub(crate) fn is_known_current(&self, catalog: &CatalogView) -> bool {
        self.is_known_current_in(catalog.version())
    }

    /// The same of a version of the catalogue.
    pub(crate) fn is_known_current_in(&self, version: u64) -> bool {
        self.current_in.is(version)
    }

    /// The rows of a query that is a read by key, and no more.
    ///
    /// # Errors
    /// None are expected from the call itself. The stream ends with an error when the store or an expression fails.
    pub(crate) fn read_directly(
        &self,
        engine: &Engine,
        settings: &Settings,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
    ) -> SqlResult<Option<RowStream>> {
        if !settings.direct_reads() {
            return Ok(None);
        }
        let Some(read) = self.direct(engine)? else { return Ok(None) };
        check_given(&self.plan, &self.receivers, self.style, read.given(), parameters)?;
        let rows = read.rows(&Run::new(engine, reads, parameters), reads)?;
        Ok(rows.map(|(rows, length)| match length {
            Length::Short => rows,
            Length::Long => engine.workers().read(rows),
        }))
    }

    /// What a query gives of these rows that was planned over others; `None` where that takes a plan.
    pub(super) fn computed_over(
        &self,
        engine: &Engine,
        parameters: &[ScalarValue],
        reads: &Reads,
        rows: &HeldRows,
    ) -> Option<Vec<RecordBatch>> {
        if self.reads_system_catalog || self.style != reads.moments.style() {
            return None;
        }
        let over_rows = self.over_rows.get_or_init(|| OverRows::of(&self.plan, engine));
        over_rows.as_ref()?.rows(&Run::new(engine, reads, parameters), &rows.batches)
    }

    /// Whether it may be a read of one row by its key, with nothing computed: that depends on its parameters too.
    ///
    /// # Errors
    /// The optimizer's, which it would give for the same query on the long way too.
    pub(crate) fn may_be_single(&self, engine: &Engine) -> SqlResult<bool> {
        Ok(self.direct(engine)?.is_some_and(DirectRead::may_be_single))
    }

    /// The row of such a read, if there is one; outer `None` where it takes another way.
    ///
    /// # Errors
    /// When the table cannot be read.
    #[expect(clippy::option_option, reason = "two different absences, told apart at the only caller")]
    pub(crate) fn single(
        &self,
        engine: &Engine,
        parameters: &[ScalarValue],
        reads: &Reads,
    ) -> SqlResult<Option<Option<SingleRow>>> {
        let Some(read) = self.direct(engine)? else { return Ok(None) };
        check_constants(&self.plan, &self.receivers, self.style)?;
        read.single(parameters, reads)
    }

    /// The rows of a query that is a short one, where they are few in fact; `None` where that takes a plan of the engine's.
    pub(super) async fn few_rows(
        &self,
        engine: &Engine,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
    ) -> Option<RecordBatch> {
        // What runs once is not worth being optimized for more runs.
        if self.short.get().is_none() && !self.has_run.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.short(engine)?.rows(engine, parameters, reads).await
    }

    /// Whether it may be a read by key or a short query, and no more: that depends on its parameters too.
    ///
    /// # Errors
    /// The optimizer's, which it would give for the same query on the long way too.
    pub(crate) fn may_be_short(&self, engine: &Engine) -> SqlResult<bool> {
        Ok(self.direct(engine)?.is_some() || self.short(engine).is_some())
    }

    /// Whether it may be a read by key, and no more: that depends on its parameters too.
    ///
    /// # Errors
    /// The optimizer's, which it would give for the same query on the long way too.
    pub(crate) fn may_read_directly(&self, engine: &Engine) -> SqlResult<bool> {
        Ok(self.direct(engine)?.is_some())
    }

    fn direct(&self, engine: &Engine) -> SqlResult<Option<&DirectRead>> {
        if self.reads_system_catalog {
            return Ok(None);
        }
        if let Some(read) = self.direct.get() {
            return Ok(read.as_ref());
        }
        let read = match direct::is_candidate(&self.plan)? {
            true => {
                self.lasting(engine)?.map(|lasting| DirectRead::of(&lasting, &self.receivers, engine)).transpose()?
            }
            false => None,
        };
        Ok(self.direct.get_or_init(|| read.flatten()).as_ref())
    }

    fn short(&self, engine: &Engine) -> Option<&ShortQuery> {
        if self.reads_system_catalog || !self.receivers.is_empty() {
            return None;
        }
        let short = || {
            if !short::is_candidate(&self.plan).ok()? {
                return None;
            }
            ShortQuery::of(&self.lasting(engine).ok()??, self.parameters.len(), engine)
        };
        self.short.get_or_init(short).as_ref()
    }

    fn lasting(&self, engine: &Engine) -> SqlResult<Option<Lasting>> {
        Lasting::of(&self.plan, self.style, &self.receivers, engine)
    }
}
