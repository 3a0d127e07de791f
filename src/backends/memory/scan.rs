//! Scans and walks: some entities at a time, picking up behind the last key of those before.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use futures::stream;
use tablegate_store::model::{PropertyName, StoredEntity};
use tablegate_store::table::predicate::StoredValue;
use tablegate_store::table::{
    Direction, EntityColumns, EntityView, EntityWalk, KeyRange, ScanRequest, ScanStream, StoreError, Visit,
};

use super::table::Table;

pub(super) struct Scan {
    table: Arc<Table>,
    request: ScanRequest,
    /// How many of the request's ranges were begun.
    begun: usize,
    /// What is left of the ranges that were begun: the next one last.
    left: Vec<KeyRange>,
    rows_left: usize,
}

impl Scan {
    pub(super) fn new(table: Arc<Table>, request: ScanRequest) -> Self {
        let rows_left = request.limit.unwrap_or(usize::MAX);
        Self { table, request, begun: 0, left: Vec::new(), rows_left }
    }

    pub(super) fn into_stream(self) -> ScanStream {
        Box::pin(stream::try_unfold(self, |mut scan| async move { Ok(scan.next_batch()?.map(|batch| (batch, scan))) }))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        let mut columns = EntityColumns::new(Arc::clone(&self.request.columns));
        while self.rows_left > 0 && !columns.is_full(self.request.batch_rows) {
            let Some(range) = self.next_range() else { break };
            self.fill(&mut columns, &range)?;
        }
        columns.take()
    }

    fn next_range(&mut self) -> Option<KeyRange> {
        self.left.pop().or_else(|| {
            let ranges = &self.request.ranges;
            let range = match self.request.direction {
                Direction::Forward => ranges.get(self.begun),
                Direction::Reverse => ranges.iter().rev().nth(self.begun),
            }?;
            self.begun += 1;
            self.request.stats.add_request();
            Some(range.clone())
        })
    }

    fn is_wanted(&self, stored: &StoredEntity) -> bool {
        let properties = &stored.entity.properties;
        let mut value = |name: &PropertyName| {
            properties.get(name.as_str()).map_or(StoredValue::Absent, |value| StoredValue::Value(value.as_ref()))
        };
        self.request.predicate.as_ref().is_none_or(|predicate| predicate.may_hold(stored.timestamp, &mut value))
    }

    /// Takes entities of the range until it, the batch or the limit is at its end; what is left of it is kept.
    fn fill(&mut self, columns: &mut EntityColumns, range: &KeyRange) -> Result<(), StoreError> {
        for stored in self.table.walk(range, self.request.direction) {
            self.request.stats.add_entities_scanned(1);
            self.request.stats.add_bytes(stored.entity.stored_size());
            if !self.is_wanted(stored) {
                continue;
            }
            columns.push(stored)?;
            self.rows_left -= 1;
            if self.rows_left == 0 || columns.is_full(self.request.batch_rows) {
                self.left.extend(behind(range, stored, self.request.direction));
                break;
            }
        }
        Ok(())
    }

    /// Shows entities of the range until there are no more, or enough; what is left of it is kept.
    fn show(
        &mut self,
        range: &KeyRange,
        entities: &mut usize,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        for stored in self.table.walk(range, self.request.direction) {
            *entities -= 1;
            self.request.stats.add_entities_scanned(1);
            let flow = if self.is_wanted(stored) {
                self.rows_left -= 1;
                visit(&EntityView::from(&**stored))?
            } else {
                ControlFlow::Continue(())
            };
            if flow.is_break() || *entities == 0 || self.rows_left == 0 {
                self.left.extend(behind(range, stored, self.request.direction));
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// What is left of the range behind an entity, what comes next last.
fn behind(range: &KeyRange, stored: &StoredEntity, direction: Direction) -> [KeyRange; 2] {
    let [same_partition, other_partitions] = range.behind(&stored.entity.key, direction);
    [other_partitions, same_partition]
}

#[async_trait]
impl EntityWalk for Scan {
    async fn advance(&mut self, mut entities: usize, visit: &mut Visit<'_>) -> Result<bool, StoreError> {
        while entities > 0 && self.rows_left > 0 {
            let Some(range) = self.next_range() else { return Ok(false) };
            if self.show(&range, &mut entities, visit)?.is_break() {
                return Ok(self.rows_left > 0);
            }
        }
        Ok(self.rows_left > 0)
    }
}
