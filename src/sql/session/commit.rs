//! Committing what the statements of a transaction have collected.

use super::Session;
use crate::sql::error::{Notice, SqlResult};
use crate::sql::observe::Observed;
use crate::sql::tx::{Collected, CommitGroup, EgtCount, EgtWriter, WriteSet};

impl Session {
    /// Commits a block, all or nothing: one EGT, as the rules have seen to, or in observe mode a group of them.
    pub(super) async fn commit_block(&mut self, collected: Collected) -> SqlResult<()> {
        let Collected { writes, observed } = collected;
        let mut group = CommitGroup::default();
        group.add_writes(writes)?;
        group.commit(&**self.engine.store()).await?;
        self.tell_about_breaches(&observed);
        Ok(())
    }

    /// Commits an implicit transaction: as several EGTs where needed, unless observe mode saw that it is not one.
    pub(super) async fn commit_implicit(&mut self, collected: Collected) -> SqlResult<()> {
        if collected.observed.breaches().is_empty() {
            self.commit_split(collected.writes).await
        } else {
            self.commit_block(collected).await
        }
    }

    async fn commit_split(&mut self, writes: WriteSet) -> SqlResult<()> {
        let mut total = EgtCount::default();
        for (relation, operations) in writes.into_operations() {
            let mut writer = EgtWriter::new(self.engine.store().clone(), relation);
            for operation in operations {
                writer.push(operation).await?;
            }
            writer.finish().await?;
            total.egts += writer.committed().egts;
            total.rows += writer.committed().rows;
        }
        self.tell_about_split(total);
        Ok(())
    }

    /// One WARNING for each transaction that strict mode would have refused.
    fn tell_about_breaches(&mut self, observed: &Observed) {
        let breaches = observed.breaches();
        if breaches.is_empty() {
            return;
        }
        let rules: Vec<&str> = breaches.iter().map(|breach| breach.rule.name()).collect();
        let statements: Vec<String> =
            breaches.iter().map(|breach| format!("{}: {}", breach.rule.name(), breach.statement.text())).collect();
        let message = format!("the transaction is not one entity group transaction: {}", rules.join(", "));
        self.notice(Notice::warning(message).with_detail(statements.join("\n")));
    }
}
