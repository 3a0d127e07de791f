//! Queries as a whole: SELECT, VALUES, and what stands around them. PostgreSQL's `transformSelectStmt`.

use sqlparser::ast::{
    Distinct as DistinctSyntax, Expr, Fetch, LimitClause, LockClause, OrderBy, OrderByExpr, OrderByKind, Query, Select,
    SetExpr, Spanned, With,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;

use super::bound::{BoundQuery, Distinct, Target};
use super::level::{Context, Level};
use super::sort::Names;
use super::walk::add_reach;
use super::with::{WithEntry, Withs, bind_with};
use crate::binder::{Reach, ReachedLevel};
use crate::catalogue::oids::{self, Oid};
use crate::expr::BoundExpr;
use crate::parameters::Parameters;
use crate::place::{AtPlace, Place};
use crate::scope::Scope;
use crate::usage::Usage;

/// A query without the parentheses around it.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub with: Option<&'a With>,
    pub body: &'a SetExpr,
    pub order: &'a [OrderByExpr],
    pub limit: Option<&'a LimitClause>,
    pub fetch: Option<&'a Fetch>,
    pub locks: &'a [LockClause],
}

/// What a query is bound for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Purpose<'p> {
    /// Literals that have no type keep none: whoever uses the rows gives them one.
    pub keeps_unknown: bool,
    /// It may change data in its WITH.
    pub is_outermost: bool,
    /// The part of WITH that it is, if that reads its own rows.
    pub recursion: Option<&'p WithEntry>,
}

/// # Errors
/// PostgreSQL's, with their places.
pub(crate) fn bind_query(
    context: Context<'_>,
    query: &Query,
    outer: Option<&Scope<'_>>,
    withs: Option<&Withs<'_>>,
    parameters: &mut Parameters,
) -> SqlResult<BoundQuery> {
    bind_parts(context, &Parts::of(query)?, outer, withs, parameters, Purpose::default())
}

/// # Errors
/// PostgreSQL's, with their places.
pub(crate) fn bind_parts(
    context: Context<'_>,
    parts: &Parts<'_>,
    outer: Option<&Scope<'_>>,
    withs: Option<&Withs<'_>>,
    parameters: &mut Parameters,
    purpose: Purpose<'_>,
) -> SqlResult<BoundQuery> {
    deeper(|| {
        let with = bind_with(context, parts.with, (outer, withs), parameters, purpose.is_outermost)?;
        let own = with.seen(withs);
        let mut level = Level::new(context, outer, &own);
        level.parameters = std::mem::take(parameters);
        let done = level.body(parts, purpose);
        *parameters = std::mem::take(&mut level.parameters);
        done?;
        let mut query = level.query;
        query.has_aggregates = level.namespace.has_aggregates.get();
        query.with = with.bound();
        query.is_with_recursive = parts.with.is_some_and(|with| with.recursive);
        query.reach = query.found_reach();
        Ok(query)
    })
}

impl<'a> Parts<'a> {
    /// # Errors
    /// 42601 for clauses that are said twice, inside of parentheses and behind them.
    pub(crate) fn of(query: &'a Query) -> SqlResult<Self> {
        let mut parts = Self::plain(&query.body);
        parts.add(query)?;
        while let SetExpr::Query(inner) = parts.body {
            parts.body = &inner.body;
            parts.add(inner)?;
        }
        Ok(parts)
    }

    pub(crate) fn plain(body: &'a SetExpr) -> Self {
        Self { with: None, body, order: &[], limit: None, fetch: None, locks: &[] }
    }

    fn add(&mut self, query: &'a Query) -> SqlResult<()> {
        let twice = |clause: &str| SqlError::new(ErrorKind::Syntax, format!("multiple {clause} clauses not allowed"));
        let order = match query.order_by.as_ref() {
            None => &[][..],
            Some(OrderBy { kind: OrderByKind::Expressions(keys), interpolate: None }) => keys,
            Some(_) => return Err(SqlError::not_supported("this form of ORDER BY")),
        };
        if !order.is_empty() {
            if let Some(key) = self.order.first() {
                return Err(twice("ORDER BY").at_place(Place::start(key.span())));
            }
            self.order = order;
        }
        for (own, next) in
            [(self.limit.is_some(), query.limit_clause.is_some()), (self.fetch.is_some(), query.fetch.is_some())]
        {
            if own && next {
                let place = self.limit.map_or(Place::NOWHERE, |limit| Place::start(limit.span()));
                return Err(twice("LIMIT").at_place(place));
            }
        }
        if let (Some(with), Some(_)) = (self.with, &query.with) {
            return Err(twice("WITH").at_place(Place::start(with.with_token.0.span)));
        }
        self.with = self.with.or(query.with.as_ref());
        self.limit = self.limit.or(query.limit_clause.as_ref());
        self.fetch = self.fetch.or(query.fetch.as_ref());
        if !query.locks.is_empty() {
            self.locks = &query.locks;
        }
        if query.for_clause.is_some() || query.settings.is_some() || !query.pipe_operators.is_empty() {
            return Err(SqlError::not_supported("this clause of a query"));
        }
        Ok(())
    }

    /// Whether nothing stands around the body.
    pub(crate) fn is_plain(&self) -> bool {
        self.with.is_none()
            && self.order.is_empty()
            && self.limit.is_none()
            && self.fetch.is_none()
            && self.locks.is_empty()
    }
}

impl Level<'_> {
    fn body(&mut self, parts: &Parts<'_>, purpose: Purpose<'_>) -> SqlResult<()> {
        match parts.body {
            SetExpr::Select(select) => self.select(select, parts, purpose),
            SetExpr::Values(values) => {
                self.values(values)?;
                self.rest_of_values(parts, purpose)
            }
            SetExpr::Table(table) => {
                self.whole_table(table)?;
                self.rest_of_values(parts, purpose)
            }
            SetExpr::SetOperation { .. } => self.set_operation(parts, purpose),
            SetExpr::Query(_) => Err(SqlError::new(ErrorKind::Internal, "parentheses around a query are left")),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(SqlError::new(ErrorKind::Syntax, "a statement that changes data stands in the place of a query"))
            }
        }
    }

    fn select(&mut self, select: &Select, parts: &Parts<'_>, purpose: Purpose<'_>) -> SqlResult<()> {
        refuse_dialects(select)?;
        self.note_windows(&select.named_window)?;
        self.bind_from(&select.from)?;
        self.query.targets = self.targets(&select.projection, Usage::SelectList)?;
        if let Some(selection) = &select.selection {
            self.query.filter = Some(self.condition(selection, Usage::Where)?);
        }
        if let Some(having) = &select.having {
            self.query.having = Some(self.condition(having, Usage::Having)?);
        }
        self.query.order = self.sort_items(parts.order, Usage::OrderBy, Names::OfResults)?;
        self.grouping(&select.group_by)?;
        self.query.distinct = match &select.distinct {
            None | Some(DistinctSyntax::All) => Distinct::No,
            Some(DistinctSyntax::Distinct) => self.distinct_all()?,
            Some(DistinctSyntax::On(exprs)) => self.distinct_on(exprs)?,
        };
        self.limits(parts)?;
        self.bind_windows()?;
        if !purpose.keeps_unknown {
            self.type_all_targets()?;
        }
        self.locks(parts.locks)?;
        let is_grouped =
            self.namespace.has_aggregates.get() || !self.query.grouping.is_empty() || self.query.having.is_some();
        if is_grouped {
            self.refuse_recursion()?;
            self.query.grouping.determined = self.check_grouped()?;
        }
        Ok(())
    }

    pub(crate) fn condition(&mut self, expr: &Expr, usage: Usage) -> SqlResult<BoundExpr> {
        self.binding(usage, |binder| binder.bind_condition(expr, usage.clause()))
    }

    /// Aggregates over rows that are still being made.
    fn refuse_recursion(&self) -> SqlResult<()> {
        if !self.namespace.has_aggregates.get() || !self.reads_itself() {
            return Ok(());
        }
        let mut exprs = self.query.targets.iter().map(|target| &target.expr).chain(&self.query.having);
        let place = exprs.find_map(|expr| crate::binder::aggregate_of(expr, 0));
        let message = "aggregate functions are not allowed in a recursive query's recursive term";
        Err(SqlError::new(ErrorKind::InvalidRecursion, message).at_place(place.unwrap_or(Place::NOWHERE)))
    }

    /// `TABLE t`.
    fn whole_table(&mut self, table: &sqlparser::ast::Table) -> SqlResult<()> {
        let name = |text: &Option<String>| {
            text.as_ref().map(|text| crate::name::Name { text: text.to_ascii_lowercase(), is_quoted: false })
        };
        let Some(of) = name(&table.table_name) else {
            return Err(SqlError::new(ErrorKind::Syntax, "TABLE without a name"));
        };
        let alias = super::from::Alias::default();
        let entry = self.table_entry(name(&table.schema_name).as_ref(), &of, Place::NOWHERE, &alias)?;
        self.query.from.push(super::bound::JoinTree::Entry(entry));
        self.show_only(entry);
        for column in 0..self.entries[entry].columns.len() {
            if !self.is_hidden(entry, column) {
                self.push_column(entry, column);
            }
        }
        Ok(())
    }

    /// A column of an entry as a result.
    pub(super) fn push_column(&mut self, entry: usize, column: usize) {
        let name = self.entries[entry].columns[column].name.clone();
        let found = crate::scope::Found { level: 0, entry, column };
        let expr = self.scope().column(found, Place::NOWHERE);
        let origin = self.origin(&expr);
        self.query.targets.push(Target { expr, name, is_hidden: false, origin });
    }

    fn rest_of_values(&mut self, parts: &Parts<'_>, purpose: Purpose<'_>) -> SqlResult<()> {
        self.query.order = self.sort_items(parts.order, Usage::OrderBy, Names::OfResults)?;
        self.limits(parts)?;
        if !purpose.keeps_unknown {
            self.type_all_targets()?;
        }
        if !parts.locks.is_empty() && matches!(parts.body, SetExpr::Values(_)) {
            let message = format!(
                "{} cannot be applied to VALUES",
                super::locks::LockingClause::of(&parts.locks[0])?.strength.words()
            );
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        self.locks(parts.locks)
    }

    /// LIMIT, OFFSET and FETCH.
    pub(super) fn limits(&mut self, parts: &Parts<'_>) -> SqlResult<()> {
        let (limit, offset) = match parts.limit {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(_) => return Err(SqlError::not_supported("this form of LIMIT")),
        };
        if let (Some(limit), Some(_)) = (limit, parts.fetch) {
            let place = self.context.source.and_then(|source| source.next(Place::start(limit.span()), "FETCH"));
            let error = SqlError::new(ErrorKind::Syntax, "syntax error at or near \"FETCH\"");
            return Err(error.at_place(place.unwrap_or(Place::NOWHERE)));
        }
        if let Some(offset) = offset {
            self.query.offset = Some(self.limit(offset, Usage::Offset)?);
        }
        if let Some(limit) = limit {
            self.query.limit = Some(self.limit(limit, Usage::Limit)?);
        }
        if let Some(Fetch { with_ties, percent, quantity }) = parts.fetch {
            if *percent {
                return Err(SqlError::new(ErrorKind::Syntax, "syntax error at or near \"PERCENT\""));
            }
            if *with_ties && parts.order.is_empty() {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(SqlError::new(ErrorKind::Syntax, message));
            }
            self.query.with_ties = *with_ties;
            self.query.limit = Some(match quantity {
                Some(quantity) => self.limit(quantity, Usage::Limit)?,
                None => self.binding(Usage::Limit, |binder| {
                    let one = binder.number("1", false, Place::NOWHERE);
                    binder.typing.coerce_to(one, oids::INT8, "LIMIT")
                })?,
            });
        }
        Ok(())
    }

    fn limit(&mut self, expr: &Expr, usage: Usage) -> SqlResult<BoundExpr> {
        self.without_columns(expr, usage, oids::INT8, usage.clause())
    }

    /// A value of a type, which a construct takes once for all rows.
    ///
    /// # Errors
    /// 42804 for another type, 42P10 for one that names columns of the query.
    pub(super) fn without_columns(
        &mut self,
        expr: &Expr,
        usage: Usage,
        to: Oid,
        construct: &str,
    ) -> SqlResult<BoundExpr> {
        let bound = self.binding(usage, |binder| {
            let bound = binder.bind(expr)?;
            binder.typing.coerce_to(bound, to, construct)
        })?;
        self.refuse_columns(&bound, construct)?;
        Ok(bound)
    }

    /// PostgreSQL's `checkExprIsVarFree`.
    pub(super) fn refuse_columns(&self, expr: &BoundExpr, construct: &str) -> SqlResult<()> {
        let mut reach = Reach::default();
        add_reach(&mut reach, expr, &self.query.sub_queries);
        let Some(ReachedLevel { level: 0, place }) = reach.columns.first().copied() else { return Ok(()) };
        let message = format!("argument of {construct} must not contain variables");
        Err(SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(place))
    }
}

/// Clauses of other dialects.
fn refuse_dialects(select: &Select) -> SqlResult<()> {
    let has_none = select.top.is_none()
        && select.exclude.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.connect_by.is_empty()
        && select.cluster_by.is_empty()
        && select.distribute_by.is_empty()
        && select.sort_by.is_empty()
        && select.qualify.is_none()
        && select.value_table_mode.is_none();
    if has_none { Ok(()) } else { Err(SqlError::not_supported("this clause of SELECT")) }
}
