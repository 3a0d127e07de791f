//! Finds batches that need not be read, because the manifest shows that none of their rows can match the scan's
//! predicate.

use tablegate_store::model::{EdmDateTime, EdmRef, EdmType};
use tablegate_store::table::ColumnType;
use tablegate_store::table::predicate::{Bounds, Predicate, PredicateColumn, fitting_types};

use super::assemble::is_exact_in_doubles;
use super::file::{PROPERTIES, TIMESTAMP};
use super::manifest::{BatchMeta, Extremes, SegmentMeta};

/// Whether the predicate may be true of a row of the batch.
pub(super) fn may_hold(meta: &SegmentMeta, batch: &BatchMeta, predicate: &Predicate) -> bool {
    predicate.may_hold_within(&mut |column| bounds(meta, batch, column))
}

fn bounds<'a>(meta: &'a SegmentMeta, batch: &'a BatchMeta, column: &PredicateColumn) -> Bounds<'a> {
    let name = match column {
        PredicateColumn::Timestamp => {
            let known = batch.columns.get(TIMESTAMP).and_then(|column| ends(&column.extremes, EdmType::DateTime));
            let (least, greatest) = known.unzip();
            return Bounds { has_absent: false, least, greatest: greatest.flatten(), ..Bounds::UNKNOWN };
        }
        PredicateColumn::Property { name, .. } => name,
    };
    let mut known = Bounds::ABSENT;
    let mut values = 0;
    for (index, stored) in meta.columns.iter().enumerate().filter(|(_, stored)| stored.name == *name) {
        let Some(of_batch) = batch.columns.get(PROPERTIES + index) else { return Bounds::UNKNOWN };
        if of_batch.nulls >= batch.rows {
            continue;
        }
        let is_first = values == 0;
        values += batch.rows - of_batch.nulls;
        let shown = ends(&of_batch.extremes, stored.edm_type)
            .filter(|_| is_first && is_shown_in_order(stored.edm_type, column.column_type(), &of_batch.extremes));
        let (least, greatest) = shown.unzip();
        known = Bounds { has_absent: true, has_values: true, least, greatest: greatest.flatten() };
    }
    Bounds { has_absent: values < batch.rows, ..known }
}

/// Whether a column of this type shows all values between the extremes, in the order that these are of.
fn is_shown_in_order(stored: EdmType, shown: ColumnType, extremes: &Extremes) -> bool {
    match (stored, shown) {
        // Numbers and instants have another order as texts.
        (EdmType::String, ColumnType::Text) => true,
        (_, ColumnType::Text) => false,
        (EdmType::Int64, ColumnType::Double) => is_exact_in_doubles(extremes),
        _ => fitting_types(shown).contains(&stored),
    }
}

/// The least value or one below it, and the greatest where it is known.
fn ends(extremes: &Extremes, stored: EdmType) -> Option<(EdmRef<'_>, Option<EdmRef<'_>>)> {
    match extremes {
        Extremes::Unknown => None,
        Extremes::Integers(least, greatest) => {
            let value = |integer: i64| match stored {
                EdmType::Int32 => i32::try_from(integer).ok().map(EdmRef::Int32),
                EdmType::Int64 => Some(EdmRef::Int64(integer)),
                EdmType::Boolean => Some(EdmRef::Boolean(integer != 0)),
                EdmType::DateTime => EdmDateTime::from_unix_micros(integer).map(EdmRef::DateTime),
                EdmType::Double | EdmType::String | EdmType::Guid | EdmType::Binary => None,
            };
            Some((value(*least)?, value(*greatest)))
        }
        Extremes::Doubles(least, greatest) => Some((EdmRef::Double(*least), Some(EdmRef::Double(*greatest)))),
        Extremes::Texts(least, greatest) => Some((EdmRef::String(least), greatest.as_deref().map(EdmRef::String))),
    }
}
