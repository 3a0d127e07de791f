//! Predicates that name one key, or the keys that begin alike, and ask for nothing else: the first key columns equal values or
//! parameters, and the next one may lie between two.
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

/// A value, or the parameter that it is.
#[derive(Debug)]
pub(crate) enum Wanted {
    Value(ScalarValue),
    /// By its index, from 0.
    Parameter(usize),
    /// One without the spaces at its end, which do not count where it is compared with a char(n): keys are without them.
    TrimmedParameter(usize),
}

impl PointPredicate {
    /// What the filters say together, if it is of this form.
    pub fn of(relation: &Relation, filters: &[Expr]) -> Option<Self> {
        let (point, others) = Self::among(relation, filters)?;
        others.is_empty().then_some(point)
    }

    /// What some of their parts say together, if it is of this form, and the others.
    pub fn among<'e>(relation: &'e Relation, filters: &'e [Expr]) -> Option<(Self, Vec<&'e Expr>)> {
        let mut wanted: Vec<Option<Wanted>> = relation.codec.columns().iter().map(|_| None).collect();
        let mut others = Vec::new();
        for (part, comparison) in comparisons(relation, filters) {
            match comparison {
                Some(Comparison { column, operator: Operator::Eq, value }) if wanted.get(column)?.is_none() => {
                    wanted[column] = Some(value);
                }
                _ => others.push(part),
            }
        }
        let wanted = wanted.into_iter().collect::<Option<Vec<_>>>().filter(|wanted| !wanted.is_empty())?;
        Some((Self(wanted), others))
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

/// What the first key columns equal, and between which bounds the next one lies. The others are free.
#[derive(Debug)]
pub struct RangePredicate {
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
        let columns = relation.codec.columns();
        let mut equal: Vec<Option<Wanted>> = columns.iter().map(|_| None).collect();
        let (mut low, mut high, mut bounded) = (None, None, None);
        for (_, comparison) in comparisons(relation, filters) {
            let Comparison { column, operator, value } = comparison?;
            if operator == Operator::Eq {
                if equal.get_mut(column)?.replace(value).is_some() {
                    return None;
                }
                continue;
            }
            let (bound, closed) = match operator {
                Operator::Gt => (&mut low, false),
                Operator::GtEq => (&mut low, true),
                Operator::Lt => (&mut high, false),
                Operator::LtEq => (&mut high, true),
                _ => return None,
            };
            if bound.replace(Bound { value, closed }).is_some() || *bounded.get_or_insert(column) != column {
                return None;
            }
        }
        let known = equal.iter().take_while(|wanted| wanted.is_some()).count();
        // A column that is bounded sorts as its part of the key does, unless it is descending.
        let is_next = bounded.is_none_or(|column| column == known && !columns[column].descending);
        let is_range = known < columns.len() && (known > 0 || bounded.is_some());
        let others = equal.split_off(known);
        let names_others = others.iter().any(Option::is_some);
        (is_next && is_range && !names_others).then(|| Self { equal: equal.into_iter().flatten().collect(), low, high })
    }

    /// The scan with these parameters; `None` where it takes a closer look.
    pub fn plan(&self, relation: &Relation, parameters: &[ScalarValue]) -> Option<KeyPlan> {
        let codec = &relation.codec;
        let split = codec.partition_columns();
        let (mut partition, mut row) = (String::with_capacity(KEY_BYTES), String::with_capacity(KEY_BYTES));
        match codec.partition() {
            PartitionScheme::Columns(_) => {}
            PartitionScheme::Constant(text) => partition.push_str(text),
            PartitionScheme::Bucket(_) => return None,
        }
        for (index, wanted) in self.equal.iter().enumerate() {
            let key = if index < split { &mut partition } else { &mut row };
            wanted.push(relation, index, parameters, key)?;
        }
        let next = self.equal.len();
        let range = if next < split {
            let partitions = self.span(relation, &partition, next + 1 == split, parameters)?;
            KeyRange { partitions, rows: [Span::ALL].into() }
        } else {
            let rows = self.span(relation, &row, next + 1 == codec.columns().len(), parameters)?;
            let partition = PartitionKey::parse(partition).ok()?;
            KeyRange { partitions: Span::point(Arc::clone(partition.shared())), rows: [rows].into() }
        };
        let scope = Scope::of([&range]);
        Some(KeyPlan { groups: vec![ScanGroup { ranges: vec![range], residual: None }], scope })
    }

    /// The keys that begin with these columns and whose next one lies between the bounds; `None` where it takes a closer look.
    fn span(&self, relation: &Relation, known: &str, is_last: bool, parameters: &[ScalarValue]) -> Option<Span> {
        let part = |bound: &Bound| {
            let mut key = known.to_owned();
            bound.value.push(relation, self.equal.len(), parameters, &mut key)?;
            Some(Arc::from(key))
        };
        // Behind the last column a key ends; behind another one it goes on.
        let behind = |part| if is_last { Cut::After(part) } else { Cut::AfterPrefix(part) };
        let from = match &self.low {
            Some(bound) if bound.closed => Cut::Before(part(bound)?),
            Some(bound) => behind(part(bound)?),
            None if known.is_empty() => Cut::Min,
            None => Cut::Before(known.into()),
        };
        let to = match &self.high {
            Some(bound) if bound.closed => behind(part(bound)?),
            Some(bound) => Cut::Before(part(bound)?),
            None if known.is_empty() => Cut::Max,
            None => Cut::AfterPrefix(known.into()),
        };
        let span = Span { from, to };
        let is_one_value = match (&span.from, &span.to) {
            (Cut::Before(from), Cut::After(to)) => from == to,
            (Cut::Before(from), Cut::AfterPrefix(to)) => from == to && self.low.is_some(),
            _ => false,
        };
        (!is_one_value && !span.is_empty()).then_some(span)
    }
}

impl Wanted {
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
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

    /// `None` where there is no such parameter.
    pub(crate) fn value<'v>(&'v self, parameters: &'v [ScalarValue]) -> Option<Cow<'v, ScalarValue>> {
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
pub(crate) fn not_widened<'e>(expr: &'e Expr, column: &dyn Fn(&str) -> Option<DataType>) -> &'e Expr {
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

/// The parts of a conjunction, each with the comparison of a key column that it is, if it is one.
fn comparisons<'a>(
    relation: &'a Relation,
    filters: &'a [Expr],
) -> impl Iterator<Item = (&'a Expr, Option<Comparison>)> {
    let parts = filters.iter().flat_map(|filter| flatten(filter, Operator::And));
    parts.map(move |part| (part, Comparison::of(relation, part)))
}

impl Comparison {
    fn of(relation: &Relation, part: &Expr) -> Option<Self> {
        let keys = KeyView { relation, codec: &relation.codec };
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
        Some(Self { column, operator, value: Wanted::of(value)? })
    }
}
