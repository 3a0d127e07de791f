//! What the queries of a statement that changes or locks rows are planned with: the tables that it names, and the rows that
//! parts of it hand on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use tablegate_bind::query::bound::RangeSource;
use tablegate_bind::statement::{Overriding, Syntax};
use tablegate_bind::{BoundQuery, BoundStatement, Oid, StatementBinder};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::catalogue::KnownTables;
use super::meant::MeantStatement;
use super::statement::{of_types, types_of};
use crate::aside::aside_unless;
use crate::plan::held_rows::{HeldRows, rows_as};
use crate::plan::lower::Statement;
use crate::plan::planned_query::PlannedQuery;
use crate::plan::planner::Planner;
use crate::plan::tables::{Mentions, TableEntry, Tables};
use crate::relation::Relation;

/// The tables that a statement names, and what is known of its queries.
pub(super) struct Named {
    pub mentions: Mentions,
    pub tables: Tables,
    views: HashMap<Oid, BoundQuery>,
    /// It, or a view in it, names system columns.
    names_system_columns: bool,
    /// Types of its parameters.
    pub parameters: Vec<SqlType>,
}

/// Where a part of a statement stands.
#[derive(Clone, Default)]
pub(super) struct Part {
    /// The query whose WITH it is in; `None` for the statement behind WITH.
    pub around: Option<Arc<BoundQuery>>,
    pub rows: PartRows,
}

/// Rows that parts of WITH hand on, by the numbers of the parts.
#[derive(Clone, Default)]
pub(crate) struct PartRows(HashMap<usize, Arc<dyn TableProvider>>);

impl PartRows {
    /// Adds those of a part, whose columns are these.
    ///
    /// # Errors
    /// XX000 for batches of other columns.
    pub(crate) fn add(&mut self, part: usize, schema: &SchemaRef, rows: Vec<RecordBatch>) -> SqlResult<()> {
        let field = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
        let schema = Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()));
        self.0.insert(part, rows_as(schema, rows)?);
        Ok(())
    }

    /// Whether no part has any.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::plan) fn get(&self, part: usize) -> Option<&Arc<dyn TableProvider>> {
        self.0.get(&part)
    }
}

impl Named {
    /// The tables of a statement, and what it means; `found` where that is known already.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) async fn of(
        planner: &Planner<'_>,
        (syntax, overriding): (Syntax<'_>, Overriding),
        found: Option<MeantStatement>,
        declared: &[SqlType],
    ) -> SqlResult<(Arc<Self>, BoundStatement)> {
        // What identifies a row is always asked for.
        let mut mentions = Mentions::of_statement(syntax);
        mentions.hidden = true;
        let tables = planner.tables_of(&mentions).await?;
        let (found, parameters) = match found {
            Some(found) => (found, declared.to_vec()),
            None => aside_unless(mentions.is_short(tables.width()) && tables.views().next().is_none(), || {
                let known = KnownTables::among(planner, &mentions.tables, &tables);
                let mut parameters = of_types(declared);
                let binder = StatementBinder::new(&known).with_reading(planner.reading()).with_overriding(overriding);
                let bound = binder.bind(syntax, &mut parameters)?;
                SqlResult::Ok((MeantStatement::new(bound, &known), types_of(&parameters, declared)))
            })?,
        };
        let MeantStatement { bound: statement, views, views_name_system_columns } = found;
        let names_system_columns = mentions.system_columns || views_name_system_columns;
        Ok((Arc::new(Self { mentions, tables, views, names_system_columns, parameters }), statement))
    }

    /// The table of the user's that the binder knows by this number and name.
    ///
    /// # Errors
    /// 42501 for one of the system.
    pub(super) fn relation(&self, number: Oid, name: &str) -> SqlResult<Arc<Relation>> {
        let entry = self.tables.by_number(number).filter(|entry| entry.view.is_none());
        entry.and_then(|entry| entry.relation.clone()).ok_or_else(|| {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            SqlError::new(ErrorKind::InsufficientPrivilege, message)
        })
    }

    /// Plans a query of the statement, or of a part of it; `targets` are the tables whose rows are changed or locked, if they are
    /// read from. `over` is rows that it is computed over, in the place of what it reads from.
    ///
    /// # Errors
    /// Those of planning.
    pub(super) async fn plan(
        &self,
        planner: &Planner<'_>,
        query: &BoundQuery,
        part: Option<&Part>,
        targets: &[TableEntry],
        over: Option<&HeldRows>,
    ) -> SqlResult<PlannedQuery> {
        planner.see_what_it_asks(query, &self.views).await?;
        let around = part.and_then(|part| part.around.as_deref());
        let mut read = HashSet::new();
        add_read(query, &self.views, &mut read);
        around.into_iter().for_each(|around| add_read(around, &self.views, &mut read));
        let mut tables = self.tables.among(&read);
        targets.iter().for_each(|target| tables.insert(&target.key, target.clone()));
        let (rows, tables, views) = (part.map(|part| &part.rows), &tables, &self.views);
        let statement =
            Statement { tables, views, names_system_columns: self.names_system_columns, around, rows, over };
        let is_short = self.mentions.is_short(tables.width()) && views.is_empty();
        aside_unless(is_short, || planner.planned(query, &statement, &self.parameters))
    }
}

/// Adds the numbers of the tables that a query reads from, and those inside of it.
fn add_read(query: &BoundQuery, views: &HashMap<Oid, BoundQuery>, read: &mut HashSet<Oid>) {
    for entry in &query.range {
        if let RangeSource::Table { relation, .. } = &entry.source
            && read.insert(relation.oid)
            && let Some(view) = views.get(&relation.oid)
        {
            add_read(view, views, read);
        }
    }
    query.for_each_read_query(&mut |inner| add_read(inner, views, read));
    query.sub_queries.iter().for_each(|inner| add_read(inner, views, read));
}
