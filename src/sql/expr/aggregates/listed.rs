//! `array_agg` and `string_agg` of values in an order of their own, or of each value once.
//!
//! The engine gives all aggregates of a query their rows in one order, the first that is asked for, and tells values apart by
//! their layout. So here an aggregate takes what its values are sorted by as further arguments, says nothing of it to the engine,
//! and sorts by itself. Values are equal when all of what they are sorted by is.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, LargeStringBuilder, ListArray, UInt64Array, new_empty_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{SortOptions, and_kleene, cast, concat, filter, take};
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility};
use datafusion::physical_expr::expressions::Literal;
use tablegate_types::sql_type::SqlType;

use super::lists::rectangular;
use crate::expr::typed::ValueType;

/// What becomes of the values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Gives {
    /// An array, of this type. Arrays in it have one length, unless it is a set of sorted values that one is chosen of.
    Array { list: SqlType, is_sorted_set: bool },
    /// One text of those that are not NULL, with the second argument between them.
    Text,
}

impl Gives {
    /// How many arguments are before those that values are sorted by.
    fn arguments(&self) -> usize {
        match self {
            Self::Array { .. } => 1,
            Self::Text => 2,
        }
    }
}

/// Rows of a list that are put together before there are as many again.
const COMPACTED_LEAST: usize = 64 * 1024;

/// The aggregate. What its values are sorted by are its last arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Listed {
    gives: Gives,
    sorts: Vec<SortOptions>,
    is_distinct: bool,
    signature: Signature,
}

impl Listed {
    pub(crate) fn new(gives: Gives, sorts: Vec<SortOptions>, is_distinct: bool) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { gives, sorts, is_distinct, signature }
    }

    fn lists(&self, args: &AccumulatorArgs<'_>) -> Result<Lists> {
        let delimiter = match (&self.gives, args.exprs.get(1)) {
            (Gives::Array { .. }, _) => None,
            (Gives::Text, Some(delimiter)) => match delimiter.downcast_ref::<Literal>().map(Literal::value) {
                Some(text) => Some(text.try_as_str().flatten().unwrap_or_default().to_owned()),
                None => return internal_err!("a delimiter that differs from row to row"),
            },
            (Gives::Text, None) => return internal_err!("texts are joined without a delimiter"),
        };
        let types = args.expr_fields.iter().enumerate().filter(|(place, _)| self.is_kept(*place));
        Ok(Lists {
            is_rectangular: self.is_of_arrays(),
            delimiter,
            sorts: self.sorts.clone(),
            is_distinct: self.is_distinct,
            types: types.map(|(_, field)| field.data_type().clone()).collect(),
            chunks: Vec::new(),
            rows: 0,
            compacted: 0,
            groups: 0,
        })
    }

    /// What its values are sorted by, which its last arguments are.
    pub(crate) fn sorts(&self) -> &[SortOptions] {
        &self.sorts
    }

    pub(crate) fn is_distinct(&self) -> bool {
        self.is_distinct
    }

    /// Whether it is one text: then its second argument is what stands between the others.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.gives, Gives::Text)
    }

    /// Whether its items are arrays of one length.
    pub(crate) fn is_of_arrays(&self) -> bool {
        let Gives::Array { list: SqlType::Array(item), is_sorted_set: false } = &self.gives else { return false };
        matches!(**item, SqlType::Array(_))
    }

    /// Of the arguments before the keys, the value is kept.
    fn is_kept(&self, place: usize) -> bool {
        place == 0 || place >= self.gives.arguments()
    }
}

impl AggregateUDFImpl for Listed {
    fn name(&self) -> &'static str {
        match self.gives {
            Gives::Array { .. } => "array_agg",
            Gives::Text => "string_agg",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(match (&self.gives, arg_types.first()) {
            (Gives::Text, _) => DataType::LargeUtf8,
            (Gives::Array { .. }, Some(item)) => DataType::new_list(item.clone(), true),
            (Gives::Array { .. }, None) => return internal_err!("a list of nothing"),
        })
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<DataType> = arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let data_type = self.return_type(&types)?;
        let sql_type = match &self.gives {
            Gives::Array { list, .. } => list.clone(),
            Gives::Text => return Ok(Arc::new(Field::new(self.name(), data_type, true))),
        };
        Ok(Arc::new(ValueType { sql_type, data_type }.field(self.name(), true)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let kept = args.input_fields.iter().enumerate().filter(|(place, _)| self.is_kept(*place));
        let list = |(place, field): (usize, &FieldRef)| {
            let name = format_state_name(args.name, &format!("list {place}"));
            Arc::new(Field::new(name, DataType::new_list(field.data_type().clone(), true), true))
        };
        Ok(kept.map(list).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneList { lists: self.lists(&args)?, arguments: self.gives.arguments() }))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(ListOfEach { lists: self.lists(&args)?, arguments: self.gives.arguments() }))
    }
}

/// The rows of all groups: their values, and what those are sorted by.
#[derive(Debug)]
struct Lists {
    /// The arrays in an array must have one length.
    is_rectangular: bool,
    /// What is between texts, where one text is made of them.
    delimiter: Option<String>,
    sorts: Vec<SortOptions>,
    is_distinct: bool,
    /// Of the value and the keys.
    types: Vec<DataType>,
    chunks: Vec<Chunk>,
    rows: usize,
    /// How many rows there were when they were put together last.
    compacted: usize,
    groups: usize,
}

/// Rows, and the group that each is of.
#[derive(Debug)]
struct Chunk {
    columns: Vec<ArrayRef>,
    groups: Vec<usize>,
}

/// The rows of some groups, one group after the other.
struct Grouped {
    columns: Vec<ArrayRef>,
    lengths: Vec<usize>,
}

impl Lists {
    /// Adds rows of these groups. A text that is NULL is not joined to others.
    fn add(&mut self, columns: Vec<ArrayRef>, groups: &[usize], keep: Option<&BooleanArray>) -> Result<()> {
        let is_value = self.delimiter.as_ref().and_then(|_| columns.first()?.logical_nulls());
        let is_value = is_value.map(|nulls| BooleanArray::new(nulls.into_inner(), None));
        let kept = match (keep, is_value) {
            (Some(keep), Some(value)) => Some(and_kleene(keep, &value)?),
            (Some(keep), None) => Some(keep.clone()),
            (None, kept) => kept,
        };
        let chunk = match kept {
            None => Chunk { columns, groups: groups.to_vec() },
            Some(kept) => Chunk {
                columns: columns.iter().map(|column| Ok(filter(column, &kept)?)).collect::<Result<_>>()?,
                groups: groups
                    .iter()
                    .zip(kept.iter())
                    .filter(|(_, kept)| *kept == Some(true))
                    .map(|(g, _)| *g)
                    .collect(),
            },
        };
        if chunk.groups.is_empty() {
            return Ok(());
        }
        self.rows += chunk.groups.len();
        self.chunks.push(chunk);
        if self.is_distinct && self.rows >= (2 * self.compacted).max(COMPACTED_LEAST) {
            self.compact()?;
        }
        Ok(())
    }

    /// Keeps each value of a group once.
    fn compact(&mut self) -> Result<()> {
        let groups = self.groups;
        let Grouped { columns, lengths } = self.taken(EmitTo::All, true)?;
        let of_rows = lengths.iter().enumerate().flat_map(|(group, rows)| std::iter::repeat_n(group, *rows)).collect();
        self.groups = groups;
        self.put_back(columns, of_rows);
        self.compacted = self.rows;
        Ok(())
    }

    fn put_back(&mut self, columns: Vec<ArrayRef>, groups: Vec<usize>) {
        self.rows = groups.len();
        self.chunks = if groups.is_empty() { Vec::new() } else { vec![Chunk { columns, groups }] };
    }

    /// Takes out the rows of the first groups, or of all.
    fn taken(&mut self, emit_to: EmitTo, is_sorted: bool) -> Result<Grouped> {
        let chunks = std::mem::take(&mut self.chunks);
        let groups: Vec<usize> = chunks.iter().flat_map(|chunk| chunk.groups.iter().copied()).collect();
        let column = |(place, data_type): (usize, &DataType)| {
            let parts: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.columns[place].as_ref()).collect();
            Ok(if parts.is_empty() { new_empty_array(data_type) } else { concat(&parts)? })
        };
        let columns = self.types.iter().enumerate().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let count = match emit_to {
            EmitTo::All => self.groups,
            EmitTo::First(count) => count,
        };
        let mut order: Vec<usize> = (0..groups.len()).filter(|row| groups[*row] < count).collect();
        if is_sorted {
            let rows = self.keys(&columns[1..])?;
            order.sort_by(|a, b| groups[*a].cmp(&groups[*b]).then_with(|| rows.row(*a).cmp(&rows.row(*b))));
            if self.is_distinct {
                order.dedup_by(|b, a| groups[*a] == groups[*b] && rows.row(*a) == rows.row(*b));
            }
        } else {
            order.sort_by_key(|row| groups[*row]);
        }
        let mut lengths = vec![0; count];
        order.iter().for_each(|row| lengths[groups[*row]] += 1);
        let rest: Vec<usize> = (0..groups.len()).filter(|row| groups[*row] >= count).collect();
        let left = picked(&columns, &rest)?;
        self.put_back(left, rest.iter().map(|row| groups[*row] - count).collect());
        self.groups -= count.min(self.groups);
        self.compacted = self.compacted.min(self.rows);
        Ok(Grouped { columns: picked(&columns, &order)?, lengths })
    }

    /// What rows are compared by.
    fn keys(&self, columns: &[ArrayRef]) -> Result<Rows> {
        let columns: Vec<ArrayRef> = columns.iter().map(comparable).collect();
        let field = |(column, options): (&ArrayRef, &SortOptions)| {
            SortField::new_with_options(column.data_type().clone(), *options)
        };
        let converter = RowConverter::new(columns.iter().zip(&self.sorts).map(field).collect())?;
        Ok(converter.convert_columns(&columns)?)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let Grouped { columns, lengths } = self.taken(emit_to, self.is_distinct)?;
        Ok(columns.into_iter().map(|column| list(column, &lengths)).collect())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let Some(first) = states.first() else { return Ok(()) };
        let lengths: Vec<usize> = first.as_list::<i32>().offsets().lengths().collect();
        let of_items = groups.iter().zip(lengths).flat_map(|(group, items)| std::iter::repeat_n(*group, items));
        let items = |state: &ArrayRef| {
            let list = state.as_list::<i32>();
            let (from, to) = (list.offsets().first().copied(), list.offsets().last().copied());
            let place = |offset: Option<i32>| usize::try_from(offset.unwrap_or_default()).unwrap_or_default();
            list.values().slice(place(from), place(to) - place(from))
        };
        self.add(states.iter().map(items).collect(), &of_items.collect::<Vec<_>>(), None)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let Grouped { columns, lengths } = self.taken(emit_to, true)?;
        let Some(values) = columns.into_iter().next() else { return internal_err!("a list without values") };
        let Some(delimiter) = &self.delimiter else {
            let lists = list(values, &lengths);
            if self.is_rectangular {
                lists.as_list::<i32>().iter().flatten().try_for_each(|arrays| rectangular(arrays.as_list()))?;
            }
            return Ok(lists);
        };
        let texts = cast(&values, &DataType::Utf8)?;
        let mut texts = texts.as_string::<i32>().iter().flatten();
        let mut joined = LargeStringBuilder::with_capacity(lengths.len(), values.len());
        let mut text = String::new();
        for length in lengths {
            text.clear();
            for (place, part) in texts.by_ref().take(length).enumerate() {
                text.push_str(if place > 0 { delimiter } else { "" });
                text.push_str(part);
            }
            joined.append_option((length > 0).then_some(&text));
        }
        Ok(Arc::new(joined.finish()))
    }

    fn size(&self) -> usize {
        let of_column = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or_default();
        let of_chunk = |chunk: &Chunk| {
            chunk.columns.iter().map(of_column).sum::<usize>() + chunk.groups.capacity() * size_of::<usize>()
        };
        size_of_val(self) + self.chunks.iter().map(of_chunk).sum::<usize>()
    }
}

/// Rows at these places.
fn picked(columns: &[ArrayRef], places: &[usize]) -> Result<Vec<ArrayRef>> {
    let places: UInt64Array = places.iter().map(|place| *place as u64).collect();
    columns.iter().map(|column| Ok(take(column, &places, None)?)).collect()
}

/// Lists of these lengths; NULL for one without items.
fn list(items: ArrayRef, lengths: &[usize]) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let nulls = NullBuffer::from_iter(lengths.iter().map(|length| *length > 0));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths.iter().copied()), items, Some(nulls)))
}

/// The keys with zero as zero and NaN as NaN, however they are written.
pub(crate) fn comparable(keys: &ArrayRef) -> ArrayRef {
    if let Some(floats) = keys.as_primitive_opt::<Float64Type>() {
        let plain = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
        return Arc::new(floats.unary::<_, Float64Type>(plain));
    }
    if let Some(floats) = keys.as_primitive_opt::<Float32Type>() {
        let plain = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
        return Arc::new(floats.unary::<_, Float32Type>(plain));
    }
    Arc::clone(keys)
}

/// The lists of all groups at once.
struct ListOfEach {
    lists: Lists,
    /// Which of the arguments are kept.
    arguments: usize,
}

impl GroupsAccumulator for ListOfEach {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.lists.groups = total_num_groups;
        self.lists.add(kept(values, self.arguments), group_indices, opt_filter)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.lists.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.lists.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.lists.groups = total_num_groups;
        self.lists.merge(values, group_indices)
    }

    fn convert_to_state(&self, _values: &[ArrayRef], _opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        internal_err!("lists are not made of one row each")
    }

    fn size(&self) -> usize {
        self.lists.size()
    }
}

/// The list of all rows.
#[derive(Debug)]
struct OneList {
    lists: Lists,
    arguments: usize,
}

impl Accumulator for OneList {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        self.lists.groups = 1;
        self.lists.add(kept(values, self.arguments), &vec![0; rows], None)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |states| states.len());
        self.lists.groups = 1;
        self.lists.merge(states, &vec![0; rows])
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.lists.groups = 1;
        self.lists.state(EmitTo::All)?.iter().map(|list| ScalarValue::try_from_array(list, 0)).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.lists.groups = 1;
        ScalarValue::try_from_array(&self.lists.evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        self.lists.size()
    }
}

/// The value and the keys, of which a delimiter is none.
fn kept(values: &[ArrayRef], arguments: usize) -> Vec<ArrayRef> {
    values.iter().take(1).chain(values.iter().skip(arguments)).cloned().collect()
}
