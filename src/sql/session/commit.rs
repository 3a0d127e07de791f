//! Committing what the statements of a transaction have collected.

use tablegate_store::table::Operation;
use tablegate_types::error::SqlResult;

use super::Session;
use crate::catalog::StagedCatalog;
use crate::observe::{Footprint, Observed, Outcome};
use crate::tx::{Collected, CommitGroup, EgtCount, EgtWriter, WriteSet, after_commits};

impl Session {
    /// Commits a block, all or nothing: one EGT, as the rules have seen to, or in observe mode a group of them.
    pub(super) async fn commit_block(&mut self, collected: Collected) -> SqlResult<()> {
        let footprint = collected.footprint();
        let Collected { writes, catalog, observed } = collected;
        let writes_something = writes.operations() > 0;
        let written = self.extent.is_some().then(|| writes.footprint());
        let committed = self.commit_group(writes, catalog, &observed, &footprint).await;
        let outcome = if committed.is_ok() { Outcome::Committed } else { Outcome::RolledBack };
        self.record(&observed, &footprint, outcome);
        committed?;
        let egts = u64::from(writes_something);
        self.note_extent(EgtCount { egts, ..EgtCount::default() }, written.as_ref());
        self.meter.add_egts(egts);
        self.tell_about_breaches(&observed);
        Ok(())
    }

    /// Everything that is committed together: the writes, the changes of the catalogue, and the record of the rules that
    /// the writes break. Before that comes what nobody sees without it.
    async fn commit_group(
        &mut self,
        mut writes: WriteSet,
        catalog: StagedCatalog,
        observed: &Observed,
        footprint: &Footprint,
    ) -> SqlResult<()> {
        Box::pin(self.write_unseen(&mut writes)).await?;
        let _memory = self.engine.write_space().commits().wait_for(writes.bytes()).await;
        let mut group = CommitGroup::default();
        group.add_writes(writes, catalog.is_empty()).await?;
        if !observed.breaches().is_empty() {
            let recorder = self.engine.recorder();
            group.add_own(recorder.batch(&self.client(), observed, footprint, self.engine.now())?);
        }
        let (public, temporary) = catalog.split();
        Box::pin(group.commit(self.engine.stores(), self.engine.catalog(), public)).await?;
        self.own.apply(&temporary);
        Ok(())
    }

    /// Commits an implicit transaction: as several EGTs where needed, or all or nothing where observe mode looked on or
    /// the catalogue changes.
    pub(super) async fn commit_implicit(&mut self, collected: Collected) -> SqlResult<()> {
        if collected.observed.statements().is_empty() && collected.catalog.is_empty() {
            self.commit_split(collected.writes).await
        } else {
            self.commit_block(collected).await
        }
    }

    async fn commit_split(&mut self, mut writes: WriteSet) -> SqlResult<()> {
        let mut total = EgtCount::default();
        let of_temporary = writes.take_free();
        let bytes = of_temporary.bytes();
        let mut free = CommitGroup::default();
        free.add_writes(of_temporary, true).await?;
        for (relation, operations) in writes.into_operations() {
            let store = self.engine.stores().at(relation.place())?.clone();
            let store = self.engine.catalog().fenced(store, &relation);
            let report = self.report(&relation, "COMMIT");
            let mut writer = EgtWriter::new(store, relation).with_report(report);
            if self.extent.is_some() {
                writer.keep_footprint();
            }
            if let Err(error) = write_all(&mut writer, operations).await {
                let error = writer.give_up(error).await;
                return Err(if total.egts > 0 { after_commits(error) } else { error });
            }
            self.note_extent(writer.committed(), writer.take_footprint().as_ref());
            total.egts += writer.committed().egts;
            total.rows += writer.committed().rows;
            total.commits += writer.committed().commits;
        }
        if total.egts > 0 {
            free.follow();
        }
        let committed = {
            let _memory = self.engine.write_space().commits().wait_for(bytes).await;
            let free = free.commit(self.engine.stores(), self.engine.catalog(), StagedCatalog::default());
            Box::pin(free).await
        };
        committed.map_err(|error| if total.egts > 0 { after_commits(error) } else { error })?;
        self.meter.add_egts(total.egts);
        self.tell_about_split(total);
        Ok(())
    }
}

/// Commits operations as the entity group transactions they fit into.
pub(super) async fn write_all(
    writer: &mut EgtWriter,
    operations: impl Iterator<Item = SqlResult<Operation>>,
) -> SqlResult<()> {
    for operation in operations {
        writer.push(operation?).await?;
    }
    writer.finish().await.map(drop)
}
