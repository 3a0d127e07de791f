//! New values for rows that keep all others: where a row's shape has a place for each of them they are put there, and the
//! rest of its bytes is copied.

use tablegate_store::model::EdmDateTime;
use tablegate_store::table::{KnownEntities, Rejection};

use super::analyze::Recorders;
use super::meta::TableMeta;
use super::row::{Patch, Row, RowError};

/// A row of no more bytes is within the limits of entities, however the service counts: a text has no more UTF-16 units
/// than bytes, and so have the names of all the properties there can be.
const SURELY_LEGAL: usize = 128 * 1024;

/// What entities get.
pub(super) struct Merging<'a> {
    entities: &'a KnownEntities,
    /// Who wants to know of each row.
    recorders: Option<&'a Recorders>,
    /// By the numbers of shapes: inner `None` where the shape has not all of the properties in their types.
    patches: Vec<Option<Option<Patch>>>,
}

pub(super) enum MergeError {
    Rejected(Rejection),
    Damaged(RowError),
}

impl<'a> Merging<'a> {
    pub(super) fn new(entities: &'a KnownEntities, recorders: Option<&'a Recorders>) -> Self {
        Self { entities, recorders, patches: Vec::new() }
    }

    /// Appends the bytes of a row with the values of the entity at a place.
    ///
    /// # Errors
    /// When the row would be beyond a limit, or cannot be read.
    pub(super) fn merge(
        &mut self,
        row: &Row<'_>,
        place: usize,
        timestamp: EdmDateTime,
        table: &mut TableMeta,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let columns = self.entities.change().columns();
        if self.recorders.is_none()
            && let Some(patch) = self.patch(row)
        {
            patch.put(row, |column| columns[column].1.value(place), timestamp, out).map_err(MergeError::Damaged)?;
            if out.len() <= SURELY_LEGAL {
                return Ok(());
            }
            out.clear();
        }
        let properties = row.properties().map_err(MergeError::Damaged)?;
        let merged = self.entities.operation(place).into_result(Some(properties)).map_err(MergeError::Rejected)?;
        // It is no deletion, so there is one.
        let Some(merged) = merged else { return Ok(()) };
        if let Some(recorders) = self.recorders {
            recorders.record(table.number, &merged.properties);
        }
        table.observe(&merged.properties);
        table.encode_row(&merged.properties, timestamp, out);
        Ok(())
    }

    fn patch(&mut self, row: &Row<'_>) -> Option<&Patch> {
        let number = usize::try_from(row.shape_number()?).ok()?;
        if self.patches.len() <= number {
            self.patches.resize_with(number + 1, || None);
        }
        let of_shape = || {
            let columns = self.entities.change().columns();
            Patch::of(row.shape(), columns.iter().map(|(name, column)| (name, column.edm_type())))
        };
        self.patches[number].get_or_insert_with(of_shape).as_ref()
    }
}
