//! Columns of texts as dictionaries, so that a text that many rows share is looked at only once.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, StringArray, UInt32Array};
use arrow::buffer::ScalarBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt32Type};
use arrow::error::ArrowError;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::table::SeededHash;

/// A dictionary pays where no more than one in so many rows has a text that no row before it has.
const ROWS_OF_A_TEXT: usize = 8;

/// Dictionary(UInt32, Utf8).
pub fn dictionary_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
}

/// Of each row the first row that has the same text, NULL where there is none. `None` where so many differ that it does not
/// pay to know.
pub fn first_rows(texts: &StringArray) -> Option<UInt32Array> {
    let most = texts.len() / ROWS_OF_A_TEXT;
    let mut numbers = TextNumbers::default();
    let mut firsts = Vec::with_capacity(texts.len());
    for (row, text) in (0..).zip(texts) {
        firsts.push(text.map_or(row, |text| numbers.number(text, row, |row| texts.value(row as usize))));
        if numbers.len() > most {
            return None;
        }
    }
    Some(UInt32Array::new(firsts.into(), texts.nulls().cloned()))
}

/// The texts of these rows of `texts`, as a dictionary of it.
///
/// # Errors
/// When a row number is beyond the end of `texts`, or `texts` is not a text column.
pub fn texts_of_rows(rows: UInt32Array, texts: ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::<UInt32Type>::try_new(rows, texts)?))
}

/// The texts as a dictionary, in which equal ones have one key where that pays.
///
/// # Errors
/// When `texts` is not a text column.
pub(super) fn dictionary(texts: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let strings = texts.as_string_opt::<i32>();
    let strings = strings.ok_or_else(|| ArrowError::SchemaError("only texts are kept in dictionaries".to_owned()))?;
    match first_rows(strings) {
        Some(rows) => texts_of_rows(rows, Arc::clone(texts)),
        None => text_for_each_row(Arc::clone(texts)),
    }
}

/// The texts as a dictionary in which each row has a key of its own.
///
/// # Errors
/// When `texts` is not a text column.
pub fn text_for_each_row(texts: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let all = (0..).take(texts.len()).collect::<ScalarBuffer<u32>>();
    texts_of_rows(UInt32Array::new(all, texts.nulls().cloned()), texts)
}

/// The text of each row, as Utf8. Nothing is copied where each has a key of its own.
///
/// # Errors
/// When the dictionary's values are not a text column.
pub fn dictionary_texts(dictionary: &DictionaryArray<UInt32Type>) -> Result<ArrayRef, ArrowError> {
    let (keys, texts) = (dictionary.keys(), dictionary.values());
    let is_own = keys.nulls() == texts.nulls() && (0..).zip(keys.values()).all(|(row, key)| row == *key);
    if is_own && keys.len() == texts.len() {
        return Ok(Arc::clone(texts));
    }
    cast(dictionary, &DataType::Utf8)
}

/// Numbers of texts that lie elsewhere: equal ones have the same.
#[derive(Debug, Default)]
pub struct TextNumbers {
    table: HashTable<u32>,
    hash: SeededHash,
}

impl TextNumbers {
    /// The number of the text: this one if the text is new. `text_of` tells the text of each number that was given.
    pub fn number<'t>(&mut self, text: &str, new: u32, text_of: impl Fn(u32) -> &'t str) -> u32 {
        let seeded = self.hash;
        let hash = |text: &str| seeded.of_bytes(text.as_bytes());
        let found = self.table.entry(hash(text), |known| text_of(*known) == text, |known| hash(text_of(*known)));
        match found {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(new).get(),
        }
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// What it takes of the memory, in bytes.
    pub fn size(&self) -> usize {
        self.table.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(array: &ArrayRef) -> Vec<Option<String>> {
        let dictionary = array.as_dictionary::<UInt32Type>();
        let texts = dictionary.downcast_dict::<StringArray>().unwrap();
        texts.into_iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn rows_with_the_same_text_have_the_key_of_the_first() {
        let texts: StringArray = (0..64).map(|row| (row % 7 != 3).then(|| format!("text {}", row % 5))).collect();
        let rows = first_rows(&texts).unwrap();
        assert_eq!(&rows.values()[4..9], &[4, 0, 1, 2, 8]);
        assert_eq!(rows.value(63), 8);
        assert_eq!(rows.nulls(), texts.nulls());
        let array: ArrayRef = Arc::new(texts.clone());
        let made = dictionary(&array).unwrap();
        assert_eq!(made.data_type(), &dictionary_type());
        let expected: Vec<_> = texts.iter().map(|text| text.map(str::to_owned)).collect();
        assert_eq!(shown(&made), expected);
        assert_eq!(shown(&made.slice(11, 30)), expected[11..41]);
    }

    #[test]
    fn where_most_differ_each_row_has_its_own() {
        let texts: StringArray = (0..64).map(|row| (row != 5).then(|| format!("text {}", row % 9))).collect();
        assert_eq!(first_rows(&texts), None);
        let array: ArrayRef = Arc::new(texts.clone());
        let expected: Vec<_> = texts.iter().map(|text| text.map(str::to_owned)).collect();
        assert_eq!(shown(&dictionary(&array).unwrap()), expected);
        let none: ArrayRef = Arc::new(StringArray::new_null(20));
        assert_eq!(shown(&dictionary(&none).unwrap()), vec![None; 20]);
    }

    #[test]
    fn texts_of_rows_are_not_copied_where_each_has_its_own() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("a")]));
        let each = text_for_each_row(Arc::clone(&texts)).unwrap();
        assert!(Arc::ptr_eq(&dictionary_texts(each.as_dictionary()).unwrap(), &texts));
        assert_eq!(&dictionary_texts(each.slice(1, 2).as_dictionary()).unwrap(), &texts.slice(1, 2));
        let repeated = texts_of_rows(UInt32Array::from(vec![Some(0), None, Some(0)]), Arc::clone(&texts)).unwrap();
        assert_eq!(&dictionary_texts(repeated.as_dictionary()).unwrap(), &texts);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        assert!(texts_of_rows(UInt32Array::from(vec![0, 2]), Arc::clone(&texts)).is_err());
        let numbers: ArrayRef = Arc::new(UInt32Array::from(vec![1]));
        assert!(dictionary(&numbers).is_err());
    }
}
