//! Hands queries to DataFusion: its SQL planner sees only the tables and functions given here.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{ParamValues, ScalarValue, TableReference, plan_datafusion_err};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::{AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Statement};
use futures::StreamExt;

use super::around::Around;
use super::assigned::{Receiver, check_constants, check_types};
use super::names::Source;
use super::tables::{Mentions, TableEntry, Tables, schema_and_table};
use super::views::ViewQueries;
use super::{changes, earliest, edm_types, frames, in_turn, multisets, names, origins, row_value, unnest};
use crate::sql::catalog::View;
use crate::sql::engine::Engine;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::expr::{self, Parameters};
use crate::sql::functions;
use crate::sql::outcome::{ResultColumn, RowStream};
use crate::sql::pg_catalog::{CatalogSnapshot, SystemCatalog, table_row};
use crate::sql::reads::Reads;
use crate::sql::relation::Relation;
use crate::sql::scan::RelationProvider;
use crate::sql::sequence::{self, values_as_selects};
use crate::sql::style::{Reading, Style};
use crate::sql::types::SqlType;
use crate::table::Promises;

/// A query that was planned once and can be run with other parameters and on later snapshots.
pub(crate) struct PlannedQuery {
    pub plan: LogicalPlan,
    /// Type of each parameter, `$1` first.
    pub parameters: Vec<SqlType>,
    /// The numbers of those that the query itself names.
    named: Vec<usize>,
    pub columns: Arc<[ResultColumn]>,
    /// The relations it was planned with: it stays valid while they keep their shape.
    pub relations: Vec<Arc<Relation>>,
    /// The views whose queries became part of it.
    pub views: Vec<Arc<View>>,
    /// Reads system relations, whose content is part of the plan.
    pub reads_system_catalog: bool,
    /// What its columns are assigned to.
    receivers: Vec<Receiver>,
    /// The style of the session it was planned in.
    style: Style,
}

impl PlannedQuery {
    /// The query, whose columns are assigned to these of a table.
    ///
    /// # Errors
    /// 42804 for a type that is not assigned to the column's, and what the column's type says of a literal without one.
    pub fn assigned_to(self, receivers: Vec<Receiver>) -> SqlResult<Self> {
        check_types(&self.plan, &receivers, self.style)?;
        Ok(Self { receivers, ..self })
    }

    /// Takes over the types of the parameters that the query names, where they were not known before.
    pub fn learn(&self, known: &mut Vec<SqlType>) {
        for index in self.named.iter().filter_map(|number| number.checked_sub(1)) {
            let Some(found) = self.parameters.get(index) else { continue };
            if known.len() <= index {
                known.resize(index + 1, SqlType::Unknown);
            }
            if known[index] == SqlType::Unknown {
                known[index] = found.clone();
            }
        }
    }
}

/// Plans one statement of one session.
#[derive(Clone)]
pub(crate) struct Planner<'a> {
    pub engine: &'a Engine,
    pub reads: Arc<Reads>,
    pub system: SystemCatalog,
    around: Around,
    /// Tables that are known by these names before any others.
    given: Tables,
    /// What it plans is kept for later: nobody knows what time it is then.
    is_kept: bool,
    /// Literals mean what they mean to every session: they are those of a declaration.
    is_plain: bool,
}

impl<'a> Planner<'a> {
    pub fn new(engine: &'a Engine, reads: Arc<Reads>, system: SystemCatalog) -> Self {
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
    pub fn within(&self, around: Around) -> Self {
        Self { around, ..self.clone() }
    }

    /// The same, for expressions that are kept: words like `now` in literals are refused.
    pub fn for_later(&self) -> Self {
        Self { is_kept: true, ..self.clone() }
    }

    /// The same, for expressions that were kept: their literals are read in the plain style.
    pub fn of_kept(&self) -> Self {
        Self { is_plain: !self.is_kept, ..self.clone() }
    }

    /// The same planner with these tables before any others.
    pub fn with(&self, given: Tables) -> Self {
        Self { given, ..self.clone() }
    }
}

impl Planner<'_> {
    /// Plans a query; `declared` are the parameter types the client gave, `Unknown` where it left them open.
    ///
    /// # Errors
    /// Whatever is wrong with the query: names, types, what DataFusion does not do.
    pub async fn plan(&self, query: &Query, declared: &[SqlType]) -> SqlResult<PlannedQuery> {
        self.plan_with(query, &Tables::default(), declared).await
    }

    /// Plans a query that finds some of its tables in memory.
    ///
    /// # Errors
    /// As [`Planner::plan`].
    pub async fn plan_with(&self, query: &Query, given: &Tables, declared: &[SqlType]) -> SqlResult<PlannedQuery> {
        let query = self.around.over(query)?;
        let query = self.system.with_relations(&query);
        let mentions = Mentions::of(&query);
        if let Some(clause) = &mentions.lock {
            return Err(SqlError::not_supported(format!("{clause} in this place"))
                .with_hint("Lock the rows in a statement of their own."));
        }
        if self.system.is_asked_by(&query) {
            self.system.see(&self.engine.catalog_snapshot(&self.reads, self.system.rights()).await?);
        }
        let tables = self.tables_with(&mentions, given).await?;
        self.plan_over(&query, &tables, declared).map_err(|error| {
            let earlier = earliest::error(&query, |beginning| self.plan_over(beginning, &tables, declared).err());
            earlier.unwrap_or(error)
        })
    }

    /// The tables of a query's FROM clause, in which another table must not be named.
    ///
    /// # Errors
    /// 42P01 for a table that there is not, or that must not be named; what else is wrong with the names in the query.
    pub async fn sources(&self, query: &Query, unreachable: &str) -> SqlResult<Vec<Source>> {
        let query = self.around.over(query)?;
        let tables = self.tables_with(&Mentions::of(&query), &Tables::default()).await?;
        names::sources(&query, &tables, self.engine.state(), unreachable)
    }

    /// How many columns a query has, as far as that can be told from its text.
    ///
    /// # Errors
    /// As [`Planner::plan`], for the tables it names.
    pub async fn width(&self, query: &Query) -> SqlResult<Option<usize>> {
        let query = self.around.over(query)?;
        let tables = self.tables_with(&Mentions::of(&query), &Tables::default()).await?;
        Ok(names::width(&query, &tables, self.engine.state()))
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
    pub fn plan_over(&self, query: &Query, tables: &Tables, declared: &[SqlType]) -> SqlResult<PlannedQuery> {
        changes::only_reads(query)?;
        let mut query = query.clone();
        self.prepare_names(&mut query)?;
        let state = self.engine.state();
        names::resolve(&mut query, tables, state)?;
        expr::lower(&mut query)?;
        let statement = Statement::Query(Box::new(query));
        let parameters_of = |given| {
            let style = self.style();
            let literal_style = if self.is_plain { Style::PLAIN } else { style };
            Parameters::new(given).of_kept(self.is_kept).in_style(style, literal_style).with_catalog(&self.system)
        };
        let found = parameters_of(declared);
        let mut plan = self.to_plan(state, tables, statement.clone(), &[], &found)?;
        let (parameters, named) = (found.types(), found.met());
        if !parameters.is_empty() {
            // Each parameter has one type wherever it stands: now that it is known, all that depends on it follows.
            plan = self.to_plan(state, tables, statement, &parameters, &parameters_of(&parameters))?;
        }
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
        })
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
    pub async fn tables_of(&self, query: &Query) -> SqlResult<Tables> {
        self.tables(&Mentions::of(query)).await
    }

    /// What the statement's texts are read with.
    pub fn reading(&self) -> Reading {
        self.reads.moments.reading()
    }

    /// The style of the session.
    pub fn style(&self) -> Style {
        self.reads.moments.style()
    }

    /// What expressions outside a plan are evaluated with in this planner's statement.
    pub fn moment(&self) -> ExecutionProps {
        self.engine.moment(&self.reads.moments)
    }

    /// The physical plan of a planned query with its parameters bound, to run on this planner's snapshot.
    ///
    /// # Errors
    /// What the optimizer refuses.
    pub async fn physical(
        &self,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<(SessionState, Arc<dyn ExecutionPlan>)> {
        let plan = self.bound(query, parameters)?;
        let state = self.engine.state_with(self.reads.clone());
        let plan = state.optimize(&plan)?;
        let physical = state.query_planner().create_physical_plan(&plan, &state).await?;
        Ok((state, in_turn::keep_order(physical)?))
    }

    /// The plan of a query with its parameters bound and its constant parts computed.
    fn bound(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<LogicalPlan> {
        let plan = if query.parameters.is_empty() {
            query.plan.clone()
        } else {
            query.plan.clone().replace_params_with_values(&ParamValues::from(parameters.to_vec()))?
        };
        let plan = if self.style() == Style::PLAIN {
            expr::folded(plan, self.engine.state().execution_props())?
        } else {
            expr::folded(plan, &self.moment())?
        };
        check_constants(&plan, &query.receivers, query.style)?;
        Ok(plan)
    }

    /// Computes the constant parts of a query that will run later, or never.
    ///
    /// # Errors
    /// What they raise.
    pub fn check(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<()> {
        if query.named.is_empty() && !expr::is_foldable(&query.plan)? {
            return check_constants(&query.plan, &query.receivers, query.style);
        }
        self.bound(query, parameters).map(|_| ())
    }

    /// Runs a planned query on this planner's snapshot. Dropping the stream stops it.
    ///
    /// # Errors
    /// What the optimizer refuses; in the stream, what the run meets.
    pub async fn run(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<RowStream> {
        let (state, physical) = self.physical(query, parameters).await?;
        let stream = execute_stream(physical, state.task_ctx())?;
        Ok(Box::pin(stream.map(|batch| batch.map_err(Into::into))))
    }

    /// Whether a planned query still means the same on this planner's snapshot.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub async fn is_current(&self, query: &PlannedQuery) -> SqlResult<bool> {
        for relation in &query.relations {
            if !self.is_unchanged(relation).await? {
                return Ok(false);
            }
        }
        let is_same = |view: &Arc<View>| self.reads.catalog.view(&view.name) == Some(view);
        Ok(!query.reads_system_catalog && query.views.iter().all(is_same))
    }

    /// Whether a relation is still the table it was, with at least the columns it had.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub async fn is_unchanged(&self, relation: &Arc<Relation>) -> SqlResult<bool> {
        let current = self.reads.relation(&relation.name).await?;
        Ok(current.is_some_and(|current| Arc::ptr_eq(&current, relation) || current.still_serves(relation)))
    }

    /// A table that is known by a name before any others.
    pub(super) fn given(&self, name: &ObjectName) -> Option<&TableEntry> {
        self.given.get(name)
    }

    /// What the tables of a query mean.
    async fn tables(&self, mentions: &Mentions) -> SqlResult<Tables> {
        let mut tables = Tables::default();
        let mut snapshot: Option<Arc<CatalogSnapshot>> = None;
        let (mentions, mut views) = ViewQueries::within(self, mentions)?;
        let mentions = &mentions;
        if views.ask_the_catalog() {
            self.system.see(&self.engine.catalog_snapshot(&self.reads, self.system.rights()).await?);
        }
        for name in &mentions.tables {
            let (schema, table) = schema_and_table(name)?;
            let used_name = super::tables::dotted_name(name);
            if let Some(given) = self.given.get(name) {
                tables.insert(&used_name, given.clone());
                continue;
            }
            if let Some(entry) = views.take(&used_name) {
                tables.insert(&used_name, entry?);
            } else if self.system.knows(schema.as_deref(), &table) {
                let snapshot = match &snapshot {
                    Some(snapshot) => snapshot.clone(),
                    None => snapshot
                        .insert(Arc::new(self.engine.catalog_snapshot(&self.reads, self.system.rights()).await?))
                        .clone(),
                };
                let snapshot = if self.system.shows_observations(schema.as_deref(), &table) {
                    let observations = self.engine.recorder().observations(&*self.reads.reader).await?;
                    Arc::new(snapshot.with_observations(observations))
                } else {
                    snapshot
                };
                if let Some(provider) = self.system.provider(schema.as_deref(), &table, &snapshot)? {
                    let key = format!("{}.{table}", schema.as_deref().unwrap_or("pg_catalog"));
                    let oid = self.system.oid(schema.as_deref(), &table);
                    tables.insert(&used_name, TableEntry { oid, ..TableEntry::of_provider(&key, provider) });
                }
            } else if let Some(relation) = self.relation(schema.as_deref(), &table).await? {
                tables.insert(&used_name, relation_entry(&relation, mentions, self.engine.store().promises()));
            } else if let Some(sequence) = self.reads.catalog.sequence(&table) {
                let provider = sequence::provider(self.system.sequences()?, &sequence).await?;
                tables.insert(&used_name, TableEntry::of_provider(&format!("public.{table}"), provider));
            }
        }
        Ok(tables)
    }

    /// A user's table by name.
    ///
    /// # Errors
    /// 3F000 for an unknown schema.
    pub async fn relation(&self, schema: Option<&str>, table: &str) -> SqlResult<Option<Arc<Relation>>> {
        match schema {
            None | Some("public") => self.reads.relation(table).await,
            // A system relation that there is not, or a function in FROM.
            Some("pg_catalog" | "information_schema") => Ok(None),
            Some(other) => Err(SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{other}\" does not exist"))),
        }
    }

    fn to_plan(
        &self,
        state: &SessionState,
        tables: &Tables,
        statement: Statement,
        parameters: &[SqlType],
        types: &Parameters<'_>,
    ) -> SqlResult<LogicalPlan> {
        let context = StatementContext::new(state, tables, &self.system);
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
        let plan = expr::type_plan(plan, types)?;
        multisets::counted(frames::in_groups(plan)?)
    }
}

fn relation_entry(relation: &Arc<Relation>, mentions: &Mentions, promises: Promises) -> TableEntry {
    let shown = match (mentions.hidden, mentions.edm_types) {
        (_, true) => Arc::new(relation.with_edm_types()),
        (true, false) => relation.clone(),
        (false, false) => Arc::new(relation.without_hidden()),
    };
    let names = |hidden| shown.columns.iter().filter(move |c| c.hidden == hidden).map(|c| c.name.clone()).collect();
    TableEntry {
        key: format!("public.{}", relation.name),
        visible: names(false),
        hidden: names(true),
        provider: Arc::new(RelationProvider::new(shown.clone(), promises)) as Arc<dyn TableProvider>,
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
            name: super::labels::shown(field.name()).to_owned(),
            sql_type: SqlType::declared_in(field),
            is_declared: SqlType::is_declared(field),
            table_oid,
            attribute,
        }
    };
    plan.schema().fields().iter().enumerate().map(column).collect()
}

/// What DataFusion's SQL planner may ask for.
struct StatementContext<'a> {
    state: &'a SessionState,
    tables: &'a Tables,
    system: &'a SystemCatalog,
    expr_planners: Vec<Arc<dyn ExprPlanner>>,
    relation_planners: [Arc<dyn RelationPlanner>; 1],
}

impl<'a> StatementContext<'a> {
    fn new(state: &'a SessionState, tables: &'a Tables, system: &'a SystemCatalog) -> Self {
        // The first that plans an expression has planned it.
        let ours: Arc<dyn ExprPlanner> = Arc::new(expr::Operations);
        let expr_planners = std::iter::once(ours).chain(state.expr_planners().iter().cloned()).collect();
        Self { state, tables, system, expr_planners, relation_planners: [Arc::new(functions::Sets)] }
    }

    fn function(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.system.function(name).or_else(|| self.state.scalar_functions().get(name).cloned())
    }

    /// Whether the name is of nothing that is called.
    fn is_no_function(&self, name: &str) -> bool {
        let rows = ["unnest", "unnest_outer"];
        self.get_aggregate_meta(name).is_none()
            && self.get_window_meta(name).is_none()
            && self.get_higher_order_meta(name).is_none()
            && !rows.contains(&name)
    }
}

impl ContextProvider for StatementContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>, DataFusionError> {
        let entry = self.tables.by_key(name.table()).ok_or_else(|| {
            let error =
                SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{}\" does not exist", name.table()));
            DataFusionError::External(error)
        })?;
        Ok(provider_as_source(entry.provider.clone()))
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> Result<Arc<dyn TableSource>, DataFusionError> {
        let function = self
            .state
            .table_functions()
            .get(name)
            .cloned()
            .ok_or_else(|| plan_datafusion_err!("table function '{name}' not found"))?;
        let arguments = datafusion::catalog::TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(arguments)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>, DataFusionError> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.expr_planners
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(expr::TypeNames))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let known = expr::find_function(name).or_else(|| row_value::function(name)).or_else(|| self.function(name));
        known.or_else(|| self.is_no_function(name).then(|| expr::missing_function(name)))
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        expr::find_aggregate(name, self.state.aggregate_functions().get(name).cloned())
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
