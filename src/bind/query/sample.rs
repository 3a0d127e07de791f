//! TABLESAMPLE: a share of a table's rows.

use sqlparser::ast::{Expr, ObjectName, Spanned, TableSample, TableSampleKind, TableSampleMethod, TableSampleQuantity};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{RangeSource, Sample, SampleMethod};
use super::level::Level;
use crate::catalogue::RelationKind;
use crate::catalogue::oids;
use crate::place::{AtPlace, Place};
use crate::usage::Usage;

impl Level<'_> {
    /// Has some rows of a table read only.
    ///
    /// # Errors
    /// 42809 for what is no table, 42704 for a method that there is not, 42601 for forms that are not PostgreSQL's, and
    /// whatever is wrong with a value.
    pub(super) fn sample(&mut self, entry: usize, wanted: &TableSampleKind, table: &ObjectName) -> SqlResult<()> {
        let (TableSampleKind::BeforeTableAlias(wanted) | TableSampleKind::AfterTableAlias(wanted)) = wanted;
        let is_table = match &self.query.range[entry].source {
            RangeSource::Table { relation, .. } => relation.kind == RelationKind::Table,
            _ => false,
        };
        if !is_table {
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(SqlError::new(ErrorKind::WrongObjectType, message).at_place(Place::start(table.span())));
        }
        if let Some(TableSampleQuantity { value: Expr::Function(call), .. }) = &wanted.quantity {
            let message = format!("tablesample method {} does not exist", call.name.to_string().to_ascii_lowercase());
            return Err(SqlError::new(ErrorKind::UndefinedObject, message).at_place(Place::start(call.name.span())));
        }
        let method = match wanted.name {
            Some(TableSampleMethod::Bernoulli) => SampleMethod::Bernoulli,
            Some(TableSampleMethod::System) => SampleMethod::System,
            Some(TableSampleMethod::Row | TableSampleMethod::Block) | None => return Err(no_such_form(wanted)),
        };
        let (Some(TableSampleQuantity { value, unit: None, parenthesized: true }), None) =
            (&wanted.quantity, &wanted.bucket)
        else {
            return Err(no_such_form(wanted));
        };
        let percent = self.without_columns(value, Usage::FromFunction, oids::FLOAT4, "TABLESAMPLE")?;
        let seed = wanted.seed.as_ref().map(|seed| Expr::Value(seed.value.clone()));
        let bound = |seed| self.without_columns(&seed, Usage::FromFunction, oids::FLOAT8, "REPEATABLE");
        let seed = seed.map(bound).transpose()?;
        if let RangeSource::Table { sample, .. } = &mut self.query.range[entry].source {
            *sample = Some(Box::new(Sample { method, percent, seed }));
        }
        Ok(())
    }
}

fn no_such_form(wanted: &TableSample) -> Box<SqlError> {
    let error = SqlError::new(ErrorKind::Syntax, format!("syntax error at \"{wanted}\""));
    error.with_hint("Write TABLESAMPLE BERNOULLI (percent) or TABLESAMPLE SYSTEM (percent), with REPEATABLE (seed).")
}
