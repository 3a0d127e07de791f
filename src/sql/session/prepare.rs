//! Planning a statement, and knowing later whether the plan still holds.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tablegate_bind::ParsedQuery;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use super::locking::LockingStatement;
use super::statements::NamedStatements;
use crate::cursor::Cursors;
use crate::dml::{PreparedDml, RowsOfParameters};
use crate::locking::LockingQuery;
use crate::observe::SeenStatement;
use crate::outcome::ResultColumn;
use crate::plan::{CurrentIn, Meaning, Meant, PlannedQuery, Planner, is_declared};
use crate::relation::Relation;
use crate::settings::Settings;
use crate::statistics::normalized;
use crate::syntax::{Command, ConstantRows, CursorCommand, ParameterRows, Statement, locks_rows};

/// A planned statement.
pub struct Prepared {
    pub parameters: Vec<SqlType>,
    /// `None` when it returns no rows.
    pub columns: Option<Arc<[ResultColumn]>>,
    /// Its rows go out in the binary format, whatever the client asks for: those of a binary cursor.
    pub is_binary: bool,
    pub(super) statement: Statement,
    pub(super) plan: Plan,
    pub(super) declared: Vec<SqlType>,
    /// The session's when it was planned.
    style: Style,
    /// The same statement as it was planned last, if it ran in a session of another style, or in another state of the catalogue.
    renewed: Mutex<Option<Arc<Prepared>>>,
    /// Without constants, made when it first runs.
    normalized: OnceLock<Arc<str>>,
    /// Where its change was found to be current.
    pub(super) current_in: CurrentIn,
    /// Its statement is one of a row of parameters, in whose place it has rows of its text.
    has_rows: bool,
    /// Made when observe mode asks first.
    seen: OnceLock<Arc<SeenStatement>>,
}

/// What was planned ahead.
pub(super) enum Plan {
    Query(Box<PlannedQuery>),
    Dml(Box<PreparedDml>),
    /// A query with a locking clause.
    Locking(Box<LockingQuery>),
    /// A statement with locking sub-queries.
    LockingStatement(Box<LockingStatement>),
    /// The query of a DECLARE.
    Declare(Box<Prepared>),
    /// Decided when it runs.
    Utility,
}

/// What of a session a statement can name.
pub(super) struct Known<'s> {
    pub settings: &'s Settings,
    pub cursors: &'s Cursors,
    pub statements: &'s NamedStatements,
}

impl Plan {
    /// Whether clients know it by the same parameters and columns.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        self.shape() == other.shape()
    }

    /// Whether it is the same as long as the catalogue is: it has no columns that are observed, and nothing of the catalogue in it.
    pub(super) fn lasts(&self) -> bool {
        let lasts = |query: &PlannedQuery| !query.reads_system_catalog && query.relations.iter().all(is_declared);
        match self {
            Plan::Query(query) => lasts(query),
            Plan::Dml(dml) => dml.targets().into_iter().all(is_declared) && dml.inputs().into_iter().all(lasts),
            Plan::Locking(query) => lasts(query.input()),
            Plan::LockingStatement(_) | Plan::Declare(_) | Plan::Utility => false,
        }
    }

    /// The tables that it reads and writes, as it was planned; of what is decided when it runs none.
    pub(super) fn relations(&self) -> Vec<&Arc<Relation>> {
        match self {
            Plan::Query(query) => query.relations.iter().collect(),
            Plan::Dml(dml) => {
                let read = dml.inputs().into_iter().flat_map(|input| &input.relations);
                dml.targets().into_iter().chain(read).collect()
            }
            Plan::Locking(query) => query.input().relations.iter().collect(),
            Plan::LockingStatement(statement) => statement.plan.relations(),
            Plan::Declare(query) => query.plan.relations(),
            Plan::Utility => Vec::new(),
        }
    }

    /// Its parameters and the columns of its result.
    fn shape(&self) -> (Vec<SqlType>, Option<Arc<[ResultColumn]>>) {
        match self {
            Plan::Query(query) => (query.parameters.clone(), Some(query.columns.clone())),
            Plan::Dml(dml) => (dml.parameters().to_vec(), dml.columns()),
            Plan::Locking(query) => (query.parameters().to_vec(), Some(query.columns.clone())),
            Plan::LockingStatement(statement) => {
                let (_, columns) = statement.plan.shape();
                (statement.declared.iter().map(known_type).collect(), columns)
            }
            Plan::Declare(query) => (query.parameters.clone(), None),
            Plan::Utility => (Vec::new(), None),
        }
    }
}

/// The type of a parameter of which nothing else tells.
fn known_type(declared: &SqlType) -> SqlType {
    if *declared == SqlType::Unknown { SqlType::Text } else { declared.clone() }
}

impl Prepared {
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        statement: Statement,
        declared: &[SqlType],
        known: &Known<'_>,
    ) -> SqlResult<Self> {
        let mut types = declared.to_vec();
        let plan = match &statement.command {
            Command::Cursor(CursorCommand::Declare(declare)) => {
                let query = Self::prepare(planner, declare.query.clone(), declared, known);
                Plan::Declare(Box::new(Box::pin(query).await?))
            }
            _ => {
                let (plan, found) = plan(planner, &statement, declared).await?;
                types = found;
                plan
            }
        };
        let mut is_binary = false;
        let (parameters, columns) = match &plan {
            Plan::Query(_) | Plan::Dml(_) | Plan::Locking(_) | Plan::LockingStatement(_) | Plan::Declare(_) => {
                plan.shape()
            }
            Plan::Utility => match &statement.command {
                Command::Explain(explain) => {
                    let parameters = match &explain.inner.command {
                        Command::CreateTableAs(create) => planner.plan(&create.query, declared).await?.parameters,
                        _ => Box::pin(self::plan(planner, &explain.inner, declared)).await?.0.shape().0,
                    };
                    (parameters, Some(super::explain::columns(explain)?))
                }
                Command::SetConfig(_) => (Vec::new(), Some([super::set_config::column()].into())),
                Command::Show(name) => (Vec::new(), Some(super::show::columns(name, known.settings)?)),
                Command::Cursor(CursorCommand::Fetch(fetch)) if !fetch.moves => {
                    let cursor = known.cursors.get(&fetch.name)?;
                    is_binary = cursor.binary;
                    (Vec::new(), Some(cursor.columns.clone()))
                }
                Command::Execute(execute) => (Vec::new(), known.statements.planned(&execute.name)?.columns.clone()),
                Command::CreateTableAs(create) => (planner.plan(&create.query, declared).await?.parameters, None),
                // That there are none is told when it runs.
                _ => (declared.iter().map(known_type).collect(), None),
            },
        };
        Ok(Self {
            parameters,
            columns,
            is_binary,
            statement,
            plan,
            declared: types,
            style: planner.style(),
            renewed: Mutex::default(),
            normalized: OnceLock::new(),
            current_in: CurrentIn::default(),
            has_rows: false,
            seen: OnceLock::new(),
        })
    }

    /// An INSERT of one row of parameters, for these rows of a text; `None` where it does not take them. It holds what is held for
    /// them.
    pub(super) fn with_constants(
        &self,
        rows: &ConstantRows<'_>,
        text: &str,
        reading: Reading,
        held: Arc<dyn Any + Send + Sync>,
    ) -> Option<Self> {
        let Plan::Dml(dml) = &self.plan else { return None };
        let plan = Plan::Dml(Box::new(dml.with_constants(rows, reading)?));
        Some(self.with_rows(plan, (text, &rows.shortened()), held))
    }

    /// INSERTs of one row of parameters, for these rows of a text; `None` where they do not take them.
    pub(super) fn with_parameters(
        plans: &[Arc<Self>],
        planner: &Planner<'_>,
        rows: &ParameterRows<'_>,
        types: &RowsOfParameters<'_>,
        (text, held): (&str, Arc<dyn Any + Send + Sync>),
    ) -> Option<Self> {
        let changes = plans.iter().map(|prepared| match &prepared.plan {
            Plan::Dml(dml) => Some(&**dml),
            _ => None,
        });
        let changes = changes.collect::<Option<Vec<_>>>()?;
        let plan = Plan::Dml(Box::new(PreparedDml::with_parameters(&changes, planner, types)?));
        Some(plans.first()?.with_rows(plan, (text, &rows.shortened()), held))
    }

    /// The same statement with a plan for other rows, as a text says it, and another one that is like it and has few of them.
    fn with_rows(&self, plan: Plan, (text, shortened): (&str, &str), held: Arc<dyn Any + Send + Sync>) -> Self {
        let (parameters, _) = plan.shape();
        Self {
            declared: parameters.clone(),
            parameters,
            columns: self.columns.clone(),
            is_binary: self.is_binary,
            statement: self.statement.told_as(text, held),
            plan,
            style: self.style,
            renewed: Mutex::default(),
            normalized: OnceLock::new(),
            current_in: CurrentIn::default(),
            has_rows: true,
            seen: OnceLock::from(Arc::new(SeenStatement::with_shape_of(text, shortened))),
        }
    }

    /// Whether its plan means the same in a session of this style.
    pub(super) fn is_of_style(&self, style: Style) -> bool {
        self.style == style || matches!(self.plan, Plan::Utility)
    }

    /// The statement as it was planned last, after it was prepared, for this style.
    pub(super) fn renewed(&self, style: Style) -> Option<Arc<Prepared>> {
        let renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        renewed.clone().filter(|renewed| renewed.style == style)
    }

    /// Keeps it for the next run.
    pub(super) fn keep_renewed(&self, renewed: Arc<Prepared>) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(renewed);
    }

    /// Whether nothing that its plan is made of has changed before this version of the catalogue, as far as that was looked at.
    /// Plans that are looked at, or made, in each run are never found to be out of date.
    pub(super) fn is_known_current(&self, version: u64) -> bool {
        match &self.plan {
            Plan::Query(query) => query.is_known_current_in(version) || !self.plan.lasts(),
            Plan::Dml(_) => self.current_in.is(version) || !self.plan.lasts(),
            Plan::Locking(_) | Plan::LockingStatement(_) | Plan::Declare(_) | Plan::Utility => true,
        }
    }

    /// Looks at that. [`Prepared::is_known_current`] knows it then.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    pub(super) async fn is_current(&self, planner: &Planner<'_>) -> SqlResult<bool> {
        match &self.plan {
            Plan::Query(query) => planner.is_current(query).await,
            Plan::Dml(dml) => super::change::is_current(dml, planner, Some(&self.current_in)).await,
            Plan::Locking(_) | Plan::LockingStatement(_) | Plan::Declare(_) | Plan::Utility => Ok(true),
        }
    }

    /// Whether it reads and does nothing else: a portal of it is a cursor.
    pub fn is_query(&self) -> bool {
        matches!(self.plan, Plan::Query(_))
    }

    pub(super) fn is_insert(&self) -> bool {
        matches!(self.statement.command, Command::Insert(_))
    }

    /// The statement as observe mode remembers it.
    pub(super) fn seen(&self) -> Arc<SeenStatement> {
        self.seen.get_or_init(|| Arc::new(SeenStatement::new(&self.statement.text))).clone()
    }

    /// The statement without its constants.
    pub(super) fn normalized(&self) -> Arc<str> {
        self.normalized.get_or_init(|| normalized(&self.statement.text).into()).clone()
    }

    /// Counts it as another statement is counted, which differs in constants only.
    pub(super) fn count_as(&self, text: &str) {
        let _ = self.normalized.set(normalized(text).into());
    }

    /// The statement as the client wrote it.
    pub fn text(&self) -> &str {
        &self.statement.text
    }

    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// The statement, with all of its rows, unless [`Prepared::statement`] is that already.
    pub(super) fn text_with_rows(&self) -> Option<&str> {
        self.has_rows.then_some(&*self.statement.text)
    }

    /// Whether what it means is decided when it runs.
    pub(super) fn is_decided_when_it_runs(&self) -> bool {
        matches!(self.plan, Plan::Utility)
    }
}

/// Plans what can be planned before it runs; the types of its parameters too, as far as they are known.
///
/// # Errors
/// What is wrong with the statement, and those of planning.
pub(super) async fn plan(
    planner: &Planner<'_>,
    statement: &Statement,
    declared: &[SqlType],
) -> SqlResult<(Plan, Vec<SqlType>)> {
    let mut meaning = Box::pin(Meaning::of_planned(planner, statement, declared)).await;
    let types = meaning.parameters(declared).to_vec();
    let planned = plan_meant(planner, &statement.command, &types, meaning.take()).await;
    let meaning = match (&planned, meaning) {
        (Err(_), Meaning::Unknown) => Box::pin(Meaning::of(planner, statement, declared)).await,
        (_, meaning) => meaning,
    };
    Ok((meaning.judge(planned)?, types))
}

/// Plans a command; `meant` is what it means, where that is known.
///
/// # Errors
/// Those of planning.
pub(super) async fn plan_meant(
    planner: &Planner<'_>,
    command: &Command,
    declared: &[SqlType],
    meant: Option<Meant>,
) -> SqlResult<Plan> {
    let meant = match meant {
        None => None,
        Some(meant) => match LockingStatement::prepare(planner, command, meant, declared).await? {
            Ok(statement) => return Ok(Plan::LockingStatement(Box::new(statement))),
            Err(meant) => Some(meant),
        },
    };
    let (query, change) = match meant {
        Some(Meant::Query(query)) => (Some(query), None),
        Some(Meant::Change(change)) => (None, Some(*change)),
        None => (None, None),
    };
    if let Some(dml) = PreparedDml::prepare(planner, command, change, declared).await? {
        return Ok(Plan::Dml(Box::new(dml)));
    }
    let locks = |text: &ParsedQuery| match &query {
        Some(meant) => !meant.bound.row_marks.is_empty(),
        None => locks_rows(text),
    };
    Ok(match command {
        Command::Query(text) if locks(text) => {
            let meant = query.map(|meant| *meant);
            Plan::Locking(Box::new(LockingQuery::prepare(planner, command, meant, declared).await?))
        }
        Command::Query(text) => Plan::Query(Box::new(match query {
            Some(meant) => planner.plan_meant(text, declared, &meant).await?,
            None => planner.plan(text, declared).await?,
        })),
        _ => Plan::Utility,
    })
}
