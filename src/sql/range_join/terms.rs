//! What the condition of a join says of ranges.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, Result};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::joins::utils::JoinFilter;

type Expr = Arc<dyn PhysicalExpr>;

/// An end of the ranges: the column of the sorted side stands on the left of the operator.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// One of `<`, `<=`, `>` and `>=`.
    pub op: Operator,
    /// Over the columns of the other side.
    pub value: Expr,
}

impl Bound {
    /// Whether it says where ranges begin.
    pub(super) fn is_lower(&self) -> bool {
        matches!(self.op, Operator::Gt | Operator::GtEq)
    }
}

/// One way to see a condition as ranges of a column.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// The side with the column.
    pub sorted: JoinSide,
    pub column: Column,
    /// One at least.
    pub bounds: Vec<Bound>,
    /// What is asked of pairs besides.
    pub residual: Option<JoinFilter>,
}

impl Terms {
    /// Whether ranges have two ends.
    pub(super) fn are_closed(&self) -> bool {
        self.bounds.iter().any(Bound::is_lower) && !self.bounds.iter().all(Bound::is_lower)
    }
}

/// A comparison that bounds a column of one side.
struct Comparison {
    sorted: JoinSide,
    column: Column,
    bound: Bound,
}

/// All ways to see this condition so, each with another column.
pub(super) fn ways(filter: &JoinFilter, left: &Schema, right: &Schema) -> Result<Vec<Terms>> {
    let sides = Sides { filter, left, right };
    let conjuncts = split_conjunction(filter.expression());
    let mut ways: Vec<(Terms, Vec<usize>)> = Vec::new();
    for (place, conjunct) in conjuncts.iter().enumerate() {
        for Comparison { sorted, column, bound } in sides.comparisons(conjunct)? {
            match ways.iter_mut().find(|(way, _)| way.sorted == sorted && way.column == column) {
                Some((way, used)) => {
                    way.bounds.push(bound);
                    used.push(place);
                }
                None => ways.push((Terms { sorted, column, bounds: vec![bound], residual: None }, vec![place])),
            }
        }
    }
    let with_residual = |(way, used): (Terms, Vec<usize>)| {
        let left_over = conjuncts.iter().enumerate().filter(|(place, _)| !used.contains(place));
        let left_over: Vec<Expr> = left_over.map(|(_, conjunct)| Arc::clone(conjunct)).collect();
        let residual = |expr| JoinFilter::new(expr, filter.column_indices().to_vec(), Arc::clone(filter.schema()));
        Terms { residual: (!left_over.is_empty()).then(|| residual(conjunction(left_over))), ..way }
    };
    Ok(ways.into_iter().map(with_residual).collect())
}

/// The columns of a condition, and where they come from.
struct Sides<'a> {
    filter: &'a JoinFilter,
    left: &'a Schema,
    right: &'a Schema,
}

impl Sides<'_> {
    /// A comparison of two columns bounds both.
    fn comparisons(&self, conjunct: &Expr) -> Result<Vec<Comparison>> {
        let Some(binary) = conjunct.downcast_ref::<BinaryExpr>().filter(|_| !is_volatile(conjunct)) else {
            return Ok(Vec::new());
        };
        if !matches!(binary.op(), Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq) {
            return Ok(Vec::new());
        }
        let swapped = binary.op().swap();
        let both = [(binary.left(), Some(*binary.op()), binary.right()), (binary.right(), swapped, binary.left())];
        let mut found = Vec::new();
        for (column, op, value) in both {
            if let (Some(column), Some(op)) = (column.downcast_ref::<Column>(), op) {
                found.extend(self.comparison(column, op, value)?);
            }
        }
        Ok(found)
    }

    fn comparison(&self, column: &Column, op: Operator, value: &Expr) -> Result<Option<Comparison>> {
        let indices = self.filter.column_indices();
        let sorted = indices[column.index()].side;
        let used = collect_columns(value);
        if used.is_empty() || used.iter().any(|other| indices[other.index()].side == sorted) {
            return Ok(None);
        }
        let schema = self.filter.schema();
        if column.data_type(schema)? != value.data_type(schema)? {
            return Ok(None);
        }
        let bound = Bound { op, value: self.of_side(value)? };
        Ok(Some(Comparison { sorted, column: self.column(column), bound }))
    }

    /// An expression over the columns of its own side.
    fn of_side(&self, expr: &Expr) -> Result<Expr> {
        let placed = |expr: Expr| match expr.downcast_ref::<Column>() {
            Some(column) => Ok(Transformed::yes(Arc::new(self.column(column)) as Expr)),
            None => Ok(Transformed::no(expr)),
        };
        Arc::clone(expr).transform_up(placed).data()
    }

    fn column(&self, column: &Column) -> Column {
        let origin = &self.filter.column_indices()[column.index()];
        let schema = if origin.side == JoinSide::Left { self.left } else { self.right };
        Column::new(schema.field(origin.index).name(), origin.index)
    }
}
