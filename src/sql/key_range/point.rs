//! A predicate that names one key: every key column equals a value or a parameter, and nothing else is asked.
//!
//! Such a predicate is taken apart once, and each run only writes the key down. What it gives is what the analysis of
//! the predicate would give; where it cannot say, that is asked.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::from_logical::flatten;
use super::predicate::{KeyView, Operand};
use crate::model::{PartitionKey, RowKey, Span};
use crate::sql::expr::parameter_number;
use crate::sql::key_codec::{Located, PartitionScheme};
use crate::sql::relation::Relation;
use crate::table::KeyRange;

/// What each key column equals, in key order.
#[derive(Debug)]
pub struct PointPredicate(Vec<Wanted>);

#[derive(Debug)]
enum Wanted {
    Value(ScalarValue),
    /// By its index, from 0.
    Parameter(usize),
}

impl PointPredicate {
    /// What the filters say together, if it is of this form.
    pub fn of(relation: &Relation, filters: &[Expr]) -> Option<Self> {
        let keys = KeyView { relation, codec: &relation.codec };
        let mut wanted: Vec<Option<Wanted>> = relation.codec.columns().iter().map(|_| None).collect();
        for part in filters.iter().flat_map(|filter| flatten(filter, Operator::And)) {
            let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = part else { return None };
            let (name, value) = match (&**left, &**right) {
                (Expr::Column(column), value) | (value, Expr::Column(column)) => (&column.name, value),
                _ => return None,
            };
            let Operand::Column { column, .. } = Operand::column(&keys, name) else { return None };
            let value = match value {
                Expr::Literal(value, _) => Wanted::Value(value.clone()),
                Expr::Placeholder(placeholder) => Wanted::Parameter(parameter_number(&placeholder.id)?.checked_sub(1)?),
                _ => return None,
            };
            if wanted.get_mut(column)?.replace(value).is_some() {
                return None;
            }
        }
        wanted.into_iter().collect::<Option<Vec<_>>>().filter(|wanted| !wanted.is_empty()).map(Self)
    }

    /// The key with these parameters, as a range; `None` where they name none, or it takes a closer look.
    pub fn range(&self, relation: &Relation, parameters: &[ScalarValue]) -> Option<KeyRange> {
        let codec = &relation.codec;
        let split = codec.partition_columns();
        let (mut partition, mut row) = (String::new(), String::new());
        for (index, (wanted, column)) in self.0.iter().zip(codec.columns()).enumerate() {
            let value = match wanted {
                Wanted::Value(value) => value,
                Wanted::Parameter(index) => parameters.get(*index)?,
            };
            if value.is_null() || value.data_type() != column.sql_type.arrow() {
                return None;
            }
            let Located::At(part) = codec.locate(index, value)? else { return None };
            if index < split { &mut partition } else { &mut row }.push_str(&part);
        }
        match codec.partition() {
            PartitionScheme::Columns(_) => {}
            PartitionScheme::Constant(constant) => partition.push_str(constant),
            PartitionScheme::Bucket(_) => partition = codec.bucket_of(&row)?,
        }
        let (partition, row) = (PartitionKey::parse(partition).ok()?, RowKey::parse(row).ok()?);
        Some(KeyRange {
            partitions: Span::point(partition.shared().clone()),
            rows: [Span::point(row.shared().clone())].into(),
        })
    }
}
