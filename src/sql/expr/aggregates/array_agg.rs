//! `array_agg` of values whose layout does not tell their type: the engine's, that says what its items are.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
};

use crate::sql::types::{SqlType, TYPE_KEY};

/// `array_agg` of items of one type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::sql::expr) struct ArrayAgg {
    engine: Arc<AggregateUDF>,
    item: SqlType,
}

impl ArrayAgg {
    pub fn new(item: SqlType) -> Self {
        Self { engine: array_agg_udaf(), item }
    }
}

impl AggregateUDFImpl for ArrayAgg {
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
        let engine = self.engine.return_field(arg_fields)?;
        let tag = SqlType::Array(Box::new(self.item.clone())).tag();
        let field = Field::new(engine.name(), engine.data_type().clone(), engine.is_nullable());
        Ok(Arc::new(field.with_metadata([(TYPE_KEY.to_owned(), tag)].into())))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.engine.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.engine.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.engine.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.engine.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.engine.create_sliding_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engine.order_sensitivity()
    }

    fn with_beneficial_ordering(self: Arc<Self>, beneficial: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let ordered = self.engine.as_ref().clone().with_beneficial_ordering(beneficial)?;
        Ok(ordered.map(|engine| {
            Arc::new(Self { engine: Arc::new(engine), item: self.item.clone() }) as Arc<dyn AggregateUDFImpl>
        }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Reversed(Arc::new(AggregateUDF::new_from_impl(Self::new(self.item.clone()))))
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.engine.supports_null_handling_clause()
    }
}
