//! One call of a function for a batch of rows: its arguments, and the ways to build its result.
//!
//! Arguments come converted to what the signature asks for. A constant is held once, whatever the number of rows. Results
//! are built column by column: a row costs no heap object.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayAccessor, ArrayBuilder, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryBuilder, BooleanArray,
    BooleanBufferBuilder, ListArray, PrimitiveArray, StringArray, StringBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, i256};

use super::moments::Moments;
use super::text_writer::TextWriter;
use crate::allowance::Allowance;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::input::Digits;
use crate::interrupt;
use crate::sql_type::SqlType;
use crate::style::Style;

/// How many rows are done without a look at whether somebody waits for them.
const ROWS_UNASKED: usize = 64;

/// One argument of a call.
pub struct Argument {
    pub array: ArrayRef,
    pub sql_type: SqlType,
    /// The array has one row, which counts for all rows of the call.
    pub constant: bool,
}

impl Argument {
    /// Where the value of a row of the call is.
    pub fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }
}

/// A call for a batch of rows.
pub struct Call {
    pub arguments: Vec<Argument>,
    /// The type of the result, with its digits or length.
    pub returns: SqlType,
    pub rows: usize,
    /// Rows whose result is NULL because an argument is: those that a strict function never sees.
    pub nulls: Option<NullBuffer>,
    pub moments: Moments,
}

/// The values of an argument, by row of the call.
pub struct Values<'a, A> {
    array: &'a A,
    constant: bool,
}

// Derived, it would ask the same of the array.
impl<A> Copy for Values<'_, A> {}

impl<A> Clone for Values<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, A> Values<'a, A>
where
    &'a A: ArrayAccessor,
{
    fn index(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    /// The value of a row that is not NULL.
    pub fn at(&self, row: usize) -> <&'a A as ArrayAccessor>::Item {
        self.array.value(self.index(row))
    }

    /// The value of a row; `None` when it is NULL.
    pub fn get(&self, row: usize) -> Option<<&'a A as ArrayAccessor>::Item> {
        let index = self.index(row);
        (!self.array.is_null(index)).then(|| self.array.value(index))
    }

    /// The one value of a constant argument, unless it is NULL.
    pub fn constant(&self) -> Option<<&'a A as ArrayAccessor>::Item> {
        if self.constant { self.get(0) } else { None }
    }
}

impl<'a> Values<'a, ListArray> {
    /// The items of all rows.
    pub fn items(&self) -> &'a ArrayRef {
        self.array.values()
    }

    /// Which of the items are those of a row; none of NULL.
    pub fn range(&self, row: usize) -> Range<usize> {
        let index = self.index(row);
        if self.array.is_null(index) {
            return 0..0;
        }
        let place = |offset: i32| usize::try_from(offset).unwrap_or(0);
        let offsets = self.array.value_offsets();
        place(offsets[index])..place(offsets[index + 1])
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.index(row))
    }
}

pub(super) type Texts<'a> = Values<'a, StringArray>;
pub(super) type Bytes<'a> = Values<'a, BinaryArray>;

/// The values of a `numeric` argument, with the scale they share.
#[derive(Clone, Copy)]
pub struct Decimals<'a> {
    values: DecimalValues<'a>,
    pub scale: i8,
}

#[derive(Clone, Copy)]
enum DecimalValues<'a> {
    Short(Values<'a, PrimitiveArray<Decimal128Type>>),
    Long(Values<'a, PrimitiveArray<Decimal256Type>>),
}

impl Decimals<'_> {
    /// The unscaled value of a row that is not NULL.
    pub fn at(&self, row: usize) -> i256 {
        match &self.values {
            DecimalValues::Short(values) => i256::from_i128(values.at(row)),
            DecimalValues::Long(values) => values.at(row),
        }
    }
}

impl Call {
    /// The style of the session.
    pub fn style(&self) -> Style {
        self.moments.style()
    }

    fn argument(&self, index: usize) -> SqlResult<&Argument> {
        self.arguments.get(index).ok_or_else(|| internal("a function was evaluated without an argument it needs"))
    }

    /// The argument's values in their layout.
    pub fn values<A: Array + 'static>(&self, index: usize) -> SqlResult<Values<'_, A>> {
        let argument = self.argument(index)?;
        let array = argument.array.as_any().downcast_ref::<A>();
        let array = array.ok_or_else(|| internal("a function was evaluated with an argument of another type"))?;
        Ok(Values { array, constant: argument.constant })
    }

    /// The values of an argument that need not be given.
    pub fn maybe_values<A: Array + 'static>(&self, index: usize) -> SqlResult<Option<Values<'_, A>>> {
        if index < self.arguments.len() { self.values(index).map(Some) } else { Ok(None) }
    }

    pub fn text(&self, index: usize) -> SqlResult<Texts<'_>> {
        self.values(index)
    }

    pub fn maybe_text(&self, index: usize) -> SqlResult<Option<Texts<'_>>> {
        self.maybe_values(index)
    }

    pub fn bytes(&self, index: usize) -> SqlResult<Bytes<'_>> {
        self.values(index)
    }

    pub fn lists(&self, index: usize) -> SqlResult<Values<'_, ListArray>> {
        self.values(index)
    }

    pub fn primitive<T: ArrowPrimitiveType>(&self, index: usize) -> SqlResult<Values<'_, PrimitiveArray<T>>> {
        self.values(index)
    }

    pub fn decimals(&self, index: usize) -> SqlResult<Decimals<'_>> {
        match *self.argument(index)?.array.data_type() {
            DataType::Decimal128(_, scale) => Ok(Decimals { values: DecimalValues::Short(self.values(index)?), scale }),
            DataType::Decimal256(_, scale) => Ok(Decimals { values: DecimalValues::Long(self.values(index)?), scale }),
            _ => Err(internal("a function was evaluated with an argument that is no decimal")),
        }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The rows one after the other, for as long as somebody waits for their values.
    pub fn each_row(&self) -> impl Iterator<Item = SqlResult<usize>> {
        (0..self.rows).map(|row| if row % ROWS_UNASKED == 0 { interrupt::check_now().map(|()| row) } else { Ok(row) })
    }

    /// A text for each row.
    pub fn texts(&self, mut write: impl FnMut(usize, &mut TextWriter) -> SqlResult<()>) -> SqlResult<ArrayRef> {
        self.maybe_texts(|row, out| write(row, out).map(|()| true))
    }

    /// A text for each row, or NULL where `write` says false and has written nothing.
    pub fn maybe_texts(&self, mut write: impl FnMut(usize, &mut TextWriter) -> SqlResult<bool>) -> SqlResult<ArrayRef> {
        let mut out = TextWriter::new(self.rows);
        for row in self.each_row() {
            let row = row?;
            if !self.is_null(row) && write(row, &mut out)? {
                out.finish_value()?;
            } else {
                out.append_null()?;
            }
        }
        out.finish()
    }

    /// Bytes for each row; `write` appends them to what it is given.
    pub fn byte_strings(&self, mut write: impl FnMut(usize, &mut Vec<u8>) -> SqlResult<()>) -> SqlResult<ArrayRef> {
        self.maybe_byte_strings(|row, out| write(row, out).map(|()| true))
    }

    /// Bytes for each row, or NULL where `write` says false.
    pub fn maybe_byte_strings(
        &self,
        mut write: impl FnMut(usize, &mut Vec<u8>) -> SqlResult<bool>,
    ) -> SqlResult<ArrayRef> {
        let mut out = BinaryBuilder::with_capacity(self.rows, 0);
        let (mut value, mut bytes, allowance) = (Vec::new(), 0_usize, Allowance::now());
        for row in self.each_row() {
            let row = row?;
            value.clear();
            if self.is_null(row) || !write(row, &mut value)? {
                out.append_null();
                continue;
            }
            bytes = bytes.saturating_add(value.len());
            allowance.check(bytes)?;
            out.append_value(&value);
        }
        Ok(Arc::new(out.finish()))
    }

    pub fn booleans(&self, mut value: impl FnMut(usize) -> SqlResult<bool>) -> SqlResult<ArrayRef> {
        let mut values = BooleanBufferBuilder::new(self.rows);
        for row in self.each_row() {
            let row = row?;
            values.append(!self.is_null(row) && value(row)?);
        }
        Ok(Arc::new(BooleanArray::new(values.finish(), self.nulls.clone())))
    }

    /// A value of the result's own layout for each row.
    pub fn numbers<T: ArrowPrimitiveType>(
        &self,
        mut value: impl FnMut(usize) -> SqlResult<T::Native>,
    ) -> SqlResult<ArrayRef> {
        let mut values = Vec::with_capacity(self.rows);
        for row in self.each_row() {
            let row = row?;
            values.push(if self.is_null(row) { T::default_value() } else { value(row)? });
        }
        self.primitive_result(PrimitiveArray::<T>::new(values.into(), self.nulls.clone()))
    }

    /// The same, NULL where there is no value.
    pub fn maybe_numbers<T: ArrowPrimitiveType>(
        &self,
        mut value: impl FnMut(usize) -> SqlResult<Option<T::Native>>,
    ) -> SqlResult<ArrayRef> {
        let values =
            self.each_row().map(|row| row.and_then(|row| if self.is_null(row) { Ok(None) } else { value(row) }));
        self.primitive_result(values.collect::<SqlResult<PrimitiveArray<T>>>()?)
    }

    fn primitive_result<T: ArrowPrimitiveType>(&self, values: PrimitiveArray<T>) -> SqlResult<ArrayRef> {
        let data_type = self.returns.arrow();
        if !PrimitiveArray::<T>::is_compatible(&data_type) {
            return Err(internal("a function was evaluated to another type than it was planned with"));
        }
        Ok(Arc::new(values.with_data_type(data_type)))
    }

    /// A decimal for each row, given as unscaled value of the scale asked for.
    ///
    /// # Errors
    /// 22003 for a value with more digits than the result's type holds.
    pub fn decimal_results(&self, mut value: impl FnMut(usize, Digits) -> SqlResult<i256>) -> SqlResult<ArrayRef> {
        let SqlType::Numeric(declared) = &self.returns else {
            return Err(internal("a function was evaluated to a decimal but planned with another type"));
        };
        let digits = Digits::of(*declared);
        match self.returns.arrow() {
            DataType::Decimal128(..) => {
                self.numbers::<Decimal128Type>(|row| Ok(digits.check(value(row, digits)?)?.as_i128()))
            }
            _ => self.numbers::<Decimal256Type>(|row| digits.check(value(row, digits)?)),
        }
    }

    /// A list of texts for each row, or NULL where `push` says false and has pushed nothing.
    pub fn text_lists(&self, mut push: impl FnMut(usize, &mut TextItems) -> SqlResult<bool>) -> SqlResult<ArrayRef> {
        let mut items = TextItems::new();
        let mut lengths = Vec::with_capacity(self.rows);
        let mut valid = BooleanBufferBuilder::new(self.rows);
        for row in self.each_row() {
            let row = row?;
            let before = items.len();
            valid.append(!self.is_null(row) && push(row, &mut items)?);
            lengths.push(items.len() - before);
        }
        let DataType::List(item) = self.returns.arrow() else {
            return Err(internal("a function was evaluated to a list but planned with another type"));
        };
        let nulls = NullBuffer::new(valid.finish());
        Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items.finish(), Some(nulls))?))
    }
}

/// The items of lists of texts.
pub struct TextItems {
    items: StringBuilder,
    /// What they take.
    bytes: usize,
    allowance: Allowance,
}

/// What an item takes besides its text.
const ITEM_BYTES: usize = 4;
/// How many items are pushed without a look at whether somebody waits for them.
const ITEMS_UNASKED: usize = 1024;

impl TextItems {
    pub fn new() -> Self {
        Self { items: StringBuilder::new(), bytes: 0, allowance: Allowance::now() }
    }

    pub fn len(&self) -> usize {
        ArrayBuilder::len(&self.items)
    }

    /// # Errors
    /// 54000 or 53200 when there is no room for it, 57014 when nobody waits for it.
    pub fn push(&mut self, item: impl Borrow<str>) -> SqlResult<()> {
        let item = item.borrow();
        self.make_room(item.len())?;
        self.items.append_value(item);
        Ok(())
    }

    /// # Errors
    /// As [`TextItems::push`].
    pub fn push_null(&mut self) -> SqlResult<()> {
        self.make_room(0)?;
        self.items.append_null();
        Ok(())
    }

    fn make_room(&mut self, bytes: usize) -> SqlResult<()> {
        if self.len().is_multiple_of(ITEMS_UNASKED) {
            interrupt::check_now()?;
        }
        self.bytes = self.bytes.saturating_add(bytes + ITEM_BYTES);
        self.allowance.check(self.bytes)
    }

    pub fn finish(mut self) -> ArrayRef {
        Arc::new(self.items.finish())
    }
}

fn internal(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, message)
}
