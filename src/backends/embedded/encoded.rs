//! New entities as the engine's bytes, as far as these do not depend on what is written: made by who hands them over.
//!
//! The commit thread, which everybody waits for, only puts the table's number, shapes and Timestamps to them.

use std::collections::HashMap;

use tablegate_store::model::limits::CUSTOM_PROPERTIES_MAX;
use tablegate_store::model::{EdmDateTime, EdmType, PropertyName};
use tablegate_store::table::{EdmColumn, NewEntities, TypeSet};

use super::encoded_keys::EncodedKeys;
use super::meta::TableMeta;
use super::row::{is_wide, put_head, put_signature_of, put_values, variable_bytes};

/// Which columns have a value in a row: a bit for each.
type Present = [u64; CUSTOM_PROPERTIES_MAX.div_ceil(64)];

/// New entities as their bytes, in the order of their transactions.
pub(super) struct EncodedEntities {
    /// Their keys and transactions. Their values only where they are kept.
    pub(super) entities: NewEntities,
    pub(super) rows: EncodedRows,
}

impl EncodedEntities {
    pub(super) fn new(entities: NewEntities) -> Self {
        let encoded = Self::keeping_values(entities);
        Self { entities: encoded.entities.without_values(), ..encoded }
    }

    pub(super) fn keeping_values(entities: NewEntities) -> Self {
        let rows = EncodedRows::new(&entities);
        Self { entities, rows }
    }
}

/// The bytes alone.
pub(super) struct EncodedRows {
    pub(super) keys: EncodedKeys,
    /// The values of rows as they lie in their bytes, one behind the other.
    values: Vec<u8>,
    rows: Vec<EncodedRow>,
    pub(super) forms: Vec<Form>,
}

/// A row's values: where they end, and of what they are.
#[derive(Clone, Copy)]
struct EncodedRow {
    end: usize,
    /// Which of the forms.
    form: usize,
    is_wide: bool,
}

/// What rows with the same columns have in common.
pub(super) struct Form {
    pub(super) properties: Vec<(PropertyName, EdmType)>,
    pub(super) types: Vec<TypeSet>,
    pub(super) signature: Vec<u8>,
    /// By their places.
    columns: Vec<usize>,
}

impl EncodedRows {
    pub(super) fn new(entities: &NewEntities) -> Self {
        let rows = entities.len();
        let mut forms = Forms::new(entities.columns());
        let mut keys = EncodedKeys::with_capacity(rows);
        let (mut values, mut encoded) = (Vec::with_capacity(entities.values_bytes()), Vec::with_capacity(rows));
        for index in 0..entities.transactions() {
            for place in entities.transaction(index) {
                let (partition, row) = entities.keys().pair(place);
                keys.push(partition, row);
                let form = forms.of(place);
                let columns = &forms.forms[form].columns;
                let of_row = columns.iter().map(|column| entities.columns()[*column].1.value(place));
                let is_wide = forms.could_be_wide && is_wide(variable_bytes(of_row.clone()));
                put_values(&mut values, of_row, is_wide);
                encoded.push(EncodedRow { end: values.len(), form, is_wide });
            }
        }
        let forms = forms.forms;
        Self { keys, values, rows: encoded, forms }
    }

    /// How many bytes keys and values take.
    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes() + self.values.len()
    }

    fn row(&self, row: usize) -> (EncodedRow, &[u8]) {
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].end);
        (self.rows[row], &self.values[start..self.rows[row].end])
    }
}

/// Makes rows whole: with the shapes that their table knows, and with Timestamps.
pub(super) struct Finish<'a> {
    rows: &'a EncodedRows,
    /// Of each form: its shape in the table, once it was met.
    shapes: Vec<Option<Option<u32>>>,
}

impl<'a> Finish<'a> {
    pub(super) fn new(rows: &'a EncodedRows) -> Self {
        Self { rows, shapes: vec![None; rows.forms.len()] }
    }

    /// Puts a row's bytes in the place of what is in `bytes`. The table learns what is new about it.
    pub(super) fn put(&mut self, row: usize, table: &mut TableMeta, timestamp: EdmDateTime, bytes: &mut Vec<u8>) {
        let (EncodedRow { form, is_wide, .. }, values) = self.rows.row(row);
        let known = &self.rows.forms[form];
        let shape = *self.shapes[form].get_or_insert_with(|| {
            for ((name, _), types) in known.properties.iter().zip(&known.types) {
                table.observe_types(name, *types);
            }
            table.shape_of_columns(&known.properties, &known.signature)
        });
        bytes.clear();
        put_head(bytes, timestamp, shape, is_wide);
        if shape.is_none() {
            bytes.extend_from_slice(&known.signature);
        }
        bytes.extend_from_slice(values);
    }
}

/// The forms that were met.
struct Forms<'a> {
    columns: &'a [(PropertyName, EdmColumn)],
    /// Those that have no value in some rows, by their places.
    with_nulls: Vec<usize>,
    /// Whether a row may need wide end offsets: that depends on texts and binaries alone.
    could_be_wide: bool,
    numbers: HashMap<Present, usize>,
    forms: Vec<Form>,
    last: Option<(Present, usize)>,
}

impl<'a> Forms<'a> {
    fn new(columns: &'a [(PropertyName, EdmColumn)]) -> Self {
        let with_nulls = (0..columns.len()).filter(|place| columns[*place].1.has_nulls()).collect();
        let longest = columns.iter().map(|(_, column)| column.longest()).sum();
        let (numbers, forms) = (HashMap::new(), Vec::new());
        Self { columns, with_nulls, could_be_wide: is_wide(longest), numbers, forms, last: None }
    }

    /// Which form a row has.
    fn of(&mut self, place: usize) -> usize {
        let mut present: Present = [u64::MAX; CUSTOM_PROPERTIES_MAX.div_ceil(64)];
        for column in &self.with_nulls {
            if self.columns[*column].1.is_null(place) {
                present[column / 64] &= !(1 << (column % 64));
            }
        }
        // Most rows have the form of the one before.
        if let Some((known, form)) = self.last
            && known == present
        {
            return form;
        }
        let form = self.numbers.get(&present).copied().unwrap_or_else(|| self.add(present));
        self.last = Some((present, form));
        form
    }

    fn add(&mut self, present: Present) -> usize {
        let is_there = |column: &usize| present[column / 64] >> (column % 64) & 1 == 1;
        let columns: Vec<usize> = (0..self.columns.len()).filter(is_there).collect();
        let of_form = || columns.iter().map(|column| &self.columns[*column]);
        let properties: Vec<_> = of_form().map(|(name, column)| (name.clone(), column.edm_type())).collect();
        let types = of_form().map(|(_, column)| column.types()).collect();
        let mut signature = Vec::new();
        put_signature_of(&mut signature, properties.iter().map(|(name, edm_type)| (name, *edm_type)));
        self.forms.push(Form { properties, types, signature, columns });
        self.numbers.insert(present, self.forms.len() - 1);
        self.forms.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, Int32Array, Int64Array, StringArray};
    use tablegate_store::model::{EdmDateTime, EntityKeys, TableName};

    use super::super::key_bytes;
    use super::*;

    fn name(text: &str) -> PropertyName {
        PropertyName::parse(text).unwrap()
    }

    /// Whatever is absent in a row, and however long its texts are.
    #[test]
    fn bytes_of_columns_are_those_of_entities() {
        let mut keys = EntityKeys::default();
        [("b", "1"), ("a", "2"), ("b", "0"), ("c", ""), ("a", "1")]
            .iter()
            .for_each(|(partition, row)| keys.push(partition, row).unwrap());
        let text = "x".repeat(30_000);
        let columns = vec![
            (name("n"), EdmColumn::Int32(Int32Array::from(vec![Some(1), None, Some(3), None, Some(5)]))),
            (name("t"), EdmColumn::String(StringArray::from(vec![Some("é"), Some(&text), None, None, Some("")]))),
            (name("at"), EdmColumn::DateTime(Int64Array::from(vec![1, 2, 3, 4, 5]))),
            (name("b"), EdmColumn::Binary(BinaryArray::from(vec![&[7; 60_000][..], &[7; 60_000], &[], &[1], &[]]))),
        ];
        let entities = NewEntities::new(&TableName::parse("Orders").unwrap(), keys, columns).unwrap();
        let mut encoded = EncodedRows::new(&entities);
        encoded.keys.set_table(7);
        let (mut one, mut other) =
            (TableMeta::new(7, entities.table().clone()), TableMeta::new(7, entities.table().clone()));
        let places: Vec<usize> = (0..entities.transactions()).flat_map(|index| entities.transaction(index)).collect();
        assert_eq!(places, [1, 4, 0, 2, 3]);
        let at = EdmDateTime::from_unix_ticks(9).unwrap();
        let (mut finish, mut bytes) = (Finish::new(&encoded), Vec::new());
        for (row, place) in places.into_iter().enumerate() {
            let entity = entities.entity(place);
            assert_eq!(encoded.keys.get(row), key_bytes::of_entity(7, &entity.key));
            finish.put(row, &mut one, at, &mut bytes);
            let mut expected = Vec::new();
            other.observe(&entity.properties);
            other.encode_row(&entity.properties, at, &mut expected);
            assert_eq!(bytes, expected);
        }
        assert_eq!(one.observed, other.observed);
        let (first, last) = encoded.keys.span().unwrap();
        assert_eq!((first, last), (&*key_bytes::of_row(7, "a", "1"), &*key_bytes::of_row(7, "c", "")));
    }
}
