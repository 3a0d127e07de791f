//! What becomes of the rows of a group: a list, a text, or what functions make of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeStringBuilder, ListArray, UInt64Array, new_empty_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::GroupsAccumulatorAdapter;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

use super::shape::Gives;
use super::sorted::Sorted;
use crate::expr::{Choice, Found, rectangular};

/// The results of some groups, one after the other.
pub(super) enum Collector {
    Functions(Vec<Function>),
    List(List),
    Chosen(Chosen),
    Text(Text),
}

/// A function of the rows of each group.
pub(super) struct Function {
    place: usize,
    function: Arc<AggregateFunctionExpr>,
    accumulator: Box<dyn GroupsAccumulator>,
    argument: DataType,
}

pub(super) struct List {
    place: usize,
    item: FieldRef,
    is_rectangular: bool,
    pieces: Vec<ArrayRef>,
    lengths: Vec<usize>,
    bytes: usize,
}

pub(super) struct Chosen {
    choice: Choice,
    /// Where the number of rows of a group is.
    count: usize,
    list: List,
    /// Of the group whose rows are being given: where it is among them if that is known, and how many were given.
    found: Option<Found>,
    given: usize,
    /// What is chosen of those, or the two values that it is between.
    chosen: Option<ArrayRef>,
    next: Option<ArrayRef>,
    /// The longest run of equal values, and the one that the last row is of: its first value, while that is not chosen.
    longest: usize,
    run: usize,
    is_longest: bool,
    begins: Option<ArrayRef>,
    last: Option<OwnedRow>,
    keys: RowConverter,
}

pub(super) struct Text {
    place: usize,
    delimiter: String,
    texts: LargeStringBuilder,
    /// That of the group whose rows are being given; `None` while there was none.
    text: Option<String>,
}

impl Collector {
    /// Nothing yet, of results that are these columns.
    ///
    /// # Errors
    /// For functions that cannot be computed.
    pub(super) fn new(gives: &Gives, results: &SchemaRef, arguments: &SchemaRef, width: usize) -> Result<Self> {
        Ok(match gives {
            Gives::Functions(functions) => {
                let argument = arguments.field(width).data_type();
                let of = |function: &super::shape::Function| {
                    let accumulator = accumulator(&function.function)?;
                    let (place, argument) = (function.place, argument.clone());
                    Ok(Function { place, function: Arc::clone(&function.function), accumulator, argument })
                };
                Self::Functions(functions.iter().map(of).collect::<Result<_>>()?)
            }
            Gives::List { place, is_rectangular, .. } => Self::List(List::new(*place, results, *is_rectangular)?),
            Gives::Chosen { place, choice, count, .. } => {
                // Behind the keys is the value.
                let keys = arguments.fields().iter().take(arguments.fields().len() - 1).skip(width);
                let keys = keys.map(|field| SortField::new(field.data_type().clone()));
                let keys = RowConverter::new(keys.collect())?;
                let (choice, count, list) = (*choice, *count, List::new(*place, results, false)?);
                Self::Chosen(Chosen::new(choice, count, list, keys))
            }
            Gives::Text { place, delimiter, .. } => {
                let texts = LargeStringBuilder::new();
                Self::Text(Text { place: *place, delimiter: delimiter.clone(), texts, text: None })
            }
        })
    }

    /// Takes rows of the group with this number, by what is in them besides their groups: the keys, and the value behind them.
    ///
    /// # Errors
    /// Those of the functions.
    pub(super) fn add(&mut self, columns: &[ArrayRef], group: usize) -> Result<()> {
        let Some(values) = columns.last() else { return internal_err!("rows without values") };
        match self {
            Self::Functions(functions) => {
                let groups = vec![group; values.len()];
                for function in functions {
                    let values = std::slice::from_ref(values);
                    function.accumulator.update_batch(values, &groups, None, group + 1)?;
                }
            }
            Self::List(list) => {
                list.bytes += values.to_data().get_slice_memory_size()?;
                list.lengths.resize(group + 1, 0);
                list.lengths[group] += values.len();
                list.pieces.push(Arc::clone(values));
            }
            Self::Chosen(chosen) => chosen.add(columns, values)?,
            Self::Text(text) => text.add(values)?,
        }
        Ok(())
    }

    /// The rows of a group come next, of which this is known.
    ///
    /// # Errors
    /// XX000 where it is not counted, which would be a defect here.
    pub(super) fn begin_group(&mut self, others: Option<&Sorted>) -> Result<()> {
        let Self::Chosen(chosen) = self else { return Ok(()) };
        let Some(count) = others.and_then(|others| others.count(chosen.count)) else {
            return internal_err!("nobody has counted the rows of a group");
        };
        chosen.found = chosen.choice.found(count);
        (chosen.given, chosen.longest, chosen.run) = (0, 0, 0);
        (chosen.is_longest, chosen.begins, chosen.last) = (false, None, None);
        Ok(())
    }

    /// All rows of the group with this number were given.
    pub(super) fn end_group(&mut self, group: usize) {
        match self {
            Self::Functions(_) => {}
            Self::List(list) => list.lengths.resize(group + 1, 0),
            Self::Chosen(chosen) => chosen.end_group(group),
            Self::Text(text) => text.texts.append_option(text.text.take()),
        }
    }

    /// What is kept.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Functions(functions) => functions.iter().map(|function| function.accumulator.size()).sum(),
            Self::List(list) => list.bytes,
            // One value of each group, which holds on to the few rows that it came with.
            Self::Chosen(chosen) => chosen.list.bytes,
            Self::Text(text) => text.texts.values_slice().len() + text.text.as_ref().map_or(0, String::capacity),
        }
    }

    /// The results of so many groups, each with its place among all columns; afterwards there are none.
    ///
    /// # Errors
    /// Those of the functions; for lists that cannot be items of a list.
    pub(super) fn finish(&mut self, groups: usize) -> Result<Vec<(usize, ArrayRef)>> {
        match self {
            Self::Functions(functions) => functions.iter_mut().map(|function| function.finish(groups)).collect(),
            Self::List(list) => Ok(vec![list.finish()?]),
            Self::Chosen(chosen) => Ok(vec![chosen.list.finish()?]),
            Self::Text(text) => Ok(vec![(text.place, Arc::new(text.texts.finish()))]),
        }
    }
}

impl Function {
    fn finish(&mut self, groups: usize) -> Result<(usize, ArrayRef)> {
        // It knows of groups without rows by their number alone.
        let none = new_empty_array(&self.argument);
        self.accumulator.update_batch(std::slice::from_ref(&none), &[], None, groups)?;
        let mut done = std::mem::replace(&mut self.accumulator, accumulator(&self.function)?);
        Ok((self.place, done.evaluate(EmitTo::All)?))
    }
}

fn accumulator(function: &Arc<AggregateFunctionExpr>) -> Result<Box<dyn GroupsAccumulator>> {
    if function.groups_accumulator_supported() {
        return function.create_groups_accumulator();
    }
    let function = Arc::clone(function);
    Ok(Box::new(GroupsAccumulatorAdapter::new(move || function.create_accumulator())))
}

impl Chosen {
    fn new(choice: Choice, count: usize, list: List, keys: RowConverter) -> Self {
        let (given, longest, run, is_longest) = (0, 0, 0, false);
        let (found, chosen, next, begins, last) = (None, None, None, None, None);
        Self { choice, count, list, found, given, chosen, next, longest, run, is_longest, begins, last, keys }
    }

    fn add(&mut self, columns: &[ArrayRef], values: &ArrayRef) -> Result<()> {
        let before = self.given;
        self.given += values.len();
        if let Some(found) = self.found {
            let here = |place: usize| (before..self.given).contains(&place);
            if here(found.low) {
                self.chosen = Some(own(values, found.low - before)?);
            }
            if here(found.high) {
                self.next = Some(own(values, found.high - before)?);
            }
            return Ok(());
        }
        let keys = self.keys.convert_columns(&columns[..columns.len() - 1])?;
        let mut begins = None;
        for (row, key) in keys.iter().enumerate() {
            let is_new = match row.checked_sub(1) {
                Some(before) => keys.row(before) != key,
                None => self.last.as_ref().is_none_or(|last| last.row() != key),
            };
            if is_new {
                (self.run, self.is_longest, begins) = (0, false, Some(row));
            }
            self.run += 1;
            // Of runs of one length the first is the one.
            if self.run > self.longest {
                self.longest = self.run;
                if !self.is_longest {
                    self.is_longest = true;
                    self.chosen = match begins {
                        Some(begins) => Some(own(values, begins)?),
                        None => self.begins.take(),
                    };
                }
            }
        }
        if let Some(begins) = begins.filter(|_| !self.is_longest) {
            self.begins = Some(own(values, begins)?);
        }
        if let Some(last) = keys.num_rows().checked_sub(1) {
            self.last = Some(keys.row(last).owned());
        }
        Ok(())
    }

    fn end_group(&mut self, group: usize) {
        self.list.lengths.resize(group + 1, 0);
        let chosen = match (self.chosen.take(), self.next.take(), self.found) {
            (Some(low), Some(high), Some(found)) => Some(found.between(&low, &high)),
            (chosen, ..) => chosen,
        };
        if let Some(chosen) = chosen {
            self.list.lengths[group] = 1;
            self.list.bytes += chosen.get_buffer_memory_size();
            self.list.pieces.push(chosen);
        }
    }
}

/// One of the values, without the others that it came with.
fn own(values: &ArrayRef, row: usize) -> Result<ArrayRef> {
    Ok(take(values, &UInt64Array::from_value(row as u64, 1), None)?)
}

impl List {
    fn new(place: usize, results: &SchemaRef, is_rectangular: bool) -> Result<Self> {
        let DataType::List(item) = results.field(place).data_type() else {
            return internal_err!("a list is {}", results.field(place).data_type());
        };
        let (item, pieces, lengths) = (Arc::clone(item), Vec::new(), Vec::new());
        Ok(Self { place, item, is_rectangular, pieces, lengths, bytes: 0 })
    }

    fn finish(&mut self) -> Result<(usize, ArrayRef)> {
        let pieces = std::mem::take(&mut self.pieces);
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        let values = if pieces.is_empty() { new_empty_array(self.item.data_type()) } else { concat(&pieces)? };
        let lengths = std::mem::take(&mut self.lengths);
        let nulls = NullBuffer::from_iter(lengths.iter().map(|length| *length > 0));
        let lists =
            ListArray::try_new(Arc::clone(&self.item), OffsetBuffer::from_lengths(lengths), values, Some(nulls))?;
        if self.is_rectangular {
            lists.iter().flatten().try_for_each(|arrays| rectangular(arrays.as_list()))?;
        }
        self.bytes = 0;
        Ok((self.place, Arc::new(lists)))
    }
}

impl Text {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let values = cast(values, &DataType::Utf8)?;
        for part in values.as_string::<i32>().iter().flatten() {
            match &mut self.text {
                None => self.text = Some(part.to_owned()),
                Some(text) => {
                    text.push_str(&self.delimiter);
                    text.push_str(part);
                }
            }
        }
        Ok(())
    }
}
