//! Which columns WHEN NOT MATCHED may name: those of the source, but not those of the target, because there is no
//! target row.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, TableFactor, TableWithJoins, VisitorMut};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::dml::target::{labelled, one, select};
use crate::plan::{Planner, Source, resolve_column};
use crate::syntax::{fold, walk_mut};

/// The source of a MERGE.
pub(super) struct SourceScope {
    from: TableWithJoins,
    sources: Vec<Source>,
}

impl SourceScope {
    /// # Errors
    /// 42712 when source and target have one name, 42P01 for a source that there is not or that names the target.
    pub(super) async fn read(planner: &Planner<'_>, target: &Ident, source: &TableFactor) -> SqlResult<Self> {
        let from = TableWithJoins { relation: source.clone(), joins: Vec::new() };
        let target = fold(target);
        let alone = select(vec![one()], vec![from.clone()], None);
        let sources = planner.sources(&alone).await?;
        if sources.iter().any(|source| source.alias == target) {
            let message = format!("name \"{target}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateAlias, message)
                .with_detail("The name is used both as MERGE target table and data source."));
        }
        Ok(Self { from, sources })
    }

    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// An expression over the source alone, so written that it means the same beside the target.
    ///
    /// # Errors
    /// 42P01 and 42703 when it names the target or one of its columns.
    pub(super) async fn expression(&self, planner: &Planner<'_>, expr: &Expr) -> SqlResult<Expr> {
        let alone = select(vec![labelled(expr.clone(), 0)], vec![self.from.clone()], None);
        planner.sources(&alone).await?;
        let mut expr = expr.clone();
        match walk_mut(&mut expr, &mut Names { scope: self, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(expr),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// A bare name as the column of the source that it means.
    fn column(&self, ident: &Ident) -> SqlResult<Option<Expr>> {
        let mut found = None;
        for source in &self.sources {
            let columns = source.visible.iter().chain(&source.hidden);
            let Some(stored) = resolve_column(columns, ident)? else { continue };
            if found.is_some() {
                let message = format!("column reference \"{}\" is ambiguous", fold(ident));
                return Err(SqlError::new(ErrorKind::AmbiguousColumn, message));
            }
            let parts = vec![Ident::with_quote('"', source.alias.clone()), Ident::with_quote('"', stored)];
            found = Some(Expr::CompoundIdentifier(parts));
        }
        Ok(found)
    }
}

/// Qualifies bare names. Those in sub-queries mean columns of the sub-query first: they stay as they are.
struct Names<'s> {
    scope: &'s SourceScope,
    depth: usize,
}

impl VisitorMut for Names<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Expr::Identifier(ident) = &*expr else { return ControlFlow::Continue(()) };
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        match self.scope.column(ident) {
            Ok(Some(column)) => *expr = column,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}
