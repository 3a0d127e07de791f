//! What is joined, and how.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::joins::utils::ColumnIndex;

use super::first::First;
use super::keys::Keys;
use super::probe::Gives;
use super::terms::Terms;

type Expr = Arc<dyn PhysicalExpr>;

/// A join by ranges, without its inputs.
#[derive(Debug, Clone)]
pub(super) struct RangeJoin {
    pub join_type: JoinType,
    /// What is equal on both sides.
    pub on: Vec<(Expr, Expr)>,
    pub nulls: NullEquality,
    pub terms: Terms,
    /// Not all partners are wanted of each row.
    pub first: Option<First>,
    /// The side that is read first, whole, and tells the other what it has.
    pub read_first: JoinSide,
    /// Where the columns that come out are.
    pub columns: Vec<ColumnIndex>,
    pub gives: Gives,
}

impl RangeJoin {
    /// The side that is not sorted.
    pub(super) fn probing(&self) -> JoinSide {
        self.terms.sorted.negate()
    }

    pub(super) fn on_of(&self, side: JoinSide) -> Vec<Expr> {
        let of_left = side == JoinSide::Left;
        self.on.iter().map(|(left, right)| Arc::clone(if of_left { left } else { right })).collect()
    }

    pub(super) fn sorted_by(&self) -> Vec<PhysicalSortExpr> {
        match &self.first {
            Some(first) => first.order.clone(),
            None => vec![PhysicalSortExpr::new_default(Arc::new(self.terms.column.clone()))],
        }
    }

    /// Whether one partition has to see all of the other side: what comes of the sorted one comes behind it.
    pub(super) fn is_single(&self) -> bool {
        self.read_first != self.terms.sorted || self.gives.of_side(self.terms.sorted).is_some()
    }

    /// Numbers for the keys of this side; `None` where all rows are of one key.
    pub(super) fn keys(&self, side: JoinSide, schema: &SchemaRef) -> Result<Option<Keys>> {
        let types = self.on_of(side).iter().map(|expr| expr.data_type(schema)).collect::<Result<Vec<_>>>()?;
        (!types.is_empty()).then(|| Keys::new(types, self.nulls)).transpose()
    }
}
