//! Columns that are stored in another form than they are shown in, as the store is asked for them: it may keep them in the
//! form that is shown.
//!
//! Key columns are parts of PartitionKey and RowKey, numerics are texts, dates are instants. Columns whose conversion
//! costs next to nothing are not among them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::DataType;
use tablegate_store::model::PropertyName;
use tablegate_store::table::{ColumnType, DeriveError, DerivedColumn, ScanColumn};
use tablegate_types::edm;
use tablegate_types::error::SqlError;
use tablegate_types::key_codec::KeyCodec;
use tablegate_types::sql_type::SqlType;

use super::{ColumnSource, RelationColumn};

/// Counts up whenever the same stored values are to become other ones: what stores keep is then made anew.
const VERSION: u32 = 1;

/// The derived columns of a relation, in the places of its columns.
pub(crate) type DerivedColumns = Arc<[Option<Arc<DerivedColumn>>]>;

/// Of these columns, whose keys the codec maps.
pub(crate) fn derived_columns(columns: &[RelationColumn], codec: &Arc<KeyCodec>) -> DerivedColumns {
    let derived = |column: &RelationColumn| match &column.source {
        ColumnSource::KeyPart(part) => Some(Arc::new(key_part(codec, *part))),
        ColumnSource::Property { name, column_type } => {
            is_remade(&column.sql_type).then(|| Arc::new(property(name, *column_type, &column.sql_type)))
        }
        ColumnSource::PartitionKey | ColumnSource::RowKey | ColumnSource::Timestamp => None,
        ColumnSource::ETag | ColumnSource::EdmTypeOf(_) => None,
    };
    columns.iter().map(derived).collect()
}

/// Whether each value is looked at to make one of this type.
fn is_remade(sql_type: &SqlType) -> bool {
    matches!(sql_type.arrow(), DataType::Decimal128(..) | DataType::Decimal256(..) | DataType::Date32)
}

fn key_part(codec: &Arc<KeyCodec>, part: usize) -> DerivedColumn {
    let id = format!("{VERSION} {}", codec.describe_part(part));
    let data_type = codec.columns()[part].sql_type.arrow();
    let codec = Arc::clone(codec);
    DerivedColumn::new(id, vec![ScanColumn::PartitionKey, ScanColumn::RowKey], data_type, move |keys| {
        let decoded = codec.decode(keys[0].as_string(), keys[1].as_string(), &[part]);
        let decoded = decoded.map_err(|error| refused(error.into()))?;
        Ok(Arc::clone(&decoded[0]))
    })
}

fn property(name: &PropertyName, column_type: ColumnType, sql_type: &SqlType) -> DerivedColumn {
    let id = format!("{VERSION} {name} {column_type:?} {sql_type}");
    let input = ScanColumn::Property { name: name.clone(), column_type };
    let to = sql_type.clone();
    let derive = move |stored: &[ArrayRef]| edm::to_sql(&stored[0], &to).map_err(refused);
    DerivedColumn::new(id, vec![input], sql_type.arrow(), derive)
}

fn refused(error: Box<SqlError>) -> DeriveError {
    Arc::from(error as Box<dyn std::error::Error + Send + Sync>)
}
