//! What a FROM clause brings into sight, and how many columns a query has: for those who build queries out of others.

use sqlparser::ast::{Query, Select, SelectItem, SetExpr};
use tablegate_types::error::SqlResult;

use super::Resolver;
use super::scope::{self, Scope};
use super::whole_row::wildcard_table;

/// A table of a FROM clause.
pub(crate) struct Source {
    pub alias: String,
    /// What `*` shows.
    pub visible: Vec<String>,
    pub hidden: Vec<String>,
    /// A function or the like: its columns are not known before it is planned, but for those its alias names.
    pub is_open: bool,
}

impl Source {
    fn of(source: &scope::Source) -> Self {
        let names =
            |hidden| source.columns.iter().filter(move |c| c.hidden == hidden).map(|c| c.name.clone()).collect();
        Self { alias: source.alias.clone(), visible: names(false), hidden: names(true), is_open: !source.is_complete }
    }
}

impl Resolver<'_> {
    /// The tables of a select without WITH of its own.
    pub(super) fn sources(&mut self, query: &mut Query) -> SqlResult<Vec<Source>> {
        self.in_frame(query, |resolver, query| {
            let SetExpr::Select(select) = query.body.as_mut() else { return Ok(Vec::new()) };
            let scope = resolver.from(&mut select.from)?;
            Ok(scope.sources().map(Source::of).collect())
        })
    }

    /// How many columns a query has; `None` where that depends on what is not known here.
    pub(super) fn width(&mut self, query: &mut Query) -> Option<usize> {
        let counted = self.in_frame(query, |resolver, query| Ok(resolver.body_width(&mut query.body)));
        counted.ok().flatten()
    }

    fn body_width(&mut self, body: &mut SetExpr) -> Option<usize> {
        match body {
            SetExpr::Values(values) => values.rows.first().map(|row| row.len()),
            SetExpr::Query(query) => self.width(query),
            SetExpr::SetOperation { left, .. } => self.body_width(left),
            SetExpr::Select(select) => self.list_width(select),
            _ => None,
        }
    }

    fn list_width(&mut self, select: &mut Select) -> Option<usize> {
        let is_wildcard =
            |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        if !select.projection.iter().any(is_wildcard) {
            return Some(select.projection.len());
        }
        let scope = self.from(&mut select.from).ok().filter(Scope::is_complete)?;
        select.projection.iter().map(|item| shown(item, &scope)).sum()
    }
}

/// How many columns an item of a select list stands for.
fn shown(item: &SelectItem, scope: &Scope) -> Option<usize> {
    match item {
        SelectItem::Wildcard(_) => {
            Some(scope.items.iter().flat_map(|item| &item.columns).filter(|column| !column.hidden).count())
        }
        SelectItem::QualifiedWildcard(..) => {
            let source = scope.source(&wildcard_table(item)?)?;
            Some(source.columns.iter().filter(|column| !column.hidden).count())
        }
        _ => Some(1),
    }
}
