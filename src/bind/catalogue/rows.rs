//! Rows of the recorded catalogue, by the columns that are asked for.

use tablegate_types::built_in::RecordedFile;

/// The cells of these columns, of every row of a recorded relation.
pub(super) fn cells<const N: usize>(
    relation: &str,
    columns: [&str; N],
) -> impl Iterator<Item = [&'static str; N]> + use<N> {
    let file = RecordedFile::of(relation);
    let at = columns.map(|column| file.as_ref().and_then(|file| file.position(column)));
    let rows: Vec<_> = file.iter().flat_map(|file| file.rows().collect::<Vec<_>>()).collect();
    rows.into_iter().map(move |row| at.map(|at| at.and_then(|at| row.get(at).copied()).unwrap_or_default()))
}

/// A number of the catalogue, 0 where there is none.
pub(super) fn number(cell: &str) -> u32 {
    cell.parse().unwrap_or(0)
}
