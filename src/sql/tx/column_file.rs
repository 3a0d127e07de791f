//! Columns that a transaction has written and memory has no room for: in a file without a name, where they are read as they lie.
//!
//! Only values go there. Keys, and the versions of rows that are changed, stay in memory: who commits, and who asks what the
//! transaction has written, goes by them.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{Field, Schema};
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamEncoder;
use tablegate_files::MappedFile;
use tablegate_store::table::EntityWindow;
use tablegate_types::error::SqlResult;

use super::spill::{damaged, failed};

/// The columns of one transaction.
#[derive(Debug)]
pub(super) struct ColumnFile(MappedFile);

impl ColumnFile {
    /// # Errors
    /// 53100 or 58030 when it cannot be made.
    pub(super) fn new_in(folder: &Path) -> SqlResult<Self> {
        MappedFile::new_in(folder).map(Self).map_err(|error| failed(&error))
    }

    /// The same rows, with their values in the file.
    ///
    /// # Errors
    /// 53100 or 58030 when there is no room on the disk.
    pub(super) fn put_away(&mut self, window: EntityWindow) -> SqlResult<EntityWindow> {
        if window.columns().is_empty() {
            return Ok(window);
        }
        let parts = in_parts(&window)?;
        let bytes = self.0.append(parts.iter().map(Buffer::as_slice)).map_err(|error| failed(&error))?;
        drop(parts);
        let read = read(&mut Buffer::from(bytes))?;
        self.0.let_go();
        window.moved_to(read.columns()).ok_or_else(damaged)
    }
}

/// What is written of a window: its values are not copied for that.
fn in_parts(window: &EntityWindow) -> SqlResult<Vec<Buffer>> {
    let arrays: Vec<_> = window.columns().iter().map(|(_, column)| column.to_array()).collect();
    let fields = window.columns().iter().zip(&arrays);
    let fields: Vec<_> =
        fields.map(|((name, _), array)| Field::new(name.as_str(), array.data_type().clone(), true)).collect();
    let rows = RecordBatch::try_new(Schema::new(fields).into(), arrays)?;
    let mut encoder = StreamEncoder::try_new(&rows.schema())?;
    let mut parts = encoder.encode(&rows)?;
    parts.extend(encoder.finish()?);
    Ok(parts)
}

fn read(bytes: &mut Buffer) -> SqlResult<RecordBatch> {
    StreamDecoder::new().decode(bytes)?.ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, StringArray,
    };
    use tablegate_store::model::{EntityKeys, PropertyName, TableName};
    use tablegate_store::table::{EdmColumn, NewEntities};

    use super::*;

    /// Columns of every type, with NULLs and as parts of longer ones.
    #[test]
    fn values_are_what_they_were() {
        let name = |text: &str| PropertyName::parse(text).unwrap();
        let guids = FixedSizeBinaryArray::try_from_iter((0_u8..40).map(|byte| [byte; 16])).unwrap();
        let texts = StringArray::from_iter((0..40).map(|row| (row % 3 > 0).then(|| "é".repeat(row))));
        let blobs = BinaryArray::from_iter((0..40).map(|row| (row % 5 > 0).then(|| vec![7; row])));
        let columns = vec![
            (name("t"), EdmColumn::String(texts.slice(7, 30))),
            (
                name("i"),
                EdmColumn::Int32(Int32Array::from_iter((0..40).map(|row| (row % 2 > 0).then_some(row))).slice(9, 30)),
            ),
            (name("l"), EdmColumn::Int64(Int64Array::from_iter_values(0..30))),
            (name("at"), EdmColumn::DateTime(Int64Array::from_iter_values(100..130))),
            (name("d"), EdmColumn::Double(Float64Array::from_iter_values((0..30).map(f64::from)))),
            (
                name("b"),
                EdmColumn::Boolean(BooleanArray::from_iter((0..40).map(|row| Some(row % 4 == 0))).slice(3, 30)),
            ),
            (name("g"), EdmColumn::Guid(guids.slice(5, 30))),
            (name("x"), EdmColumn::Binary(blobs.slice(2, 30))),
        ];
        let mut keys = EntityKeys::default();
        (0..30).for_each(|row| keys.push("p", &format!("{row:02}")).unwrap());
        let new = NewEntities::new(&TableName::parse("Orders").unwrap(), Arc::new(keys), columns).unwrap();
        let expected: Vec<_> = (0..30).map(|place| new.entity(place)).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut file = ColumnFile::new_in(folder.path()).unwrap();
        let one = file.put_away(new.clone().into()).unwrap();
        let other = file.put_away(new.into()).unwrap();
        drop(file);
        for window in [one, other] {
            let new = window.as_new().unwrap();
            assert_eq!((0..30).map(|place| new.entity(place)).collect::<Vec<_>>(), expected);
        }
    }
}
