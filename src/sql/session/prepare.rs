//! Planning a statement, and knowing later whether the plan still holds.

use std::sync::{Arc, OnceLock};

use crate::sql::dml::PreparedDml;
use crate::sql::error::SqlResult;
use crate::sql::observe::SeenStatement;
use crate::sql::outcome::ResultColumn;
use crate::sql::plan::{PlannedQuery, Planner};
use crate::sql::settings::Settings;
use crate::sql::statement::{Command, Statement};
use crate::sql::types::SqlType;

/// A planned statement.
pub struct Prepared {
    pub parameters: Vec<SqlType>,
    /// `None` when it returns no rows.
    pub columns: Option<Arc<[ResultColumn]>>,
    pub(super) statement: Statement,
    pub(super) plan: Plan,
    pub(super) declared: Vec<SqlType>,
    /// Made when observe mode asks first.
    seen: OnceLock<Arc<SeenStatement>>,
}

/// What was planned ahead.
pub(super) enum Plan {
    Query(Box<PlannedQuery>),
    Dml(Box<PreparedDml>),
    /// Decided when it runs.
    Utility,
}

impl Prepared {
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        statement: Statement,
        declared: &[SqlType],
        settings: &Settings,
    ) -> SqlResult<Self> {
        let plan = plan(planner, &statement.command, declared).await?;
        let (parameters, columns) = match &plan {
            Plan::Query(query) => (query.parameters.clone(), Some(query.columns.clone())),
            Plan::Dml(dml) => (dml.parameters(), dml.columns()),
            Plan::Utility => match &statement.command {
                Command::Explain(explain) => {
                    let inner = Box::pin(plan_parameters(planner, &explain.inner.command, declared)).await?;
                    (inner, Some(super::explain::columns(explain)?))
                }
                Command::Show(name) => (Vec::new(), Some(super::show::columns(name, settings)?)),
                _ => (Vec::new(), None),
            },
        };
        Ok(Self { parameters, columns, statement, plan, declared: declared.to_vec(), seen: OnceLock::new() })
    }

    /// The statement as observe mode remembers it.
    pub(super) fn seen(&self) -> Arc<SeenStatement> {
        self.seen.get_or_init(|| Arc::new(SeenStatement::new(&self.statement.text))).clone()
    }

    pub(super) fn statement(&self) -> &Statement {
        &self.statement
    }
}

/// Plans what can be planned before it runs.
pub(super) async fn plan(planner: &Planner<'_>, command: &Command, declared: &[SqlType]) -> SqlResult<Plan> {
    if let Some(dml) = PreparedDml::prepare(planner, command, declared).await? {
        return Ok(Plan::Dml(Box::new(dml)));
    }
    Ok(match command {
        Command::Query(query) => Plan::Query(Box::new(planner.plan(query, declared).await?)),
        _ => Plan::Utility,
    })
}

async fn plan_parameters(planner: &Planner<'_>, command: &Command, declared: &[SqlType]) -> SqlResult<Vec<SqlType>> {
    Ok(match plan(planner, command, declared).await? {
        Plan::Query(query) => query.parameters,
        Plan::Dml(dml) => dml.parameters(),
        Plan::Utility => Vec::new(),
    })
}
