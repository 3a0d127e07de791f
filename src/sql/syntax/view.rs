//! CREATE VIEW as data.

use sqlparser::ast;
use tablegate_bind::{ParsedQuery, QualifiedName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::definition::{TableOption, TableOptions};
use crate::syntax::fold;

#[derive(Debug, Clone)]
pub(crate) struct CreateViewCommand {
    pub name: QualifiedName,
    pub temporary: bool,
    pub or_replace: bool,
    /// Names for the first of its columns.
    pub columns: Vec<String>,
    pub query: ParsedQuery,
    /// What is wrong with its clauses, which is told when the command runs.
    pub clauses: SqlResult<()>,
}

impl CreateViewCommand {
    pub(super) fn of(create: ast::CreateView) -> Self {
        Self {
            clauses: check_clauses(&create),
            name: create.name.into(),
            temporary: create.temporary,
            or_replace: create.or_replace,
            columns: create.columns.iter().map(|column| fold(&column.name)).collect(),
            query: (*create.query).into(),
        }
    }
}

fn check_clauses(create: &ast::CreateView) -> SqlResult<()> {
    if create.materialized {
        return Err(SqlError::not_supported("CREATE MATERIALIZED VIEW")
            .with_hint("Use CREATE VIEW, or CREATE TABLE ... AS and fill it again when it is to be refreshed."));
    }
    if !says_what_holds(&TableOptions::of(create.options.clone())) {
        return Err(SqlError::not_supported(format!("CREATE VIEW ... {}", create.options))
            .with_hint("Leave the options out. Whoever may read a view need not have rights on its tables."));
    }
    let foreign = create.or_alter || create.secure || create.if_not_exists || create.copy_grants;
    if foreign || create.to.is_some() || create.params.is_some() || !create.cluster_by.is_empty() {
        return Err(SqlError::new(ErrorKind::Syntax, "syntax error in CREATE VIEW"));
    }
    Ok(())
}

/// Whether the options of a view are what it has without them.
fn says_what_holds(options: &TableOptions) -> bool {
    let is_off = |option: &TableOption| match option {
        TableOption::Given { name, written, .. } => {
            matches!(name.as_str(), "security_barrier" | "security_invoker")
                && matches!(written.trim_matches('\'').to_lowercase().as_str(), "false" | "off" | "no" | "0")
        }
        TableOption::Other(_) => false,
    };
    match options {
        TableOptions::With(options) => options.iter().all(is_off),
        TableOptions::Other(_) => false,
    }
}
