//! Predicates that name one key, or the rows of one partition between two bounds, and ask for nothing else: the key
//! columns in order equal values or parameters, and the last one may lie between two.
//!
//! Such a predicate is taken apart once, and each run only writes the key down. What it gives is what the analysis of
//! the predicate would give; where it cannot say, that is asked.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use tablegate_store::model::{Cut, EntityKey, PartitionKey, Span};
use tablegate_store::table::KeyRange;
use tablegate_types::key_codec::{KEY_BYTES, PartitionScheme};

use super::from_logical::flatten;
use super::predicate::{KeyView, Operand};
use super::{KeyPlan, ScanGroup, Scope};
use crate::expr::parameter_number;
use crate::relation::Relation;

/// What each key column equals, in key order.
#[derive(Debug)]
pub struct PointPredicate(Vec<Wanted>);

#[derive(Debug)]
enum Wanted {
    Value(ScalarValue),
    /// By its index, from 0.
    Parameter(usize),
    /// One without the spaces at its end, which do not count where it is compared with a char(n): keys are without them.
    TrimmedParameter(usize),
}

impl PointPredicate {
    /// What the filters say together, if it is of this form.
    pub fn of(relation: &Relation, filters: &[Expr]) -> Option<Self> {
        let mut wanted: Vec<Option<Wanted>> = relation.codec.columns().iter().map(|_| None).collect();
        for part in comparisons(relation, filters) {
            let Comparison { column, operator: Operator::Eq, value } = part? else { return None };
            if wanted.get_mut(column)?.replace(value).is_some() {
                return None;
            }
        }
        wanted.into_iter().collect::<Option<Vec<_>>>().filter(|wanted| !wanted.is_empty()).map(Self)
    }

    /// The key with these parameters; `None` where they name none, or it takes a closer look.
    pub fn key(&self, relation: &Relation, parameters: &[ScalarValue]) -> Option<EntityKey> {
        let values: Vec<Cow<'_, ScalarValue>> =
            self.0.iter().map(|wanted| wanted.value(parameters)).collect::<Option<_>>()?;
        relation.codec.key_of(|column| values.get(column).map(Cow::as_ref))
    }

    /// The key as a range.
    pub fn range(key: &EntityKey) -> KeyRange {
        KeyRange {
            partitions: Span::point(Arc::clone(key.partition.shared())),
            rows: [Span::point(Arc::clone(key.row.shared()))].into(),
        }
    }
}

/// A partition, and between which bounds the last key column lies there.
#[derive(Debug)]
pub struct RangePredicate {
    /// What the key columns before the last one equal.
    equal: Vec<Wanted>,
    low: Option<Bound>,
    high: Option<Bound>,
}

#[derive(Debug)]
struct Bound {
    value: Wanted,
    /// Whether the value itself is within.
    closed: bool,
}

impl RangePredicate {
    /// What the filters say together, if it is of this form.
    pub fn of(relation: &Relation, filters: &[Expr]) -> Option<Self> {
        let codec = &relation.codec;
        let last = codec.columns().len().checked_sub(1)?;
        // The last column is one of the RowKey, which sorts as it does.
        let PartitionScheme::Columns(split) = codec.partition() else { return None };
        if *split > last || codec.columns().get(last)?.descending {
            return None;
        }
        let mut equal: Vec<Option<Wanted>> = (0..last).map(|_| None).collect();
        let (mut low, mut high) = (None, None);
        for part in comparisons(relation, filters) {
            let Comparison { column, operator, value } = part?;
            let before = if column == last {
                let (bound, closed) = match operator {
                    Operator::Gt => (&mut low, false),
                    Operator::GtEq => (&mut low, true),
                    Operator::Lt => (&mut high, false),
                    Operator::LtEq => (&mut high, true),
                    _ => return None,
                };
                bound.replace(Bound { value, closed }).is_some()
            } else if operator == Operator::Eq {
                equal.get_mut(column)?.replace(value).is_some()
            } else {
                return None;
            };
            if before {
                return None;
            }
        }
        let equal = equal.into_iter().collect::<Option<Vec<_>>>()?;
        (low.is_some() || high.is_some()).then_some(Self { equal, low, high })
    }

    /// The scan with these parameters; `None` where it takes a closer look.
    pub fn plan(&self, relation: &Relation, parameters: &[ScalarValue]) -> Option<KeyPlan> {
        let split = relation.codec.partition_columns();
        let (mut partition, mut row) = (String::with_capacity(KEY_BYTES), String::with_capacity(KEY_BYTES));
        for (index, wanted) in self.equal.iter().enumerate() {
            let key = if index < split { &mut partition } else { &mut row };
            wanted.push(relation, index, parameters, key)?;
        }
        let last = self.equal.len();
        let part = |bound: &Bound| {
            let mut key = row.clone();
            bound.value.push(relation, last, parameters, &mut key)?;
            Some(Arc::from(key))
        };
        let from = match &self.low {
            Some(bound) if bound.closed => Cut::Before(part(bound)?),
            Some(bound) => Cut::After(part(bound)?),
            None if row.is_empty() => Cut::Min,
            None => Cut::Before(row.as_str().into()),
        };
        let to = match &self.high {
            Some(bound) if bound.closed => Cut::After(part(bound)?),
            Some(bound) => Cut::Before(part(bound)?),
            None if row.is_empty() => Cut::Max,
            None => Cut::AfterPrefix(row.as_str().into()),
        };
        let rows = Span { from, to };
        let partition = PartitionKey::parse(partition).ok()?;
        if rows.is_empty() {
            return None;
        }
        let range = KeyRange { partitions: Span::point(Arc::clone(partition.shared())), rows: [rows].into() };
        let scope = Scope::of([&range]);
        Some(KeyPlan { groups: vec![ScanGroup { ranges: vec![range], residual: None }], scope })
    }
}

impl Wanted {
    fn of(expr: &Expr) -> Option<Self> {
        Some(match expr {
            Expr::Literal(value, _) => Wanted::Value(value.clone()),
            Expr::Placeholder(placeholder) => Wanted::Parameter(parameter_number(&placeholder.id)?.checked_sub(1)?),
            Expr::ScalarFunction(call) if call.func.name() == "rtrim" => match call.args.as_slice() {
                [text] => match Self::of(text)? {
                    Wanted::Parameter(index) => Wanted::TrimmedParameter(index),
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        })
    }

    fn value<'v>(&'v self, parameters: &'v [ScalarValue]) -> Option<Cow<'v, ScalarValue>> {
        match self {
            Wanted::Value(value) => Some(Cow::Borrowed(value)),
            Wanted::Parameter(index) => parameters.get(*index).map(Cow::Borrowed),
            Wanted::TrimmedParameter(index) => Some(match parameters.get(*index)? {
                ScalarValue::Utf8(Some(text)) if text.ends_with(' ') => {
                    Cow::Owned(ScalarValue::Utf8(Some(text.trim_end_matches(' ').to_owned())))
                }
                value => Cow::Borrowed(value),
            }),
        }
    }

    /// Appends the part of the key column at `index`.
    fn push(&self, relation: &Relation, index: usize, parameters: &[ScalarValue], key: &mut String) -> Option<()> {
        relation.codec.push_part(index, self.value(parameters)?.as_ref(), key)
    }
}

/// A key column against a value.
struct Comparison {
    column: usize,
    operator: Operator,
    value: Wanted,
}

/// What is made a wider integer, which is the same number: `id = 5` is that, where `id` is a bigint. Of a column its type is asked.
fn not_widened<'e>(expr: &'e Expr, column: &dyn Fn(&str) -> Option<DataType>) -> &'e Expr {
    use DataType::{Int16, Int32, Int64};
    let Expr::Cast(cast) = expr else { return expr };
    let before = match &*cast.expr {
        Expr::Column(named) => column(&named.name),
        Expr::Placeholder(placeholder) => placeholder.field.as_ref().map(|field| field.data_type().clone()),
        _ => None,
    };
    match (before, cast.field.data_type()) {
        (Some(Int16), Int32 | Int64) | (Some(Int32), Int64) => &cast.expr,
        _ => expr,
    }
}

/// The parts of a conjunction; `None` for one that is no comparison of a key column.
fn comparisons<'a>(relation: &'a Relation, filters: &'a [Expr]) -> impl Iterator<Item = Option<Comparison>> {
    let keys = KeyView { relation, codec: &relation.codec };
    filters.iter().flat_map(|filter| flatten(filter, Operator::And)).map(move |part| {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = part else { return None };
        let type_of = |name: &str| match Operand::column(&keys, name) {
            Operand::Column { data_type, .. } => Some(data_type),
            _ => None,
        };
        let (name, value, operator) = match (not_widened(left, &type_of), not_widened(right, &type_of)) {
            (Expr::Column(column), value) => (&column.name, value, *op),
            (value, Expr::Column(column)) => (&column.name, value, op.swap()?),
            _ => return None,
        };
        let Operand::Column { column, .. } = Operand::column(&keys, name) else { return None };
        Some(Comparison { column, operator, value: Wanted::of(value)? })
    })
}
