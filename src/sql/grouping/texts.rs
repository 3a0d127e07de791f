//! The texts that rows are grouped by, and which group each row belongs to.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, StringArray};
use datafusion::arrow::datatypes::UInt32Type;
use tablegate_store::table::TextNumbers;

/// What a key of a dictionary has until a row asks for its group.
const UNKNOWN: u32 = u32::MAX;

/// The group of each row, batch by batch.
#[derive(Default)]
pub(super) struct TextGroups {
    groups: Groups,
    /// The dictionary that was met last.
    dictionary: Option<ArrayRef>,
    /// The groups of its keys.
    of_keys: Vec<u32>,
}

/// The groups, numbered from 0 on as they came.
#[derive(Default)]
struct Groups {
    numbers: TextNumbers,
    /// Their texts, one behind the other; that of the rows without a text is empty.
    texts: String,
    /// Where each of them ends.
    ends: Vec<usize>,
    of_null: Option<u32>,
}

impl TextGroups {
    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.groups.ends.len()
    }

    /// What they take of the memory, in bytes.
    pub(super) fn size(&self) -> usize {
        let Groups { numbers, texts, ends, .. } = &self.groups;
        numbers.size() + texts.capacity() + ends.capacity() * size_of::<usize>() + self.of_keys.capacity() * 4
    }

    /// Puts the group of each row into `of_rows`.
    pub(super) fn assign(&mut self, rows: &DictionaryArray<UInt32Type>, of_rows: &mut Vec<usize>) {
        let (keys, texts) = (rows.keys(), rows.values().as_string());
        // Batches that were cut out of one have their dictionary in common.
        if !self.dictionary.as_ref().is_some_and(|last| Arc::ptr_eq(last, rows.values())) {
            self.dictionary = Some(Arc::clone(rows.values()));
            self.of_keys.clear();
            self.of_keys.resize(texts.len(), UNKNOWN);
        }
        let of_null = (keys.null_count() > 0).then(|| self.groups.of_null());
        let (of_keys, groups) = (&mut self.of_keys, &mut self.groups);
        let mut of_key = |key: u32| {
            let group = &mut of_keys[key as usize];
            if *group == UNKNOWN {
                *group = groups.of(texts, key as usize);
            }
            *group as usize
        };
        of_rows.clear();
        match of_null {
            None => of_rows.extend(keys.values().iter().map(|key| of_key(*key))),
            Some(of_null) => of_rows.extend(keys.iter().map(|key| key.map_or(of_null as usize, &mut of_key))),
        }
    }

    /// The text of each group. There are none behind it.
    pub(super) fn take(&mut self) -> StringArray {
        self.dictionary = None;
        let Groups { texts, ends, of_null, .. } = std::mem::take(&mut self.groups);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let text = |(group, (start, end))| (Some(group) != of_null).then(|| &texts[start..end]);
        (0_u32..).zip(starts.zip(ends.iter().copied())).map(text).collect()
    }
}

impl Groups {
    /// The group of the text in this place.
    fn of(&mut self, texts: &StringArray, place: usize) -> u32 {
        if texts.is_null(place) {
            return self.of_null();
        }
        let (text, new) = (texts.value(place), self.next());
        let Self { numbers, texts, ends, .. } = self;
        let group = numbers.number(text, new, |group| span(texts, ends, group));
        if group == new {
            self.texts.push_str(text);
            self.ends.push(self.texts.len());
        }
        group
    }

    /// The group of the rows that have no text.
    fn of_null(&mut self) -> u32 {
        let new = self.next();
        *self.of_null.get_or_insert_with(|| {
            self.ends.push(self.texts.len());
            new
        })
    }

    fn next(&self) -> u32 {
        u32::try_from(self.ends.len()).expect("groups are given up long before there are so many")
    }
}

fn span<'t>(texts: &'t str, ends: &[usize], group: u32) -> &'t str {
    let group = group as usize;
    &texts[group.checked_sub(1).map_or(0, |before| ends[before])..ends[group]]
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::UInt32Array;

    use super::*;

    fn dictionary(keys: Vec<Option<u32>>, texts: &ArrayRef) -> DictionaryArray<UInt32Type> {
        DictionaryArray::new(UInt32Array::from(keys), Arc::clone(texts))
    }

    #[test]
    fn equal_texts_are_one_group_in_all_dictionaries() {
        let first: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("a"), Some("b"), Some("")]));
        let second: ArrayRef = Arc::new(StringArray::from(vec!["c", "a", "unused"]));
        let (mut groups, mut of_rows) = (TextGroups::default(), Vec::new());
        groups.assign(&dictionary(vec![Some(2), Some(0), Some(3), Some(0)], &first), &mut of_rows);
        assert_eq!(of_rows, [0, 1, 1, 1]);
        groups.assign(&dictionary(vec![None, Some(1), Some(4), Some(2)], &first), &mut of_rows);
        assert_eq!(of_rows, [2, 2, 3, 0], "no text behind a key is no text");
        groups.assign(&dictionary(vec![Some(1), Some(0), None], &second), &mut of_rows);
        assert_eq!(of_rows, [0, 4, 2]);
        assert_eq!(groups.len(), 5);
        let expected = StringArray::from(vec![Some("a"), Some("b"), None, Some(""), Some("c")]);
        assert_eq!(groups.take(), expected);
        // Afterwards nothing of it is left, of the dictionary neither.
        assert_eq!(groups.len(), 0);
        groups.assign(&dictionary(vec![Some(0), Some(1)], &second), &mut of_rows);
        assert_eq!(of_rows, [0, 1]);
        assert_eq!(groups.take(), StringArray::from(vec!["c", "a"]));
    }
}
