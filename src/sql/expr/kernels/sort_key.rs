//! Keys: values in a form that the engine compares as PostgreSQL compares the values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, ListArray};
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use arrow::row::{RowConverter, SortField};
use tablegate_types::error::SqlResult;
use tablegate_types::functions::jsonb_sort_key;
use tablegate_types::sql_type::SqlType;

use super::{Kernel, interval, record};

/// Of arrays: item by item, an item that is NULL being greater than any other, and a longer array than one it begins with.
pub(crate) static ARRAY_KEY: Kernel =
    Kernel { name: "array_key", evaluate: |o, _| array_keys(&o.get(0)?.array, &o.type_of(0)) };
/// Of jsonb.
pub(crate) static JSONB_KEY: Kernel = Kernel { name: "jsonb_key", evaluate: |o, _| jsonb_keys(&o.get(0)?.array) };
/// Arrays of the keys of arrays' items.
pub(crate) static ITEM_KEYS: Kernel =
    Kernel { name: "item_keys", evaluate: |o, _| comparable(&o.get(0)?.array, &o.type_of(0)) };

fn array_keys(arrays: &ArrayRef, sql_type: &SqlType) -> SqlResult<ArrayRef> {
    let arrays = comparable(arrays, sql_type)?;
    let options = SortOptions { descending: false, nulls_first: false };
    let field = SortField::new_with_options(arrays.data_type().clone(), options);
    let rows = RowConverter::new(vec![field])?.convert_columns(std::slice::from_ref(&arrays))?;
    let (offsets, bytes, _) = rows.try_into_binary()?.into_parts();
    // Where NULL goes is for the order to say in which the key stands.
    Ok(Arc::new(BinaryArray::new(offsets, bytes, arrays.nulls().cloned())))
}

fn jsonb_keys(values: &ArrayRef) -> SqlResult<ArrayRef> {
    let texts = cast(values, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    let mut keys = BinaryBuilder::with_capacity(texts.len(), texts.value_data().len());
    let mut key = Vec::new();
    for text in texts {
        key.clear();
        keys.append_option(text.map(|text| {
            jsonb_sort_key(text, &mut key);
            &key
        }));
    }
    Ok(Arc::new(keys.finish()))
}

/// Values whose own order is PostgreSQL's.
///
/// # Errors
/// XX000 when they are not of the type.
pub(super) fn comparable(values: &ArrayRef, sql_type: &SqlType) -> SqlResult<ArrayRef> {
    Ok(match (sql_type, values.data_type()) {
        (SqlType::Interval, _) => interval::spans(values)?,
        (SqlType::Jsonb, _) => jsonb_keys(values)?,
        (SqlType::Record(_), DataType::Struct(_)) => record::keys(values.as_struct())?,
        (SqlType::Array(item), DataType::List(_)) => {
            let list = values.as_list::<i32>();
            let items = comparable(list.values(), item)?;
            let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            Arc::new(ListArray::new(field, list.offsets().clone(), items, list.nulls().cloned()))
        }
        // Zero is zero and NaN is NaN, however they are written.
        (_, DataType::Float64) => Arc::new(
            values
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value + 0.0 }),
        ),
        (_, DataType::Float32) => Arc::new(
            values
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value + 0.0 }),
        ),
        _ => values.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_types::input::ColumnParser;

    fn keys(item: SqlType, texts: &[&str]) -> Vec<Vec<u8>> {
        let sql_type = SqlType::Array(Box::new(item));
        let mut column = ColumnParser::new(&sql_type);
        texts.iter().for_each(|text| column.push(Some(text)).unwrap());
        let keys = array_keys(&column.finish(), &sql_type).unwrap();
        keys.as_binary::<i32>().iter().flatten().map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn arrays_are_in_the_order_of_postgresql() {
        assert!(keys(SqlType::Int4, &["{}", "{-5}", "{1}", "{1,2}", "{1,NULL}", "{2}", "{NULL}"]).is_sorted());
        assert!(keys(SqlType::Text, &["{}", "{\"\"}", "{a}", "{a,b}", "{a,NULL}", "{b}", "{NULL,x}"]).is_sorted());
    }

    #[test]
    fn items_are_compared_by_their_own_keys() {
        let equal = |item, texts: [&str; 2]| {
            let keys = keys(item, &texts);
            assert_eq!(keys[0], keys[1], "{texts:?}");
        };
        equal(SqlType::Interval, ["{1 mon}", "{30 days}"]);
        equal(SqlType::Float8, ["{-0}", "{0}"]);
        equal(SqlType::Jsonb, ["{1.0}", "{1}"]);
    }
}
