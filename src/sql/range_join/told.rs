//! What one side, of which all rows are there, tells the scan of the other: which keys it has, and what is beyond all ranges.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::functions_aggregate::min_max::{MaxAccumulator, MinAccumulator};
use datafusion::logical_expr::{Accumulator, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, lit};

use super::keys::Keys;
use super::terms::{Bound, Terms};

type Expr = Arc<dyn PhysicalExpr>;
type Filter = Arc<DynamicFilterPhysicalExpr>;

/// Of a bound, over columns of both sides.
#[derive(Debug, Clone)]
struct End {
    /// A column of the side that tells.
    teller: Column,
    /// Of the side that is told: it stands on the left of the operator.
    told: Column,
    op: Operator,
}

impl End {
    /// Whether what is told must be less than the greatest value, or greater than the least.
    fn is_below_greatest(&self) -> bool {
        matches!(self.op, Operator::Lt | Operator::LtEq)
    }
}

/// The filters, each about one column, so that one that comes from nowhere keeps none of the others from its scan.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// In the order of the keys.
    keys: Vec<(Expr, Filter)>,
    ends: Vec<(End, Filter)>,
    /// Of the side that is told.
    schema: SchemaRef,
}

impl Told {
    /// Of these keys of the side that is told, and these ranges.
    pub(super) fn new(on: &[Expr], terms: &Terms, by_sorted: bool, schema: SchemaRef) -> Self {
        let filter = |about: &Expr| Arc::new(DynamicFilterPhysicalExpr::new(vec![Arc::clone(about)], lit(true)));
        let end = |bound: &Bound| {
            let value = bound.value.downcast_ref::<Column>()?.clone();
            let column = terms.column.clone();
            let end = match by_sorted {
                true => End { teller: column, told: value, op: bound.op.swap()? },
                false => End { teller: value, told: column, op: bound.op },
            };
            // The greatest float is NaN to some and not to others.
            (!end.told.data_type(&schema).ok()?.is_floating()).then_some(end)
        };
        let keys = on.iter().map(|key| (Arc::clone(key), filter(key))).collect();
        let ends = terms.bounds.iter().filter_map(end);
        let ends = ends.map(|end| (end.clone(), filter(&(Arc::new(end.told) as Expr)))).collect();
        Self { keys, ends, schema }
    }

    /// All filters.
    pub(super) fn filters(&self) -> impl Iterator<Item = Expr> {
        let keys = self.keys.iter().map(|(_, filter)| filter);
        keys.chain(self.ends.iter().map(|(_, filter)| filter)).map(|filter| Arc::clone(filter) as Expr)
    }

    /// To be shown each row of the side that tells.
    pub(super) fn extremes(&self, schema: &Schema) -> Result<Extremes> {
        let extreme = |(end, _): &(End, Filter)| {
            let data_type = end.teller.data_type(schema)?;
            let accumulator: Box<dyn Accumulator> = match end.is_below_greatest() {
                true => Box::new(MaxAccumulator::try_new(&data_type)?),
                false => Box::new(MinAccumulator::try_new(&data_type)?),
            };
            Ok((end.teller.clone(), accumulator))
        };
        Ok(Extremes(self.ends.iter().map(extreme).collect::<Result<_>>()?))
    }

    /// All rows have been seen: these keys, and these ends. More keys than so many are not told.
    pub(super) fn tell(&self, keys: Option<&Keys>, mut extremes: Extremes, keys_max: usize) -> Result<()> {
        let known = keys.filter(|keys| keys.len() <= keys_max).map(Keys::columns).transpose()?;
        for (place, (expr, filter)) in self.keys.iter().enumerate() {
            // One that runs again has told something before.
            let is_one = known.as_ref().map(|columns| self.is_one_of(expr, &columns[place])).transpose()?;
            filter.update(is_one.unwrap_or_else(|| lit(true)))?;
        }
        for ((end, filter), (_, extreme)) in self.ends.iter().zip(&mut extremes.0) {
            let value = extreme.evaluate()?;
            let within: Expr = match value.is_null() {
                // There is no row, or none that has partners.
                true => lit(false),
                false => Arc::new(BinaryExpr::new(Arc::new(end.told.clone()), end.op, lit(value))),
            };
            filter.update(within)?;
        }
        for filter in self.keys.iter().map(|(_, filter)| filter).chain(self.ends.iter().map(|(_, filter)| filter)) {
            filter.mark_complete();
        }
        Ok(())
    }
}

impl Told {
    fn is_one_of(&self, expr: &Expr, values: &ArrayRef) -> Result<Expr> {
        if values.is_empty() {
            return Ok(lit(false));
        }
        // One that is NULL here may be to match one there, which no list finds; of floats it finds one zero only.
        let is_told = values.null_count() == 0 && !values.data_type().is_floating();
        if !is_told || expr.data_type(&self.schema)? != *values.data_type() {
            return Ok(lit(true));
        }
        Ok(Arc::new(InListExpr::try_new_from_array(Arc::clone(expr), Arc::clone(values), false, &self.schema)?))
    }
}

/// The least or greatest values of some columns.
#[derive(Default)]
pub(super) struct Extremes(Vec<(Column, Box<dyn Accumulator>)>);

impl Extremes {
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for (column, extreme) in &mut self.0 {
            extreme.update_batch(&[Arc::clone(batch.column(column.index()))])?;
        }
        Ok(())
    }
}
