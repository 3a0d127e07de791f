//! INSERTs of many rows: planned with one row of parameters, and remembered as that.
//!
//! Rows of constants are not parsed, but read as columns; of rows that are written alike but for their parameters the first is planned,
//! for each of the types that its parameters are declared with. What else there is in a statement goes the ordinary way.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

use futures::future::BoxFuture;
use tablegate_types::sql_type::SqlType;

use super::Session;
use super::prepare::Prepared;
use super::repeated::Found;
use crate::aside::aside_unless;
use crate::dml::RowsOfParameters;
use crate::syntax::{ConstantRows, ParameterRows};

/// A longer text is looked through aside: that takes more than a change of threads.
const LONG_BYTES: usize = 32 << 10;
/// What a byte of such a text takes of the memory: in copies of the text, as a part of a value's place in it, and of a column.
const BYTES_PER_BYTE: usize = 5;

/// What each parameter of many rows takes of the memory: its type, and its place in a row.
const BYTES_PER_PARAMETER: usize = 160;

impl Session {
    /// The statement of a text that is an INSERT of many rows of constants, which are not parsed, or of several that are written
    /// alike but for their parameters, of which the first one is; `None` where it goes the ordinary way. Dropping the future loses
    /// nothing.
    pub fn many_rows<'a>(&'a mut self, text: &'a str, declared: &'a [SqlType]) -> BoxFuture<'a, Option<Prepared>> {
        Box::pin(async move {
            if !self.may_repeat() {
                return None;
            }
            match self.rows_in(text) {
                Some((rows, held)) => self.with_rows(&rows, text, held).await,
                None => self.rows_of_parameters(text, declared).await,
            }
        })
    }

    /// The rows of such a text, with what they take of the memory.
    pub(super) fn rows_in<'t>(&self, text: &'t str) -> Option<(ConstantRows<'t>, Arc<dyn Any + Send + Sync>)> {
        if !ConstantRows::may_be_in(text) {
            return None;
        }
        let memory = self.engine.memory("the rows of a statement");
        let is_short = text.len() < LONG_BYTES;
        if !is_short {
            memory.try_grow(BYTES_PER_BYTE * text.len()).ok()?;
        }
        let rows = aside_unless(is_short, || ConstantRows::of(text))?;
        Some((rows, Arc::new(memory)))
    }

    /// The statement, planned as one of a row of parameters.
    pub(super) async fn with_rows(
        &mut self,
        rows: &ConstantRows<'_>,
        text: &str,
        held: Arc<dyn Any + Send + Sync>,
    ) -> Option<Prepared> {
        let prepared = self.row_of_parameters(&rows.template(), &[]).await?;
        let reading = self.reading();
        aside_unless(text.len() < LONG_BYTES, || prepared.with_constants(rows, text, reading, held))
    }

    /// The statement of a text with rows of parameters, planned for the types of its rows.
    async fn rows_of_parameters(&mut self, text: &str, declared: &[SqlType]) -> Option<Prepared> {
        let is_short = text.len() < LONG_BYTES;
        let rows = aside_unless(is_short, || ParameterRows::of(text))?;
        let types = RowsOfParameters::new(declared, rows.len(), rows.width())?;
        let memory = self.engine.memory("the rows of a statement");
        memory.try_grow(BYTES_PER_PARAMETER * rows.len() * rows.width()).ok()?;
        let template = rows.template();
        let mut plans = Vec::with_capacity(types.plans());
        for plan in 0..types.plans() {
            plans.push(self.row_of_parameters(&template, &types.types_of_plan(plan)).await?);
        }
        let (planner, held): (_, Arc<dyn Any + Send + Sync>) = (self.planner(), Arc::new(memory));
        aside_unless(is_short, || Prepared::with_parameters(&plans, &planner, &rows, &types, (text, held)))
    }

    /// An INSERT of one row of parameters, which are declared so, as it was planned when it came first.
    async fn row_of_parameters(&mut self, template: &str, declared: &[SqlType]) -> Option<Arc<Prepared>> {
        // No other key begins and ends so.
        let mut key = format!("\0{template}\0rows");
        if declared.iter().any(|sql_type| *sql_type != SqlType::Unknown) {
            for sql_type in declared {
                // Writing to memory does not fail.
                let _ = write!(key, "\0{sql_type}");
            }
        }
        let version = self.catalog_version();
        let prepared = match self.repeated.find(&key, version) {
            Found::Planned(prepared) => prepared,
            Found::Other => return None,
            Found::New | Found::Again => {
                let prepared = Box::pin(self.prepare_single(template, declared)).await;
                let prepared = prepared.filter(|prepared| prepared.plan.lasts()).map(Arc::new);
                self.repeated.keep(&key, version, prepared)?
            }
        };
        prepared.is_of_style(self.settings.style()).then_some(prepared)
    }
}
