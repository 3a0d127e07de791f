//! A recursion that takes values from outside: it runs for all of them at once, and each row carries along those it is for.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, DFSchemaRef, JoinType, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};

use super::correlation::Key;
use super::pieces::{columns_of, join, project};
use super::push::{Free, Pusher};
use crate::recursion::{Recursion, WorkTable};

/// A recursion whose other term is being turned.
pub(super) struct Carried {
    /// Of the table with the rows so far.
    name: String,
    /// The columns of these rows, with what they carry along.
    schema: DFSchemaRef,
    keys: Vec<Key>,
}

impl Pusher<'_> {
    pub(super) fn push_recursion(&mut self, query: Recursion) -> Result<Free> {
        let own = query.first.schema().columns();
        let first = self.push_rows(query.first)?;
        // For other values than those that are asked for it might not end.
        let (domain, asked) = self.domain()?;
        let conditions = first.keys.iter().zip(&asked).map(|(key, asked)| key.is(Expr::Column(asked.column.clone())));
        let first_rows = join(first.plan, domain, JoinType::Inner, conditions.collect())?;
        let names: Vec<String> = asked.iter().map(|_| self.names.next("carried")).collect();
        let with_keys = |plan: LogicalPlan, own: Vec<Column>, keys: &[Key]| {
            let keys = keys.iter().zip(&names).map(|(key, name)| Expr::Column(key.column.clone()).alias(name.clone()));
            project(plan, own.into_iter().map(Expr::Column).chain(keys).collect())
        };
        let first = with_keys(first_rows, own, &asked)?;
        let keys: Vec<Key> = names
            .iter()
            .zip(&asked)
            .map(|(name, asked)| Key::new(Column::from_name(name), asked.null_is_value))
            .collect();
        let carried = Carried { name: query.name.clone(), schema: first.schema().clone(), keys: keys.clone() };
        self.carried.push(carried);
        let own = query.step.schema().columns();
        let other = self.push_rows(query.step);
        self.carried.pop();
        let other = other?;
        let other = with_keys(other.plan, own, &other.keys)?;
        let plan = Recursion::new(query.name, first, other, query.is_distinct)?.into_plan();
        Ok(Free { plan, keys, on_empty: None })
    }

    /// The rows so far of a recursion, with what they carry along; `None` for another scan.
    pub(super) fn rows_so_far(&self, scan: &TableScan) -> Result<Option<Free>> {
        let Some(carried) = self.carried.iter().rev().find(|carried| WorkTable::is_read_by(scan, &carried.name)) else {
            return Ok(None);
        };
        let plan = WorkTable::scanned(&carried.name, scan.table_name.clone(), carried.schema.fields())?;
        let qualified = |key: &Key| Key {
            column: Column::new(Some(scan.table_name.clone()), key.column.name.as_str()),
            ..key.clone()
        };
        let keys = carried.keys.iter().map(qualified).collect();
        let columns = columns_of(&plan);
        Ok(Some(Free { plan: project(plan, columns)?, keys, on_empty: None }))
    }

    /// Whether a plan takes a value from outside, or reads rows that carry one along.
    pub(super) fn is_in_plan(&self, plan: &LogicalPlan) -> Result<bool> {
        if self.correlation.is_in_plan(plan)? {
            return Ok(true);
        }
        let mut found = false;
        if !self.carried.is_empty() {
            plan.apply_with_subqueries(|node| {
                if let LogicalPlan::TableScan(scan) = node {
                    found |= self.carried.iter().any(|carried| WorkTable::is_read_by(scan, &carried.name));
                }
                Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })?;
        }
        Ok(found)
    }
}
