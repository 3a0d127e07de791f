//! Plans the queries of one statement of one session: what the binder found of each, over the tables that it names.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use datafusion::common::DFSchema;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::{Expr, LogicalPlan};
use tablegate_bind::catalogue::Origin;
use tablegate_bind::query::bound::Target;
use tablegate_bind::{BoundExpr, BoundQuery, Oid, ParsedQuery};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use super::meaning::{KnownTables, MeantQuery, asks};
use super::planned_query::{CurrentIn, PlannedQuery};
use super::system::SystemRelations;
use super::tables::{Mentions, TableEntry, Tables, own_number, schema_and_table};
use super::views::ViewQueries;
use super::{list_order, lower, multisets, size, unnest};
use crate::aside::{aside, aside_unless};
use crate::catalog::{Sequence, View};
use crate::engine::Engine;
use crate::expr::{self, Parameters};
use crate::newest::{NewestRows, TargetNumber};
use crate::outcome::ResultColumn;
use crate::reads::Reads;
use crate::relation::{Relation, table_row};
use crate::scan::RelationProvider;
use crate::sequence;
use crate::syntax::{check_only_reads, dotted};

/// Stands before the number of a table whose rows are locked, in the name of its scan: no client's identifier has it.
const LOCKED: char = '\u{3}';

/// Plans one statement of one session.
#[derive(Clone)]
pub(crate) struct Planner<'a> {
    pub engine: &'a Engine,
    pub reads: Arc<Reads>,
    pub system: Arc<dyn SystemRelations>,
    /// Rows in memory that the statement reads besides.
    given: Tables,
    /// The plan is kept for later runs, so the time of the statement is not known while planning.
    is_kept: bool,
    /// Literals mean what they mean to every session: they are those of a declaration.
    is_plain: bool,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(engine: &'a Engine, reads: Arc<Reads>, system: Arc<dyn SystemRelations>) -> Self {
        Self { engine, reads, system, given: Tables::default(), is_kept: false, is_plain: false }
    }

    /// The same, for expressions that are kept: words like `now` in literals are refused.
    pub(crate) fn for_later(&self) -> Self {
        Self { is_kept: true, ..self.clone() }
    }

    /// The same, for expressions that were kept: their literals are read in the plain style.
    pub(crate) fn of_kept(&self) -> Self {
        Self { is_plain: !self.is_kept, ..self.clone() }
    }

    /// The same, to run plans once more over these rows of the tables whose rows the statement locks.
    pub(crate) fn looking_again(&self, newest: NewestRows) -> Self {
        Self { reads: Arc::new(self.reads.looking_again(newest)), ..self.clone() }
    }

    /// The same, for a statement that skips rows of these tables that others have locked.
    pub(crate) fn skipping(&self, tables: impl IntoIterator<Item = TargetNumber>) -> Self {
        Self { reads: Arc::new(self.reads.skipping(tables)), ..self.clone() }
    }

    /// The same planner with these tables before any others.
    #[must_use]
    pub(crate) fn with(self, given: Tables) -> Self {
        Self { given, ..self }
    }
}

impl Planner<'_> {
    /// Plans a query; `declared` are the parameter types the client gave, `Unknown` where it left them open.
    ///
    /// # Errors
    /// The errors of planning the query: names, types, what DataFusion does not do.
    pub(crate) async fn plan(&self, query: &ParsedQuery, declared: &[SqlType]) -> SqlResult<PlannedQuery> {
        let mentions = Self::mentioned(query)?;
        let tables = self.tables_of(&mentions).await?;
        let (meaning, types) = aside(|| self.meaning(query, &mentions, &tables, declared))?;
        let MeantQuery { bound: query, views, views_name_system_columns } = &meaning;
        self.see_what_it_asks(query, views).await?;
        let names_system_columns = mentions.system_columns || *views_name_system_columns;
        let statement = lower::Statement::of_query(&tables, views, names_system_columns);
        aside(|| self.planned(query, &statement, &types))
    }

    /// Plans a query whose meaning is known already.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub(crate) async fn plan_meant(
        &self,
        query: &ParsedQuery,
        declared: &[SqlType],
        meaning: &MeantQuery,
    ) -> SqlResult<PlannedQuery> {
        let mentions = Self::mentioned(query)?;
        let tables = self.tables_of(&mentions).await?;
        let MeantQuery { bound: query, views, views_name_system_columns } = meaning;
        self.see_what_it_asks(query, views).await?;
        let names_system_columns = mentions.system_columns || *views_name_system_columns;
        let statement = lower::Statement::of_query(&tables, views, names_system_columns);
        aside_unless(mentions.is_short(tables.width()) && views.is_empty(), || {
            self.planned(query, &statement, declared)
        })
    }

    /// Plans a query over the given tables.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub(crate) fn plan_over(
        &self,
        query: &ParsedQuery,
        tables: &Tables,
        declared: &[SqlType],
    ) -> SqlResult<PlannedQuery> {
        let mentions = Mentions::of(query);
        let (meaning, types) = self.meaning(query, &mentions, tables, declared)?;
        let MeantQuery { bound: query, views, views_name_system_columns } = &meaning;
        let names_system_columns = mentions.system_columns || *views_name_system_columns;
        self.planned(query, &lower::Statement::of_query(tables, views, names_system_columns), &types)
    }

    /// What a query mentions.
    fn mentioned(query: &ParsedQuery) -> SqlResult<Mentions> {
        check_only_reads(query)?;
        Ok(Mentions::of(query))
    }

    fn meaning(
        &self,
        query: &ParsedQuery,
        mentions: &Mentions,
        tables: &Tables,
        declared: &[SqlType],
    ) -> SqlResult<(MeantQuery, Vec<SqlType>)> {
        let known = KnownTables::among(self, &mentions.tables, tables);
        let reading = if self.is_plain { Reading::default() } else { self.reading() };
        MeantQuery::of(query, &known, reading, declared)
    }

    /// Gives the functions of the catalogue the tables that they are to know, where the query asks one.
    pub(super) async fn see_what_it_asks(&self, query: &BoundQuery, views: &HashMap<Oid, BoundQuery>) -> SqlResult<()> {
        match asks(query, views, &|function| self.system.answers(function)) {
            true => self.system.see(self.engine, &self.reads).await,
            false => Ok(()),
        }
    }

    /// The tables that a statement mentions, and those that it is given.
    pub(super) async fn tables_of(&self, mentions: &Mentions) -> SqlResult<Tables> {
        let mut tables = self.tables(mentions).await?;
        tables.extend(&self.given);
        Ok(tables)
    }

    /// The plan of what a query means in a statement.
    pub(super) fn planned(
        &self,
        query: &BoundQuery,
        statement: &lower::Statement<'_>,
        declared: &[SqlType],
    ) -> SqlResult<PlannedQuery> {
        let found = self.parameters(declared);
        let tables = statement.tables;
        let plan = lower::lowered(query, statement, (self.engine.state(), &*self.system), &found)?;
        size::check(&plan)?;
        let plan = arranged(plan)?;
        let columns = result_columns(&plan, query);
        let plan = unnest::unnest(plan)?;
        let relations: Vec<_> = tables.relations().cloned().collect();
        Ok(PlannedQuery {
            plan,
            parameters: found.types(),
            named: found.met(),
            columns,
            relations,
            views: tables.views().cloned().collect(),
            reads_system_catalog: tables.has_system_relations() || self.system.has_seen(),
            receivers: Vec::new(),
            style: self.style(),
            direct: OnceLock::new(),
            short: OnceLock::new(),
            has_run: AtomicBool::new(false),
            over_rows: OnceLock::new(),
            current_in: CurrentIn::default(),
        })
    }

    /// The parameters of a statement, of which the client gave these types.
    fn parameters<'p>(&'p self, given: &'p [SqlType]) -> Parameters<'p> {
        let style = self.style();
        let literal_style = if self.is_plain { Style::PLAIN } else { style };
        Parameters::new(given).of_kept(self.is_kept).in_style(style, literal_style).with_catalog(&*self.system)
    }

    /// An expression that is bound over these columns, as the engine computes it.
    ///
    /// # Errors
    /// 0A000 where something in it has no form of the engine's; what is wrong with its literals, and with the types of operands.
    pub(crate) fn engine_form(&self, bound: &BoundExpr, schema: &DFSchema) -> SqlResult<Expr> {
        expr::engine_form(bound, schema, &self.parameters(&[]))
    }

    /// What the statement's texts are read with.
    pub(crate) fn reading(&self) -> Reading {
        self.reads.moments.reading()
    }

    /// The style of the session.
    pub(crate) fn style(&self) -> Style {
        self.reads.moments.style()
    }

    /// What expressions outside a plan are evaluated with in this planner's statement.
    pub(crate) fn moment(&self) -> ExecutionProps {
        self.engine.moment(&self.reads.moments)
    }

    /// Whether a planned query still means the same on this planner's snapshot.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub(crate) async fn is_current(&self, query: &PlannedQuery) -> SqlResult<bool> {
        if query.is_known_current(&self.reads.catalog) {
            return Ok(true);
        }
        for relation in &query.relations {
            if !self.is_unchanged(relation).await? {
                return Ok(false);
            }
        }
        let is_current = !query.reads_system_catalog && query.views.iter().all(|view| self.has_view(view));
        if is_current {
            query.current_in.set(self.reads.catalog.version(), query.relations.iter());
        }
        Ok(is_current)
    }

    /// Whether a relation is still the table it was, with at least the columns it had, and what its bare name means.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub(crate) async fn is_unchanged(&self, relation: &Arc<Relation>) -> SqlResult<bool> {
        let name = relation.placed_name();
        if !self.reads.catalog.is_visible(&name) {
            return Ok(false);
        }
        let current = self.reads.relation(&name).await?;
        Ok(current.is_some_and(|current| Arc::ptr_eq(&current, relation) || current.still_serves(relation)))
    }

    /// Whether a relation is what its bare name means, just as it was described: a statement that was bound with it means the same.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub(crate) async fn is_same(&self, relation: &Arc<Relation>) -> SqlResult<bool> {
        let name = relation.placed_name();
        if !self.reads.catalog.is_visible(&name) {
            return Ok(false);
        }
        Ok(self.reads.relation(&name).await?.is_some_and(|current| Arc::ptr_eq(&current, relation)))
    }

    /// The same of a view.
    pub(crate) fn has_view(&self, view: &Arc<View>) -> bool {
        let name = view.placed_name();
        self.reads.catalog.view(&name) == Some(view) && self.reads.catalog.is_visible(&name)
    }

    /// What the tables of a query mean.
    async fn tables(&self, mentions: &Mentions) -> SqlResult<Tables> {
        let mut tables = Tables::default();
        let (mentions, mut views) = ViewQueries::within(self, mentions)?;
        let mentions = &mentions;
        for name in &mentions.tables {
            let (schema, table) = schema_and_table(name)?;
            let used_name = dotted(name);
            // A function may give the rows of a system relation.
            let (schema, table) = match self.system.relation_of(&table) {
                Some(relation) => (Some("pg_catalog"), relation),
                None => (schema.as_deref(), table.as_str()),
            };
            if let Some(entry) = views.take(&used_name) {
                tables.insert(&used_name, entry?);
            } else if self.system.knows(schema, table) {
                let provider = self.system.provider(self.engine, &self.reads, schema, table).await?;
                if let Some(provider) = provider {
                    let key = format!("{}.{table}", schema.unwrap_or("pg_catalog"));
                    let oid = self.system.oid(schema, table);
                    tables.insert(&used_name, TableEntry::of_provider(&key, provider).with_oid(oid));
                }
            } else if let Some(relation) = self.relation(schema, table).await? {
                tables.insert(&used_name, self.relation_entry(&relation, mentions, None)?);
            } else if let Some(sequence) = self.sequence(schema, table) {
                let provider = sequence::provider(self.system.sequences()?, &sequence).await?;
                let key = format!("{}.{table}", sequence.place.schema());
                let entry = TableEntry::of_provider(&key, provider).with_oid(Some(sequence.oid));
                tables.insert(&used_name, entry);
            }
        }
        Ok(tables)
    }

    /// A user's table as queries read it; with a number, one whose rows the statement locks.
    ///
    /// # Errors
    /// 0A000 for a table of a place without a store.
    pub(super) fn relation_entry(
        &self,
        relation: &Arc<Relation>,
        mentions: &Mentions,
        number: Option<TargetNumber>,
    ) -> SqlResult<TableEntry> {
        let shown = match (mentions.hidden, mentions.edm_types) {
            (_, true) => Arc::new(relation.with_edm_types()),
            (true, false) => relation.clone(),
            (false, false) => Arc::new(relation.without_hidden()),
        };
        let names = |hidden| shown.columns.iter().filter(move |c| c.hidden == hidden).map(|c| c.name.clone()).collect();
        let size = self.reads.readers.size_of(&relation.stored);
        let splits = self.reads.readers.splits(&relation.stored);
        let promises = self.engine.stores().at(relation.stored.place)?.promises();
        let provider = RelationProvider::new(shown.clone(), size, promises).splits(splits).locked_as(number);
        Ok(TableEntry {
            key: match number {
                None => format!("{}.{}", relation.schema_name, relation.name),
                Some(number) => format!("{}.{}{LOCKED}{}", relation.schema_name, relation.name, number.0),
            },
            visible: names(false),
            hidden: names(true),
            provider: Arc::new(provider),
            relation: Some(relation.clone()),
            oid: Some(relation.oid),
            number: if number.is_some() { own_number() } else { relation.oid },
            row_type: Some(table_row(relation)),
            view: None,
            only_value: None,
        })
    }

    /// A user's table by name.
    ///
    /// # Errors
    /// 3F000 for an unknown schema.
    pub(crate) async fn relation(&self, schema: Option<&str>, table: &str) -> SqlResult<Option<Arc<Relation>>> {
        match self.reads.catalog.named(schema, table) {
            Some(name) => self.reads.relation(&name).await,
            // A system relation that does not exist, or a function in FROM.
            None if matches!(schema, Some("pg_catalog" | "information_schema")) => Ok(None),
            None => Err(super::tables::unknown_schema(schema, table)),
        }
    }

    /// A sequence by name.
    pub(crate) fn sequence(&self, schema: Option<&str>, name: &str) -> Option<Arc<Sequence>> {
        self.reads.catalog.sequence(&self.reads.catalog.named(schema, name)?)
    }
}

/// A plan whose expressions are typed, with what PostgreSQL promises of its rows and the engine does not.
fn arranged(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    list_order::kept(multisets::counted(plan)?)
}

fn result_columns(plan: &LogicalPlan, query: &BoundQuery) -> Arc<[ResultColumn]> {
    let column = |(field, target): (&arrow::datatypes::FieldRef, &Target)| {
        let attribute = |origin: Origin| Some((origin.relation, i16::try_from(origin.column).ok()?));
        let (table_oid, attribute) = target.origin.and_then(attribute).unwrap_or_default();
        ResultColumn {
            name: target.name.clone(),
            sql_type: SqlType::declared_in(field),
            is_declared: SqlType::is_declared(field),
            table_oid,
            attribute,
        }
    };
    plan.schema().fields().iter().zip(query.results()).map(column).collect()
}
