//! Hands queries to DataFusion: its SQL planner sees only the tables and functions given here.

use std::sync::{Arc, OnceLock};

use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, ParamValues, ScalarValue};
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use futures::{StreamExt, stream};
use sqlparser::ast::{ObjectName, Query, Statement};
use tablegate_bind::{BoundExpr, BoundQuery};
use tablegate_store::table::{Promises, TableSize};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt::Interrupt;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use super::around::Around;
use super::assigned::check_constants;
use super::constant::constant_row;
use super::context::StatementContext;
use super::names::Source;
use super::numbered::{number_of, with_number};
use super::planned_query::{CurrentIn, PlannedQuery};
use super::system::SystemRelations;
use super::tables::{Mentions, TableEntry, Tables, schema_and_table};
use super::views::ViewQueries;
use super::{
    changes, edm_types, frames, guarded_calls, joins, list_order, lower, multisets, names, origins, settings_in_turn,
    size, unnest,
};
use crate::apart::apart;
use crate::aside::aside;
use crate::calls::interrupt_of;
use crate::catalog::{Sequence, View};
use crate::engine::Engine;
use crate::expr::{self, Parameters};
use crate::functions;
use crate::in_turn;
use crate::newest::{NewestRows, TargetNumber};
use crate::outcome::{ResultColumn, RowStream};
use crate::reads::Reads;
use crate::relation::{Relation, table_row};
use crate::scan::{RelationProvider, batch_rows};
use crate::sequence::{self, values_as_selects};
use crate::turns;

/// A typed plan, the types of its parameters, and which of them the text names.
type TypedPlan = (LogicalPlan, Vec<SqlType>, Vec<usize>);

/// Plans one statement of one session.
#[derive(Clone)]
pub(crate) struct Planner<'a> {
    pub engine: &'a Engine,
    pub reads: Arc<Reads>,
    pub system: Arc<dyn SystemRelations>,
    around: Around,
    /// Tables that are known by these names before any others.
    given: Tables,
    /// The plan is kept for later runs, so the time of the statement is not known while planning.
    is_kept: bool,
    /// Literals mean what they mean to every session: they are those of a declaration.
    is_plain: bool,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(engine: &'a Engine, reads: Arc<Reads>, system: Arc<dyn SystemRelations>) -> Self {
        Self {
            engine,
            reads,
            system,
            around: Around::default(),
            given: Tables::default(),
            is_kept: false,
            is_plain: false,
        }
    }

    /// The same, for a part of a statement with these surroundings.
    pub(crate) fn within(&self, around: Around) -> Self {
        Self { around, ..self.clone() }
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
    pub(crate) async fn plan(&self, query: &Query, declared: &[SqlType]) -> SqlResult<PlannedQuery> {
        self.plan_bound(query, declared, None).await
    }

    /// Plans a query of which the binder may have found what it means.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub(crate) async fn plan_bound(
        &self,
        query: &Query,
        declared: &[SqlType],
        meaning: Option<&BoundQuery>,
    ) -> SqlResult<PlannedQuery> {
        self.plan_meant(query, &Tables::default(), declared, meaning).await
    }

    /// Plans a query that finds some of its tables in memory.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub(crate) async fn plan_with(
        &self,
        query: &Query,
        given: &Tables,
        declared: &[SqlType],
    ) -> SqlResult<PlannedQuery> {
        self.plan_meant(query, given, declared, None).await
    }

    async fn plan_meant(
        &self,
        query: &Query,
        given: &Tables,
        declared: &[SqlType],
        meaning: Option<&BoundQuery>,
    ) -> SqlResult<PlannedQuery> {
        let query = self.around.over(query)?;
        let query = self.system.with_relations(&query);
        let mentions = Mentions::of(&query);
        if let Some(clause) = &mentions.lock {
            return Err(SqlError::not_supported(format!("{clause} in this place"))
                .with_hint("Lock the rows in a statement of their own."));
        }
        if self.system.is_asked_by(&query) {
            self.system.see(self.engine, &self.reads).await?;
        }
        let tables = self.tables_with(&mentions, given).await?;
        aside(|| match self.lowered(meaning, &tables, declared) {
            Some(typed) => self.planned(typed, &tables),
            None => self.plan_over(&query, &tables, declared),
        })
    }

    /// The tables of a query's FROM clause, in which another table must not be named.
    ///
    /// # Errors
    /// 42P01 for a table that does not exist, or that must not be named; what else is wrong with the names in the
    /// query.
    pub(crate) async fn sources(&self, query: &Query, unreachable: &str) -> SqlResult<Vec<Source>> {
        let mut query = self.around.over(query)?.into_owned();
        let tables = self.tables_with(&Mentions::of(&query), &Tables::default()).await?;
        self.prepare_names(&mut query)?;
        names::sources(&query, &tables, unreachable)
    }

    /// How many columns a query has, as far as that can be told from its text.
    ///
    /// # Errors
    /// As [`Planner::plan`], for the tables it names.
    pub(crate) async fn width(&self, query: &Query) -> SqlResult<Option<usize>> {
        let query = self.around.over(query)?;
        let tables = self.tables_with(&Mentions::of(&query), &Tables::default()).await?;
        Ok(names::width(&query, &tables))
    }

    async fn tables_with(&self, mentions: &Mentions, given: &Tables) -> SqlResult<Tables> {
        let mut tables = self.tables(mentions).await?;
        tables.extend(self.around.rows());
        tables.extend(given);
        Ok(tables)
    }

    /// Plans a query over the given tables.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub(crate) fn plan_over(&self, query: &Query, tables: &Tables, declared: &[SqlType]) -> SqlResult<PlannedQuery> {
        changes::only_reads(query)?;
        let mut query = query.clone();
        self.prepare_names(&mut query)?;
        let refused = names::resolve(&mut query, tables)?;
        let typed = self.type_resolved(query, tables, declared);
        if let Some(ungrouped) = refused {
            return Err(typed.err().filter(|error| is_of_types(error.kind)).unwrap_or(ungrouped));
        }
        self.planned(typed?, tables)
    }

    /// The plan of what a query means; `None` where something in it has no form yet, or is wrong: then it is told by the other
    /// way what.
    fn lowered(&self, meaning: Option<&BoundQuery>, tables: &Tables, declared: &[SqlType]) -> Option<TypedPlan> {
        let found = self.parameters(declared);
        let plan = lower::lowered(meaning?, tables, &found).ok()??;
        size::check(&plan).ok()?;
        let plan = arranged(plan).ok()?;
        Some((plan, found.types(), found.met()))
    }

    fn planned(&self, (plan, parameters, named): TypedPlan, tables: &Tables) -> SqlResult<PlannedQuery> {
        let columns = result_columns(&plan, tables);
        let plan = unnest::unnest(plan)?;
        let relations: Vec<_> = tables.relations().cloned().collect();
        Ok(PlannedQuery {
            plan,
            parameters,
            named,
            columns,
            relations,
            views: tables.views().cloned().collect(),
            reads_system_catalog: tables.has_system_relations() || self.system.has_seen(),
            receivers: Vec::new(),
            style: self.style(),
            direct: OnceLock::new(),
            current_in: CurrentIn::default(),
        })
    }

    /// The plan of a query whose names are resolved, with its parameters.
    fn type_resolved(&self, mut query: Query, tables: &Tables, declared: &[SqlType]) -> SqlResult<TypedPlan> {
        let state = self.engine.state();
        settings_in_turn::asked(&mut query);
        guarded_calls::guard(&mut query);
        expr::lower(&mut query)?;
        let statement = Statement::Query(Box::new(query));
        let found = self.parameters(declared);
        let is_known = !declared.is_empty() && declared.iter().all(|given| *given != SqlType::Unknown);
        let given = if is_known { declared } else { &[] };
        let mut plan = self.to_plan(state, tables, statement.clone(), given, &found)?;
        let (parameters, named) = (found.types(), found.met());
        if is_known && parameters.len() == declared.len() {
            return Ok((plan, parameters, named));
        }
        if !parameters.is_empty() {
            // Each parameter has one type wherever it stands: now that it is known, all that depends on it follows.
            plan = self.to_plan(state, tables, statement, &parameters, &self.parameters(&parameters))?;
        }
        Ok((plan, parameters, named))
    }

    /// The parameters of a statement, of which the client gave these types.
    fn parameters<'p>(&'p self, given: &'p [SqlType]) -> Parameters<'p> {
        let style = self.style();
        let literal_style = if self.is_plain { Style::PLAIN } else { style };
        Parameters::new(given).of_kept(self.is_kept).in_style(style, literal_style).with_catalog(&*self.system)
    }

    /// An expression that is bound over these columns, as the engine computes it; `None` where something in it has no form of
    /// the engine's yet.
    ///
    /// # Errors
    /// What is wrong with its literals, and with the types of operands.
    pub(crate) fn engine_form(&self, bound: &BoundExpr, schema: &DFSchema) -> SqlResult<Option<Expr>> {
        expr::engine_form(bound, schema, &self.parameters(&[]))
    }

    /// What is done to a query before its names are resolved.
    pub(super) fn prepare_names(&self, query: &mut Query) -> SqlResult<()> {
        values_as_selects(query)?;
        self.system.rewrite(query)?;
        functions::rewrite(query)?;
        edm_types::resolve(query)
    }

    /// What the tables that a query names mean.
    ///
    /// # Errors
    /// As [`Planner::plan`], for the tables.
    pub(crate) async fn tables_of(&self, query: &Query) -> SqlResult<Tables> {
        self.tables(&Mentions::of(query)).await
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

    /// The physical plan of a planned query with its parameters bound, to run on this planner's snapshot.
    ///
    /// # Errors
    /// The errors of the optimizer.
    pub(crate) async fn physical(
        &self,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<(SessionState, Arc<dyn ExecutionPlan>)> {
        let plan = self.bound(query, parameters)?;
        let interrupt = Interrupt::default();
        let state = self.engine.state_with(self.reads.clone(), interrupt.clone());
        let optimized = async move {
            let physical = optimized(&state, plan).await?;
            Ok((state, physical))
        };
        self.engine.workers().compute(interrupt, optimized).await
    }

    /// Runs a physical plan for what its nodes count; gives the plan with the counts.
    ///
    /// # Errors
    /// Those of running the plan.
    pub(crate) async fn analyze(
        &self,
        state: &SessionState,
        physical: &Arc<dyn ExecutionPlan>,
    ) -> SqlResult<Arc<dyn ExecutionPlan>> {
        let interrupt = interrupt_of(state.config_options());
        let physical = turns::in_turns(&apart(physical)?, &interrupt)?;
        let (running, context) = (physical.clone(), context_of(state, &physical));
        let run = async move { Ok(execute_stream(running, context)?) };
        let mut rows = self.engine.workers().run(interrupt, run).await?;
        while let Some(batch) = rows.next().await {
            batch?;
        }
        Ok(physical)
    }

    /// The plan of a query with its parameters bound and its constant parts computed.
    fn bound(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<LogicalPlan> {
        let plan = if query.parameters.is_empty() {
            query.plan.clone()
        } else {
            let values = parameters.iter().enumerate();
            let types = |index| query.parameters.get(index).unwrap_or(&SqlType::Text);
            let values = values.map(|(index, value)| expr::parameter_value(value, types(index)));
            query.plan.clone().replace_params_with_values(&ParamValues::List(values.collect()))?
        };
        let plan = match (expr::is_foldable(&plan)?, self.style() == Style::PLAIN) {
            // Most plans are taken as they are.
            (false, _) => plan,
            (true, true) => aside(|| expr::folded(plan, self.engine.timeless()))?,
            (true, false) => aside(|| expr::folded(plan, &self.moment()))?,
        };
        check_constants(&plan, &query.receivers, query.style)?;
        Ok(plan)
    }

    /// Computes the constant parts of a query that will run later, or never.
    ///
    /// # Errors
    /// The errors of evaluating them.
    pub(crate) fn check(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<()> {
        if query.named.is_empty() && !expr::is_foldable(&query.plan)? {
            return check_constants(&query.plan, &query.receivers, query.style);
        }
        self.bound(query, parameters).map(|_| ())
    }

    /// Runs a planned query on this planner's snapshot. Dropping the stream stops it.
    ///
    /// # Errors
    /// The errors of the optimizer; in the stream, those of running the plan.
    pub(crate) async fn run(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<RowStream> {
        if let Some(rows) = self.read_directly(query, parameters)? {
            return Ok(rows);
        }
        let plan = self.bound(query, parameters)?;
        if let Some(row) = constant_row(&plan) {
            return Ok(Box::pin(stream::iter([Ok(row)])));
        }
        let interrupt = Interrupt::default();
        let state = self.engine.state_with(self.reads.clone(), interrupt.clone());
        let raised = interrupt.clone();
        let run = async move {
            let physical = turns::in_turns(&apart(&optimized(&state, plan).await?)?, &raised)?;
            let context = context_of(&state, &physical);
            Ok(execute_stream(physical, context)?)
        };
        self.engine.workers().run(interrupt, run).await
    }

    /// Whether a run with these parameters goes without the optimizer.
    ///
    /// # Errors
    /// Those of looking for the keys, of which none are expected.
    pub(crate) fn is_read_directly(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<bool> {
        Ok(self.read_directly(query, parameters)?.is_some())
    }

    fn read_directly(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<Option<RowStream>> {
        query.read_directly(self.engine, self.system.settings(), parameters, &self.reads)
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
        let catalog = &self.reads.catalog;
        let is_same = |view: &Arc<View>| {
            let name = view.placed_name();
            catalog.view(&name) == Some(view) && catalog.is_visible(&name)
        };
        let is_current = !query.reads_system_catalog && query.views.iter().all(is_same);
        if is_current {
            query.current_in.set(catalog.version(), query.relations.iter());
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

    /// A table that is known by a name before any others.
    pub(super) fn given(&self, name: &ObjectName) -> Option<&TableEntry> {
        self.given.get(name)
    }

    /// What the tables of a query mean.
    async fn tables(&self, mentions: &Mentions) -> SqlResult<Tables> {
        let mut tables = Tables::default();
        let (mentions, mut views) = ViewQueries::within(self, mentions)?;
        let mentions = &mentions;
        if views.ask_the_catalog() {
            self.system.see(self.engine, &self.reads).await?;
        }
        for name in &mentions.tables {
            let (schema, table) = schema_and_table(name)?;
            let (table, number) = number_of(&table);
            let used_name = super::tables::dotted_name(name);
            if let Some(given) = self.given.get(name) {
                tables.insert(&used_name, given.clone());
                continue;
            }
            if let Some(entry) = views.take(&used_name) {
                tables.insert(&used_name, entry?);
            } else if self.system.knows(schema.as_deref(), table) {
                let provider = self.system.provider(self.engine, &self.reads, schema.as_deref(), table).await?;
                if let Some(provider) = provider {
                    let key = format!("{}.{table}", schema.as_deref().unwrap_or("pg_catalog"));
                    let oid = self.system.oid(schema.as_deref(), table);
                    tables.insert(&used_name, TableEntry { oid, ..TableEntry::of_provider(&key, provider) });
                }
            } else if let Some(relation) = self.relation(schema.as_deref(), table).await? {
                let size = self.reads.readers.size_of(&relation.stored);
                let splits = self.reads.readers.splits(&relation.stored);
                let promises = self.engine.stores().at(relation.stored.place)?.promises();
                let entry = relation_entry(&relation, mentions, size, promises, splits, number);
                tables.insert(&used_name, entry);
            } else if let Some(sequence) = self.sequence(schema.as_deref(), table) {
                let provider = sequence::provider(self.system.sequences()?, &sequence).await?;
                let key = format!("{}.{table}", sequence.place.schema());
                tables.insert(&used_name, TableEntry::of_provider(&key, provider));
            }
        }
        Ok(tables)
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

    fn to_plan(
        &self,
        state: &SessionState,
        tables: &Tables,
        statement: Statement,
        parameters: &[SqlType],
        types: &Parameters<'_>,
    ) -> SqlResult<LogicalPlan> {
        let context = StatementContext::new(state, tables, &*self.system);
        let mut options = ParserOptions::from(&state.config_options().sql_parser);
        options.parse_float_as_decimal = true;
        let mut planner_context = PlannerContext::new();
        if !parameters.is_empty() {
            let field = |t: &SqlType| (*t != SqlType::Unknown).then(|| Arc::new(t.field("", true)));
            let fields = parameters.iter().map(field).collect();
            planner_context = planner_context.with_prepare_param_data_types(fields);
        }
        let planner = SqlToRel::new_with_options(&context, options);
        let plan = planner.sql_statement_to_plan_with_context(statement, &mut planner_context)?;
        size::check(&plan)?;
        arranged(expr::type_plan(plan, types)?)
    }
}

/// A plan whose expressions are typed, with what PostgreSQL promises of its rows and the engine does not.
fn arranged(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    list_order::kept(multisets::counted(frames::in_groups(plan)?)?)
}

/// The physical plan of a query.
async fn optimized(state: &SessionState, plan: LogicalPlan) -> SqlResult<Arc<dyn ExecutionPlan>> {
    let plan = state.optimize(&joins::ordered(plan)?)?;
    let physical = state.query_planner().create_physical_plan(&plan, state).await?;
    Ok(in_turn::keep_order(physical)?)
}

/// What a plan runs with: batches of so many rows that they are not too long where the rows are.
fn context_of(state: &SessionState, plan: &Arc<dyn ExecutionPlan>) -> Arc<TaskContext> {
    let context = TaskContext::from(state);
    let usual = context.session_config().batch_size();
    let rows = batch_rows(plan, usual);
    if rows == usual {
        return Arc::new(context);
    }
    let config = context.session_config().clone().with_batch_size(rows);
    Arc::new(context.with_session_config(config))
}

/// Whether an error is about functions, operators and the types of their operands.
fn is_of_types(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UndefinedFunction
            | ErrorKind::AmbiguousFunction
            | ErrorKind::DatatypeMismatch
            | ErrorKind::CannotCoerce
            | ErrorKind::InvalidTextRepresentation
    )
}

fn relation_entry(
    relation: &Arc<Relation>,
    mentions: &Mentions,
    size: Option<TableSize>,
    promises: Promises,
    splits: bool,
    number: Option<TargetNumber>,
) -> TableEntry {
    let shown = match (mentions.hidden, mentions.edm_types) {
        (_, true) => Arc::new(relation.with_edm_types()),
        (true, false) => relation.clone(),
        (false, false) => Arc::new(relation.without_hidden()),
    };
    let names = |hidden| shown.columns.iter().filter(move |c| c.hidden == hidden).map(|c| c.name.clone()).collect();
    TableEntry {
        key: with_number(&format!("{}.{}", relation.schema_name, relation.name), number),
        visible: names(false),
        hidden: names(true),
        provider: Arc::new(RelationProvider::new(shown.clone(), size, promises).splits(splits).locked_as(number))
            as Arc<dyn TableProvider>,
        relation: Some(relation.clone()),
        oid: Some(relation.oid),
        row_type: Some(table_row(relation)),
        view: None,
    }
}

fn result_columns(plan: &LogicalPlan, tables: &Tables) -> Arc<[ResultColumn]> {
    let column = |(index, field): (usize, &arrow::datatypes::FieldRef)| {
        let origin = origins::of_column(plan, index).and_then(|origin| {
            let entry = tables.by_key(origin.table)?;
            let position = entry.visible.iter().position(|name| name == origin.column)?;
            Some((entry.oid?, i16::try_from(position + 1).ok()?))
        });
        let (table_oid, attribute) = origin.unwrap_or_default();
        ResultColumn {
            name: crate::syntax::shown(field.name()).to_owned(),
            sql_type: SqlType::declared_in(field),
            is_declared: SqlType::is_declared(field),
            table_oid,
            attribute,
        }
    };
    plan.schema().fields().iter().enumerate().map(column).collect()
}
