//! Which tables of a query's FROM its locking clauses mean, and where PostgreSQL allows none.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, Function, GroupByExpr, Ident, JoinOperator, ObjectName, Query, Select, SelectItem, SetExpr,
    TableFactor, TableWithJoins, Visitor,
};
use tablegate_types::built_in::routines;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::newest::TargetNumber;
use crate::plan::numbered;
use crate::syntax::dialect::row_locks::{Busy, LockingClause, locking_clauses};
use crate::syntax::{LockStrength, fold, walk};

/// A table of FROM whose rows are locked.
#[derive(Debug)]
pub(super) struct Target {
    pub table: ObjectName,
    pub alias: Ident,
    pub strength: LockStrength,
    pub busy: Busy,
}

/// The tables that the query's clauses lock.
///
/// # Errors
/// 0A000 with PostgreSQL's reason where a result row does not stand for one row of the table, 42P01 for a table that is
/// not in FROM.
pub(super) fn targets(query: &Query) -> SqlResult<Vec<Target>> {
    let clauses = locking_clauses(query)?;
    let Some(first) = clauses.first() else { return Ok(Vec::new()) };
    let select = plain_select(query, first.strength)?;
    let ctes: HashSet<String> =
        query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| fold(&cte.alias.name)).collect();
    let mut sources = Vec::new();
    for from in &select.from {
        add_sources(from, false, &ctes, &mut sources);
    }
    let mut targets: Vec<Target> = Vec::new();
    for clause in &clauses {
        for source in chosen(&sources, clause)? {
            add_target(source, clause, &mut targets)?;
        }
    }
    Ok(targets)
}

/// Gives the table of FROM with this alias its number.
pub(super) fn number(from: &mut [TableWithJoins], alias: &Ident, number: TargetNumber) {
    for table in from {
        let joined = table.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut table.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, .. } => {
                    self::number(std::slice::from_mut(table_with_joins), alias, number);
                }
                TableFactor::Table { name, alias: given, args: None, .. } => {
                    let known_as = given.as_ref().map(|given| &given.name);
                    let known_as = known_as.or_else(|| name.0.last().and_then(|part| part.as_ident())).map(fold);
                    if known_as == Some(fold(alias)) {
                        *factor = numbered(factor, alias, number);
                    }
                }
                _ => {}
            }
        }
    }
}

/// One item of FROM.
struct Source<'q> {
    alias: Ident,
    kind: SourceKind<'q>,
    /// On the side of an outer join that may be missing.
    nullable: bool,
}

enum SourceKind<'q> {
    Table(&'q ObjectName),
    SubQuery,
    /// What there are no rows of to lock, as PostgreSQL calls it.
    Other(&'static str),
}

fn refused(what: impl std::fmt::Display) -> Box<SqlError> {
    SqlError::new(ErrorKind::FeatureNotSupported, what.to_string())
}

/// The one SELECT of the query, when its rows are rows of its tables.
fn plain_select(query: &Query, strength: LockStrength) -> SqlResult<&Select> {
    let not_with = |what: &str| refused(format!("{} is not allowed with {what}", strength.words()));
    let select = match &*query.body {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { .. } => return Err(not_with("UNION/INTERSECT/EXCEPT")),
        SetExpr::Values(_) => return Err(refused(format!("{} cannot be applied to VALUES", strength.words()))),
        other => return Err(SqlError::not_supported(format!("{} of {other}", strength.words()))),
    };
    if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
        return Err(not_with("DISTINCT clause"));
    }
    if !matches!(&select.group_by, GroupByExpr::Expressions(list, modifiers) if list.is_empty() && modifiers.is_empty())
    {
        return Err(not_with("GROUP BY clause"));
    }
    if select.having.is_some() {
        return Err(not_with("HAVING clause"));
    }
    for item in &select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
            && let Some(what) = folding_function(expr)
        {
            return Err(not_with(what));
        }
    }
    if query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties) {
        return Err(SqlError::new(ErrorKind::Syntax, "SKIP LOCKED and WITH TIES options cannot be used together"));
    }
    Ok(select)
}

/// What kind of function in a select list makes one row of several, or several of one.
fn folding_function(expr: &Expr) -> Option<&'static str> {
    let mut finder = FunctionFinder { depth: 0 };
    match walk(expr, &mut finder) {
        ControlFlow::Break(what) => Some(what),
        ControlFlow::Continue(()) => None,
    }
}

struct FunctionFinder {
    depth: usize,
}

impl FunctionFinder {
    fn kind(&self, function: &Function) -> Option<&'static str> {
        let name = function.name.0.last()?.as_ident().map(fold)?;
        if function.over.is_some() {
            return Some("window functions");
        }
        match name.as_str() {
            name if routines::gives_rows(name) => Some("set-returning functions in the target list"),
            name if routines::is_aggregate(name) => Some("aggregate functions"),
            _ => None,
        }
    }
}

impl Visitor for FunctionFinder {
    type Break = &'static str;

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Function(function) if self.depth == 0 => match self.kind(function) {
                Some(what) => ControlFlow::Break(what),
                None => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

fn add_sources<'q>(from: &'q TableWithJoins, nullable: bool, ctes: &HashSet<String>, sources: &mut Vec<Source<'q>>) {
    let begin = sources.len();
    add_source(&from.relation, nullable, ctes, sources);
    for join in &from.joins {
        let (left_nullable, right_nullable) = match &join.join_operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
            JoinOperator::FullOuter(_) => (true, true),
            _ => (false, false),
        };
        for source in &mut sources[begin..] {
            source.nullable |= left_nullable;
        }
        add_source(&join.relation, nullable || right_nullable, ctes, sources);
    }
}

fn add_source<'q>(factor: &'q TableFactor, nullable: bool, ctes: &HashSet<String>, sources: &mut Vec<Source<'q>>) {
    let (alias, kind) = match factor {
        TableFactor::Table { name, alias, args, .. } => {
            let own = name.0.last().and_then(|part| part.as_ident()).cloned().unwrap_or_else(|| Ident::new(""));
            let is_cte = name.0.len() == 1 && ctes.contains(&fold(&own));
            let kind = match (args, is_cte) {
                (Some(_), _) => SourceKind::Other("a function"),
                (None, true) => SourceKind::Other("a WITH query"),
                (None, false) => SourceKind::Table(name),
            };
            (alias.as_ref().map_or(own, |alias| alias.name.clone()), kind)
        }
        TableFactor::Derived { subquery, alias, .. } => {
            let kind = match &*subquery.body {
                SetExpr::Values(_) => SourceKind::Other("VALUES"),
                _ => SourceKind::SubQuery,
            };
            (alias.as_ref().map_or_else(|| Ident::new(""), |alias| alias.name.clone()), kind)
        }
        TableFactor::NestedJoin { table_with_joins, .. } => {
            return add_sources(table_with_joins, nullable, ctes, sources);
        }
        _ => (Ident::new(""), SourceKind::Other("a function")),
    };
    sources.push(Source { alias, kind, nullable });
}

/// The items of FROM that a clause means: those it names, else all that have rows to lock.
fn chosen<'s, 'q>(sources: &'s [Source<'q>], clause: &LockingClause) -> SqlResult<Vec<&'s Source<'q>>> {
    if clause.tables.is_empty() {
        return Ok(sources.iter().filter(|source| !matches!(source.kind, SourceKind::Other(_))).collect());
    }
    let named = |table: &Ident| {
        sources.iter().find(|source| fold(&source.alias) == fold(table)).ok_or_else(|| {
            let message =
                format!("relation \"{}\" in {} clause not found in FROM clause", fold(table), clause.strength.words());
            SqlError::new(ErrorKind::UndefinedTable, message)
        })
    };
    clause.tables.iter().map(named).collect()
}

/// A table that several clauses mean is locked as the strongest one says, and waited for as the least patient one does.
fn add_target(source: &Source<'_>, clause: &LockingClause, targets: &mut Vec<Target>) -> SqlResult<()> {
    let words = clause.strength.words();
    let table = match source.kind {
        SourceKind::Table(table) => table,
        SourceKind::Other(what) => return Err(refused(format!("{words} cannot be applied to {what}"))),
        SourceKind::SubQuery => {
            return Err(SqlError::not_supported(format!("{words} of a sub-query in FROM"))
                .with_hint("Write the locking clause inside of the sub-query."));
        }
    };
    if source.nullable {
        return Err(refused(format!("{words} cannot be applied to the nullable side of an outer join")));
    }
    match targets.iter_mut().find(|target| fold(&target.alias) == fold(&source.alias)) {
        Some(target) => {
            target.strength = target.strength.max(clause.strength);
            target.busy = target.busy.max(clause.busy);
        }
        None => targets.push(Target {
            table: table.clone(),
            alias: source.alias.clone(),
            strength: clause.strength,
            busy: clause.busy,
        }),
    }
    Ok(())
}
