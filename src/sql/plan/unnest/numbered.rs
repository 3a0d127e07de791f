//! Sub-queries over the items of a value of the row around: `EXISTS (SELECT FROM unnest(t.xs) ..)`.
//!
//! A row of such a sub-query would carry the whole list that it comes from, as the key of its answer. So the values get numbers:
//! the rows carry those, and the answers get the values back in the end.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, Window};

use super::correlation::{Key, refers_out};
use super::per_key::row_number_in_rows;
use super::pieces::{self, alias, columns_of, join, project};
use super::push::{Free, Pusher};
use crate::plan::once::once;
use crate::recursion::Recursion;

/// The values stand in a plan twice, which multiplies where such sub-queries are within each other: from so many nodes on
/// each row carries its values again.
const MOST_NODES: usize = 64;

fn is_large(plan: &LogicalPlan) -> Result<bool> {
    let mut nodes = 0;
    plan.apply(|_| {
        nodes += 1;
        Ok(if nodes > MOST_NODES { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(nodes > MOST_NODES)
}

/// The values that a sub-query is asked for, each with its number.
pub(super) struct Numbered {
    values: LogicalPlan,
    keys: Vec<Key>,
    number: String,
}

impl Pusher<'_> {
    /// What [`Pusher::push`] makes of a whole sub-query.
    pub(super) fn answers(&mut self, plan: LogicalPlan) -> Result<Free> {
        self.with_values(plan, Self::push)
    }

    /// What [`Pusher::push_rows`] makes of a whole sub-query.
    pub(super) fn answers_of_all(&mut self, plan: LogicalPlan) -> Result<Free> {
        self.with_values(plan, Self::push_rows)
    }

    fn with_values(
        &mut self,
        plan: LogicalPlan,
        push: impl FnOnce(&mut Self, LogicalPlan) -> Result<Free>,
    ) -> Result<Free> {
        if !self.takes_items(&plan)? {
            return push(self, plan);
        }
        let (values, keys) = self.correlation.domain(self.names)?;
        // For each row farther out they are others, and so would their numbers be.
        if refers_out(&values)? || is_large(&values)? {
            return push(self, plan);
        }
        let number = self.names.next("number");
        let numbered = row_number_in_rows().build()?.alias(number.clone());
        let values = LogicalPlan::Window(Window::try_new(vec![numbered], Arc::new(values))?);
        let values = once(values, self.names.number());
        self.numbered = Some(Numbered { values, keys, number });
        let answers = push(self, plan)?;
        match self.numbered.take() {
            Some(numbered) => self.by_values(answers, &numbered),
            None => Ok(answers),
        }
    }

    /// Whether a plan takes items out of values that may be large. A recursion carries its values along on its own.
    fn takes_items(&self, plan: &LogicalPlan) -> Result<bool> {
        let (mut found, mut recurs) = (false, false);
        plan.apply(|node| {
            recurs |= Recursion::of(node).is_some();
            if let LogicalPlan::Unnest(unnest) = node {
                for (index, _) in self.correlation.taken(&unnest.input)? {
                    found |= self.correlation.may_be_large(index)?;
                }
            }
            Ok(if recurs { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(found && !recurs)
    }

    /// Answers by number as answers by value.
    fn by_values(&mut self, answers: Free, numbered: &Numbered) -> Result<Free> {
        let (values, keys) = self.numbered_values(numbered)?;
        let is_key = |column: &Column| answers.keys.iter().any(|key| key.column == *column);
        let own: Vec<Column> = answers.plan.schema().columns().into_iter().filter(|column| !is_key(column)).collect();
        let conditions = answers.keys.iter().zip(&keys).filter(|(key, _)| !key.goes_along);
        let conditions = conditions.map(|(key, value)| key.is(Expr::Column(value.column.clone()))).collect();
        let joined = join(values, answers.plan, JoinType::Inner, conditions)?;
        let keys: Vec<Key> = keys
            .into_iter()
            .zip(&numbered.keys)
            .map(|(key, value)| Key { column: key.column, ..value.clone() })
            .collect();
        let columns = own.into_iter().chain(keys.iter().map(|key| key.column.clone())).map(Expr::Column).collect();
        Ok(Free { plan: project(joined, columns)?, keys, on_empty: answers.on_empty })
    }

    /// All values that there are, and the keys that they are: where they have numbers, these come last, and decide.
    pub(super) fn domain(&mut self) -> Result<(LogicalPlan, Vec<Key>)> {
        match self.numbered.take() {
            None => self.correlation.domain(self.names),
            Some(numbered) => {
                let domain = self.numbered_values(&numbered);
                self.numbered = Some(numbered);
                domain
            }
        }
    }

    fn numbered_values(&mut self, numbered: &Numbered) -> Result<(LogicalPlan, Vec<Key>)> {
        let table = self.names.next("values");
        let column = |name: &str| Column::new(Some(table.clone()), name);
        let along = |key: &Key| Key { column: column(&key.column.name), null_is_value: true, goes_along: true };
        let keys = numbered.keys.iter().map(along).chain([Key::new(column(&numbered.number), false)]).collect();
        Ok((alias(numbered.values.clone(), &table)?, keys))
    }

    /// The rows without the values that `plan`, of which they were made, is the last to take.
    pub(super) fn without_last_taken(&mut self, plan: &LogicalPlan, rows: Free) -> Result<Free> {
        if self.numbered.is_none() {
            return Ok(rows);
        }
        let Free { plan: rows, mut keys, on_empty } = rows;
        let mut columns = columns_of(&rows);
        for (index, elsewhere) in self.correlation.taken(plan)? {
            let place = rows.schema().index_of_column(&keys[index].column)?;
            if elsewhere == 0 && keys[index].goes_along {
                let name = self.names.next("key");
                let nothing = ScalarValue::try_from(rows.schema().field(place).data_type())?;
                columns[place] = Expr::Literal(nothing, None).alias(name.clone());
                keys[index].column = Column::from_name(name);
            }
        }
        Ok(Free { plan: project(rows, columns)?, keys, on_empty })
    }

    /// Rows that are grouped by the keys that decide: what goes along is the same in all rows of a group.
    pub(super) fn grouped(
        &mut self,
        rows: LogicalPlan,
        by: Vec<Expr>,
        mut aggregates: Vec<Expr>,
        keys: Vec<Key>,
    ) -> Result<(LogicalPlan, Vec<Key>)> {
        let mut grouped = Vec::with_capacity(keys.len());
        for key in keys {
            if !key.goes_along {
                grouped.push(key);
                continue;
            }
            let name = self.names.next("key");
            aggregates.push(first_value_udaf().call(vec![Expr::Column(key.column)]).alias(name.clone()));
            grouped.push(Key { column: Column::from_name(name), ..key });
        }
        Ok((pieces::aggregate(rows, by, aggregates)?, grouped))
    }

    /// Each row once.
    pub(super) fn distinct(&mut self, rows: Free) -> Result<Free> {
        if self.numbered.is_none() {
            return Ok(Free { plan: pieces::distinct(rows.plan), ..rows });
        }
        let goes_along = |column: &Column| rows.keys.iter().any(|key| key.goes_along && key.column == *column);
        let by = rows.plan.schema().columns().into_iter().filter(|column| !goes_along(column)).map(Expr::Column);
        let by = by.collect();
        let (plan, keys) = self.grouped(rows.plan, by, Vec::new(), rows.keys)?;
        Ok(Free { plan, keys, on_empty: rows.on_empty })
    }
}
