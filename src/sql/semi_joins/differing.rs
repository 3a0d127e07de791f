//! Whether there is a row with the same keys and another value: `l2.order = l1.order AND l2.supplier <> l1.supplier`.
//!
//! Of the rows with some keys the least and the greatest value say it: if one of them is another one, there is such a row, and if neither
//! is, there is none. So no more than these are kept of each part's rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{JoinSide, Result};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};

use super::keys_of;
use crate::passing::Plan;

type Expr = Arc<dyn PhysicalExpr>;

/// The join over the least and the greatest values of what it looks for; `None` where its condition is another one.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(super) fn of_least_and_greatest(join: &HashJoinExec, side: JoinSide) -> Result<Option<Plan>> {
    let Some(differing) = Differing::of(join, side) else { return Ok(None) };
    let looked_for = if side == JoinSide::Left { join.left() } else { join.right() };
    let schema = looked_for.schema();
    let by = differing.keys.iter().map(|&at| (column(&schema, at), schema.field(at).name().clone())).collect();
    let functions = [min_udaf(), max_udaf()].map(|function| {
        let name = format!("{}({})", function.name(), schema.field(differing.value).name());
        let arguments = vec![column(&schema, differing.value)];
        AggregateExprBuilder::new(function, arguments).schema(Arc::clone(&schema)).alias(name).build().map(Arc::new)
    });
    let functions: Vec<_> = functions.into_iter().collect::<Result<_>>()?;
    let (by, filters) = (PhysicalGroupBy::new_single(by), vec![None; functions.len()]);
    let groups =
        AggregateExec::try_new(AggregateMode::Partial, by, functions, filters, Arc::clone(looked_for), schema)?;
    let groups: Plan = Arc::new(groups);
    let on = join.on().iter().map(|(left, right)| match side {
        JoinSide::Left => (differing.moved(left, &groups), Arc::clone(right)),
        _ => (Arc::clone(left), differing.moved(right, &groups)),
    });
    let (on, filter) = (on.collect(), differing.filter(&groups));
    let children = match side {
        JoinSide::Left => vec![groups, Arc::clone(join.right())],
        _ => vec![Arc::clone(join.left()), groups],
    };
    let join = join.builder().with_new_children(children)?.with_on(on).with_filter(Some(filter)).build()?;
    Ok(Some(Arc::new(join)))
}

/// The condition, and the columns of the rows that are looked for.
struct Differing<'j> {
    condition: &'j JoinFilter,
    side: JoinSide,
    keys: Vec<usize>,
    value: usize,
    /// Where the value stands in the condition, and what it is compared with.
    place: usize,
    other: Expr,
}

impl<'j> Differing<'j> {
    fn of(join: &'j HashJoinExec, side: JoinSide) -> Option<Self> {
        let condition = join.filter()?;
        let compared = condition.expression().downcast_ref::<BinaryExpr>().filter(|e| *e.op() == Operator::NotEq)?;
        let is_of = |expr: &Expr, wanted: bool| {
            let mut columns = collect_columns(expr).into_iter();
            columns.all(|column| (condition.column_indices()[column.index()].side == side) == wanted)
        };
        let sides = [(compared.left(), compared.right()), (compared.right(), compared.left())];
        let (value, other) = sides
            .into_iter()
            .find(|(value, other)| value.is::<Column>() && is_of(value, true) && is_of(other, false))?;
        let place = value.downcast_ref::<Column>()?.index();
        let value = condition.column_indices()[place].index;
        let keys = keys_of(join, side).map(|key| Some(key.downcast_ref::<Column>()?.index()));
        let keys = keys.collect::<Option<BTreeSet<_>>>()?;
        let is_plain = has_one_order(condition.schema().field(place).data_type()) && !keys.contains(&value);
        let keys = keys.into_iter().collect();
        is_plain.then(|| Self { condition, side, keys, value, place, other: Arc::clone(other) })
    }

    /// A key as a column of the groups.
    fn moved(&self, key: &Expr, groups: &Plan) -> Expr {
        let before = key.downcast_ref::<Column>().map(Column::index);
        let place = self.keys.iter().position(|key| Some(*key) == before).unwrap_or_default();
        column(&groups.schema(), place)
    }

    /// The condition on the least value, or that on the greatest one, which is put behind its columns.
    fn filter(&self, groups: &Plan) -> JoinFilter {
        let (least, greatest) = (self.keys.len(), self.keys.len() + 1);
        let mut indices = self.condition.column_indices().to_vec();
        indices[self.place].index = least;
        indices.push(ColumnIndex { index: greatest, side: self.side });
        let mut fields: Vec<Field> =
            self.condition.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        fields[self.place] = groups.schema().field(least).clone();
        fields.push(groups.schema().field(greatest).clone());
        let schema = Arc::new(Schema::new(fields));
        let differs =
            |place| Arc::new(BinaryExpr::new(column(&schema, place), Operator::NotEq, Arc::clone(&self.other))) as Expr;
        let either = BinaryExpr::new(differs(self.place), Operator::Or, differs(indices.len() - 1));
        JoinFilter::new(Arc::new(either), indices, schema)
    }
}

fn column(schema: &Schema, at: usize) -> Expr {
    Arc::new(Column::new(schema.field(at).name(), at))
}

/// Types whose values are equal only where neither is less. Doubles are not among them, nor what is compared item by item.
fn has_one_order(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Timestamp(..)
            | DataType::Decimal128(..)
            | DataType::Utf8
    )
}
