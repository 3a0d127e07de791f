//! From a row's bytes to those of the same row with some other values, without reading the rest of it.

use tablegate_store::model::{EdmDateTime, EdmRef, EdmType, PropertyName};

use super::decode::{Row, RowError};
use super::encode::{is_wide, put_end, put_head, variable, write_fixed};
use super::shape::{Shape, Slot, fixed_width};

/// Where new values go in rows of one shape.
#[derive(Debug)]
pub(in crate::embedded) struct Patch {
    /// Each new value: its number, and its place and width.
    fixed: Vec<(usize, usize, usize)>,
    /// For each text and binary of the shape: the number of its new value.
    variable: Vec<Option<usize>>,
}

impl Patch {
    /// `None` where the shape has not all of the properties, in these types.
    pub(in crate::embedded) fn of<'p>(
        shape: &Shape,
        properties: impl Iterator<Item = (&'p PropertyName, EdmType)>,
    ) -> Option<Self> {
        let mut patch = Self { fixed: Vec::new(), variable: vec![None; shape.variables] };
        for (number, (name, edm_type)) in properties.enumerate() {
            let known = shape.properties().iter().find(|known| known.name == *name && known.edm_type == edm_type)?;
            match known.slot {
                Slot::Fixed(place) => patch.fixed.push((number, place, fixed_width(edm_type)?)),
                Slot::Variable(index) => patch.variable[index] = Some(number),
            }
        }
        Some(patch)
    }

    /// Appends the bytes of a row of the shape with these values, by their numbers.
    ///
    /// # Errors
    /// [`RowError`] when the lengths in the row do not fit.
    pub(in crate::embedded) fn put<'v>(
        &self,
        row: &Row<'_>,
        value: impl Fn(usize) -> EdmRef<'v>,
        timestamp: EdmDateTime,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        if self.variable.iter().all(Option::is_none) {
            put_head(out, timestamp, row.shape_number(), row.is_wide);
            self.put_fixed(row, value, out)?;
            out.extend_from_slice(row.ends);
            out.extend_from_slice(row.texts);
            return Ok(());
        }
        let bytes_of = |index: usize, number: Option<usize>| match number {
            Some(number) => variable(value(number)),
            None => row.variable(index),
        };
        let mut length = 0;
        for (index, number) in self.variable.iter().enumerate() {
            length += bytes_of(index, *number).ok_or(RowError::BadLengths)?.len();
        }
        let is_wide = is_wide(length);
        put_head(out, timestamp, row.shape_number(), is_wide);
        self.put_fixed(row, &value, out)?;
        let mut end = 0;
        for (index, number) in self.variable.iter().enumerate() {
            end += bytes_of(index, *number).map_or(0, <[u8]>::len);
            put_end(out, end, is_wide);
        }
        for (index, number) in self.variable.iter().enumerate() {
            out.extend_from_slice(bytes_of(index, *number).unwrap_or_default());
        }
        Ok(())
    }

    fn put_fixed<'v>(
        &self,
        row: &Row<'_>,
        value: impl Fn(usize) -> EdmRef<'v>,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let begin = out.len();
        out.extend_from_slice(row.fixed);
        for (number, place, width) in &self.fixed {
            let place = begin + place..begin + place + width;
            write_fixed(out.get_mut(place).ok_or(RowError::BadLengths)?, value(*number));
        }
        Ok(())
    }
}
