//! The nodes of a short query, and how rows go through them.

use std::sync::Arc;

use arrow::array::UInt32Array;
use arrow::compute::{SortColumn, SortOptions, filter_record_batch, lexsort_to_indices, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use futures::future::BoxFuture;
use tablegate_types::error::SqlResult;

use super::few::{Few, are_few, bytes_of};
use super::groups::Groups;
use super::join::Join;
use super::table::TableRows;
use super::wanted::Wanted;
use crate::aside::aside_unless;
use crate::plan::cut::Cut;
use crate::plan::held_rows::named;
use crate::plan::outputs::{Condition, Outputs, Run};
use crate::reads::Reads;

/// All rows of a node.
pub(super) type Rows = RecordBatch;

/// What a run goes with.
pub(super) struct Running<'r> {
    pub run: &'r Run<'r>,
    pub reads: &'r Arc<Reads>,
}

/// A part of a query. Its columns are known by their places.
#[derive(Debug)]
pub(super) enum Node {
    Table(Box<TableRows>),
    /// Rows that are always the same.
    Given(Rows),
    List(Box<List>),
    Filter(Box<Filter>),
    Sort(Box<Sort>),
    Limit(Box<Limit>),
    Groups(Box<Groups>),
    Join(Box<Join>),
    Union(Box<Union>),
}

/// Expressions over the rows of a node.
#[derive(Debug)]
pub(super) struct List {
    pub input: Node,
    pub outputs: Outputs,
    /// Of each of them the column that it is, if it is one.
    pub sources: Vec<Option<usize>>,
}

/// Rows of a node that a condition is true of.
#[derive(Debug)]
pub(super) struct Filter {
    pub input: Node,
    pub condition: Condition,
}

/// Rows of a node in an order.
#[derive(Debug)]
pub(super) struct Sort {
    pub input: Node,
    pub keys: Outputs,
    pub options: Vec<SortOptions>,
    pub fetch: Option<usize>,
}

/// Some of the rows of a node.
#[derive(Debug)]
pub(super) struct Limit {
    pub input: Node,
    pub cut: Cut,
}

/// Rows of several nodes, one node after the other.
#[derive(Debug)]
pub(super) struct Union {
    pub nodes: Vec<Node>,
    pub schema: SchemaRef,
}

impl Node {
    /// Whether something is asked of the rows of a table in it: it has fewer of them then.
    pub(super) fn is_filtered(&self) -> bool {
        match self {
            Node::Table(table) => table.is_filtered(),
            Node::Given(_) => true,
            Node::List(list) => list.input.is_filtered(),
            Node::Filter(filter) => filter.input.is_filtered(),
            Node::Sort(sort) => sort.input.is_filtered(),
            Node::Limit(limit) => limit.input.is_filtered(),
            Node::Groups(groups) => groups.input.is_filtered(),
            Node::Join(join) => join.sides.iter().any(|side| side.node.is_filtered()),
            Node::Union(union) => union.nodes.iter().all(Node::is_filtered),
        }
    }

    /// Its rows, those that are wanted at least; `None` where they may be many.
    ///
    /// # Errors
    /// Those of reading and of computing.
    pub(super) fn rows<'a>(
        &'a self,
        wanted: &'a [Wanted],
        running: &'a Running<'_>,
    ) -> BoxFuture<'a, SqlResult<Option<Rows>>> {
        Box::pin(async move {
            let rows = match self {
                Node::Table(table) => return table.rows(wanted, running).await,
                Node::Given(rows) => return Ok(Some(rows.clone())),
                Node::List(list) => list.rows(wanted, running).await?,
                Node::Filter(filter) => filter.rows(wanted, running).await?,
                Node::Sort(sort) => sort.rows(wanted, running).await?,
                Node::Limit(limit) => limit.rows(running).await?,
                Node::Groups(groups) => groups.rows(wanted, running).await?,
                Node::Join(join) => join.rows(wanted, running).await?,
                Node::Union(union) => union.rows(wanted, running).await?,
            };
            Ok(rows.filter(|rows| are_few(rows.num_rows(), bytes_of(rows))))
        })
    }
}

impl List {
    async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        let below = Wanted::below(wanted, |column| *self.sources.get(column)?);
        let Some(rows) = self.input.rows(&below, running).await? else { return Ok(None) };
        let outputs = self.outputs.in_run(running.run)?;
        Ok(Some(aside_unless(self.outputs.is_quick(), || outputs.of(&rows))?))
    }
}

impl Filter {
    async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        let Some(rows) = self.input.rows(wanted, running).await? else { return Ok(None) };
        let condition = self.condition.in_run(running.run)?;
        let is_true = aside_unless(self.condition.is_quick(), || condition.is_true_of(&rows))?;
        Ok(Some(filter_record_batch(&rows, &is_true)?))
    }
}

impl Sort {
    async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        // Of the first rows it is not known which they are.
        let wanted = if self.fetch.is_none() { wanted } else { &[] };
        let Some(rows) = self.input.rows(wanted, running).await? else { return Ok(None) };
        let keys = self.keys.in_run(running.run)?;
        let keys = aside_unless(self.keys.is_quick(), || keys.of(&rows))?;
        let keys = keys.columns().iter().zip(&self.options);
        let keys = keys.map(|(key, options)| SortColumn { values: Arc::clone(key), options: Some(*options) });
        let order: UInt32Array = lexsort_to_indices(&keys.collect::<Vec<_>>(), self.fetch)?;
        Ok(Some(take_record_batch(&rows, &order)?))
    }
}

impl Limit {
    async fn rows(&self, running: &Running<'_>) -> SqlResult<Option<Rows>> {
        let Some(mut cut) = self.cut.in_run(running.run)? else { return Ok(None) };
        let rows = self.input.rows(&[], running).await?;
        Ok(rows.map(|rows| cut.take_of(&rows)))
    }
}

impl Union {
    async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        let mut few = Few::default();
        for node in &self.nodes {
            let Some(rows) = node.rows(wanted, running).await? else { return Ok(None) };
            if !few.take(named(&self.schema, &rows)?) {
                return Ok(None);
            }
        }
        Ok(Some(few.together(&self.schema)?))
    }
}
