//! `array_agg` and `string_agg` by the engine's own functions, with what PostgreSQL's do besides.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::string_agg::StringAgg;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use tablegate_types::conversion::without_parameters;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use crate::expr::typed::ValueType;

/// `array_agg` of values of this type.
pub(in crate::expr) fn array_agg(item: &ValueType) -> Arc<AggregateUDF> {
    let (item, layout) = (&item.sql_type, item);
    let list = SqlType::Array(Box::new(without_parameters(item)));
    // The layout of most lists tells what they are lists of.
    let is_obvious = match item {
        SqlType::Numeric(_) => layout.is_obvious(),
        SqlType::Array(_) => false,
        _ => SqlType::of_arrow(&list.arrow()) == list,
    };
    if is_obvious && !is_of_any_length(item) {
        return array_agg_udaf();
    }
    Arc::new(AggregateUDF::new_from_impl(ArrayList { list, is_obvious, engine: array_agg_udaf().as_ref().clone() }))
}

/// Whether what is collected may be long.
fn is_of_any_length(item: &SqlType) -> bool {
    item.arrow().primitive_width().is_none()
}

/// How often values are there at the same time while they are put together, or copied to more room.
const COPIES: usize = 2;
/// The same of lists of many groups: those that are handed on are taken apart by their groups or sorted by them, and written
/// to disk, while others are collected. It is what was measured, with the pieces that the allocator keeps of them.
const COPIES_OF_GROUPS: usize = 8;

/// The engine's function, with the type of its list said.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayList {
    list: SqlType,
    is_obvious: bool,
    engine: AggregateUDF,
}

impl AggregateUDFImpl for ArrayList {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn signature(&self) -> &Signature {
        self.engine.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.engine.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        if self.is_obvious {
            return self.engine.return_field(arg_fields);
        }
        let types: Vec<DataType> = arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let value_type = ValueType { sql_type: self.list.clone(), data_type: self.return_type(&types)? };
        Ok(Arc::new(value_type.field(self.name(), true)))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let arrays = self.is_of_arrays();
        let engine = self.engine.accumulator(args)?;
        Ok(if arrays { Box::new(PutTogether { engine, check: check_rectangular }) } else { engine })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.engine.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !self.is_of_arrays() && self.engine.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let engine = self.engine.create_groups_accumulator(args)?;
        let SqlType::Array(item) = &self.list else { return Ok(engine) };
        Ok(if is_of_any_length(item) { Box::new(LongLists { engine }) } else { engine })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.engine.create_sliding_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engine.order_sensitivity()
    }

    fn with_beneficial_ordering(self: Arc<Self>, beneficial: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let engine = self.engine.clone().with_beneficial_ordering(beneficial)?;
        let with = |engine| Self { list: self.list.clone(), is_obvious: self.is_obvious, engine };
        Ok(engine.map(|engine| Arc::new(with(engine)) as Arc<dyn AggregateUDFImpl>))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }
}

impl ArrayList {
    fn is_of_arrays(&self) -> bool {
        matches!(&self.list, SqlType::Array(item) if matches!(**item, SqlType::Array(_)))
    }
}

/// Lists of values that may be long: what is counted is what it takes to hand them on.
struct LongLists {
    engine: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for LongLists {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.engine.update_batch(values, group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.engine.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.engine.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.engine.merge_batch(values, group_indices, total_num_groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.engine.convert_to_state(values, opt_filter)
    }

    fn size(&self) -> usize {
        COPIES_OF_GROUPS * self.engine.size()
    }
}

/// Collects values, which are put together in the end, or copied when there is no more room for them.
#[derive(Debug)]
struct PutTogether {
    engine: Box<dyn Accumulator>,
    /// Looks at what they became.
    check: fn(&ScalarValue) -> Result<()>,
}

impl Accumulator for PutTogether {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.engine.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.engine.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.engine.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.engine.evaluate()?;
        (self.check)(&value).map(|()| value)
    }

    fn size(&self) -> usize {
        size_of_val(self) + COPIES * self.engine.size()
    }
}

/// As [`rectangular`], of the list of all arrays.
fn check_rectangular(collected: &ScalarValue) -> Result<()> {
    match collected {
        ScalarValue::List(list) => list.value(0).as_list_opt::<i32>().map_or(Ok(()), rectangular),
        _ => Ok(()),
    }
}

/// Arrays in an array have one length, and are there.
///
/// # Errors
/// 22004 and 2202E as PostgreSQL says them.
pub(crate) fn rectangular(arrays: &ListArray) -> Result<()> {
    let refused = |kind, message| Err(DataFusionError::External(SqlError::new(kind, message)));
    let mut lengths = arrays.offsets().lengths();
    let first = arrays.offsets().lengths().next();
    for array in 0..arrays.len() {
        let length = lengths.next();
        if arrays.is_null(array) {
            return refused(ErrorKind::NullValueNotAllowed, "cannot accumulate null arrays");
        }
        if first == Some(0) {
            return refused(ErrorKind::SubscriptError, "cannot accumulate empty arrays");
        }
        if length != first {
            return refused(ErrorKind::SubscriptError, "cannot accumulate arrays of different dimensionality");
        }
    }
    Ok(())
}

/// `string_agg` of texts.
pub(in crate::expr) fn string_agg() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(StringList::default()))
}

/// The engine's own wants its input in its order, so that two of different orders are in each other's way. But it can sort
/// by itself.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
struct StringList {
    engine: StringAgg,
}

impl AggregateUDFImpl for StringList {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn signature(&self) -> &Signature {
        self.engine.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.engine.return_type(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(PutTogether { engine: self.engine.accumulator(args)?, check: |_| Ok(()) }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.engine.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.engine.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.engine.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::SoftRequirement
    }

    /// An order that the input has already makes no difference to it.
    fn with_beneficial_ordering(self: Arc<Self>, _beneficial: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }
}
