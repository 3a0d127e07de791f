//! Aggregates, window functions and GROUPING: what stands behind their arguments, and which query they belong to.

use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, OrderByExpr, Spanned, WindowSpec,
    WindowType,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::Binder;
use crate::alike::alike;
use crate::catalogue::{Function as Called, FunctionKind, oids};
use crate::expr::{BoundExpr, ExprKind, ExprType, OverRows, SortKey, Window};
use crate::name::folded;
use crate::place::{AtPlace, Place};
use crate::usage::Usage;

/// The bits of GROUPING's result.
const MOST_GROUPING: usize = 31;

/// The queries that an expression names something of, counted outwards from its own: each once, the nearest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    pub columns: Vec<ReachedLevel>,
    pub aggregates: Vec<ReachedLevel>,
}

/// What is named of a query, and where that is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReachedLevel {
    pub level: usize,
    pub place: Place,
}

impl Reach {
    /// Adds what a node, without its parts, names.
    pub(crate) fn note(&mut self, part: &BoundExpr) {
        let place = part.place;
        match &part.kind {
            ExprKind::Column { level, .. } | ExprKind::WholeRow { level, .. } => {
                insert(&mut self.columns, ReachedLevel { level: *level, place });
            }
            ExprKind::Aggregate { level, .. } | ExprKind::Grouping { level, .. } => {
                insert(&mut self.aggregates, ReachedLevel { level: *level, place });
            }
            _ => {}
        }
    }

    pub(crate) fn add(&mut self, other: &Reach) {
        other.columns.iter().for_each(|named| insert(&mut self.columns, *named));
        other.aggregates.iter().for_each(|named| insert(&mut self.aggregates, *named));
    }

    /// The same, as the query around counts, without what is of this one.
    pub(crate) fn seen_from_outside(&self) -> Reach {
        let outer = |list: &[ReachedLevel]| {
            let outer = |named: &ReachedLevel| Some(ReachedLevel { level: named.level.checked_sub(1)?, ..*named });
            list.iter().filter_map(outer).collect()
        };
        Reach { columns: outer(&self.columns), aggregates: outer(&self.aggregates) }
    }

    fn nearest(&self) -> usize {
        let first = [self.columns.first(), self.aggregates.first()];
        first.into_iter().flatten().map(|named| named.level).min().unwrap_or(0)
    }
}

fn insert(list: &mut Vec<ReachedLevel>, named: ReachedLevel) {
    if let Err(at) = list.binary_search_by_key(&named.level, |known| known.level) {
        list.insert(at, named);
    }
}

impl Binder<'_> {
    /// Does the work for another use, as PostgreSQL's `p_expr_kind` says it.
    pub(crate) fn used_as<T>(&mut self, usage: Usage, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.usage, usage);
        let noted = self.scope.namespace.map(|namespace| namespace.usage.replace(Some(usage)));
        let done = work(self);
        self.usage = before;
        if let (Some(namespace), Some(noted)) = (self.scope.namespace, noted) {
            namespace.usage.set(noted);
        }
        done
    }

    /// What stands behind the parentheses of an aggregate's call.
    pub(super) fn over_rows(&mut self, function: &Function, list: &FunctionArgumentList) -> SqlResult<OverRows> {
        let mut rows = OverRows {
            is_star: matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]),
            is_distinct: list.duplicate_treatment == Some(DuplicateTreatment::Distinct),
            ..OverRows::default()
        };
        if !function.within_group.is_empty() {
            rows.order = self.untyped_sort_keys(&function.within_group)?;
            rows.within_group = true;
        }
        if let Some(filter) = &function.filter {
            let filter = self.used_as(Usage::Filter, |binder| binder.bind(filter))?;
            rows.filter = Some(Box::new(self.typing.coerce_to_boolean(filter, "FILTER")?));
        }
        Ok(rows)
    }

    /// The window of a call. Queries have their own: they are told apart when all calls are known.
    pub(super) fn window_of(&mut self, function: &Function) -> SqlResult<Option<Window>> {
        let Some(over) = &function.over else { return Ok(None) };
        if let Some(queries) = self.queries.as_deref_mut()
            && let Some(number) = queries.window(over)?
        {
            return Ok(Some(Window::Numbered(number)));
        }
        Ok(Some(match over {
            WindowType::NamedWindow(name) => Window::Named(folded(name)),
            WindowType::WindowSpec(window) => self.window(window)?,
        }))
    }

    fn window(&mut self, window: &WindowSpec) -> SqlResult<Window> {
        if window.window_frame.is_some() {
            return Err(SqlError::not_supported("a window's frame here"));
        }
        let name = window.window_name.as_ref().map(folded);
        let partition = self.bind_all(&window.partition_by)?;
        Ok(Window::Own { name, partition, order: self.sort_keys(&window.order_by)? })
    }

    pub(super) fn sort_keys(&mut self, keys: &[OrderByExpr]) -> SqlResult<Vec<SortKey>> {
        let mut sorted = self.untyped_sort_keys(keys)?;
        for key in sorted.iter_mut().filter(|key| key.expr.is_unknown()) {
            key.expr = self.typing.argument(key.expr.clone(), oids::TEXT)?;
        }
        Ok(sorted)
    }

    /// Those whose literals get their types from the function that they are arguments of.
    fn untyped_sort_keys(&mut self, keys: &[OrderByExpr]) -> SqlResult<Vec<SortKey>> {
        let mut sorted = Vec::with_capacity(keys.len());
        for key in keys {
            let expr = self.bind(&key.expr)?;
            if !expr.is_unknown() {
                self.lookup.check_sorted(expr.oid(), Place::start(key.expr.span()))?;
            }
            let descending = key.options.asc == Some(false);
            sorted.push(SortKey { expr, descending, nulls_first: key.options.nulls_first.unwrap_or(descending) });
        }
        Ok(sorted)
    }

    /// What an aggregate, or a window function, may be called with: PostgreSQL's checks in `ParseFuncOrColumn`.
    pub(super) fn check_over_rows(&self, called: &Called, rows: &OverRows, place: Place) -> SqlResult<()> {
        let name = &called.name;
        let (kind, message) = match (called.kind, &rows.window) {
            (FunctionKind::Aggregate, window) if called.ordered.is_some() => match window {
                _ if !rows.within_group => {
                    (ErrorKind::WrongObjectType, format!("WITHIN GROUP is required for ordered-set aggregate {name}"))
                }
                Some(_) => {
                    (ErrorKind::FeatureNotSupported, format!("OVER is not supported for ordered-set aggregate {name}"))
                }
                None if rows.is_distinct => {
                    (ErrorKind::FeatureNotSupported, "cannot use DISTINCT with WITHIN GROUP".to_owned())
                }
                None => return Ok(()),
            },
            (FunctionKind::Aggregate, _) if rows.within_group => (
                ErrorKind::WrongObjectType,
                format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"),
            ),
            (FunctionKind::Window, Some(_)) if rows.within_group => {
                (ErrorKind::WrongObjectType, format!("window function {name} cannot have WITHIN GROUP"))
            }
            (_, Some(_)) if rows.is_distinct => {
                (ErrorKind::FeatureNotSupported, "DISTINCT is not implemented for window functions".to_owned())
            }
            (FunctionKind::Window, Some(_)) if rows.is_star => (
                ErrorKind::WrongObjectType,
                format!("{name}(*) must be used to call a parameterless aggregate function"),
            ),
            (_, Some(_)) if !rows.order.is_empty() => (
                ErrorKind::FeatureNotSupported,
                "aggregate ORDER BY is not implemented for window functions".to_owned(),
            ),
            (FunctionKind::Window, Some(_)) if rows.filter.is_some() => (
                ErrorKind::FeatureNotSupported,
                "FILTER is not implemented for non-aggregate window functions".to_owned(),
            ),
            _ => return Ok(()),
        };
        Err(SqlError::new(kind, message).at_place(place))
    }

    /// DISTINCT of an aggregate's arguments, by which alone they are sorted then.
    pub(super) fn check_distinct(&mut self, arguments: &mut [BoundExpr], rows: &OverRows) -> SqlResult<()> {
        if !rows.is_distinct {
            return Ok(());
        }
        for argument in arguments.iter_mut().filter(|argument| argument.is_unknown()) {
            *argument = self.typing.argument(argument.clone(), oids::TEXT)?;
        }
        for key in &rows.order {
            let key = key.expr.without_implicit_casts();
            if !arguments.iter().any(|argument| alike(key, argument.without_implicit_casts(), &[])) {
                let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                return Err(SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(key.place));
            }
        }
        arguments.iter().try_for_each(|argument| self.lookup.check_told_apart(argument.oid(), argument.place))
    }

    /// A call over a window, whose arguments have none: PostgreSQL's `transformWindowFuncCall`.
    pub(super) fn check_window_call(&self, arguments: &[BoundExpr], rows: &OverRows, place: Place) -> SqlResult<()> {
        let mut nested = None;
        let mut sets = None;
        let filter = rows.filter.as_deref();
        for argument in arguments.iter().chain(filter) {
            argument.any(&mut |part| {
                match &part.kind {
                    ExprKind::WindowCall { .. } => nested = nested.or(Some(part.place)),
                    ExprKind::Call { function, .. } if function.gives_rows => sets = sets.or(Some(part.place)),
                    _ => {}
                }
                false
            });
        }
        if let Some(nested) = nested {
            let message = "window function calls cannot be nested";
            return Err(SqlError::new(ErrorKind::Windowing, message).at_place(nested));
        }
        if let Some(sets) = sets {
            return Err(sets_inside("window", sets));
        }
        match self.usage.refuse_windows() {
            Some(refused) => Err(refused.at_place(place)),
            None => Ok(()),
        }
    }

    /// Which query an aggregate belongs to: the nearest of which something is named in it, as PostgreSQL's
    /// `check_agglevels_and_constraints` finds it.
    ///
    /// # Errors
    /// 42803 where it is refused there, or stands inside of another one of the same query.
    pub(super) fn aggregate_level(
        &self,
        (arguments, direct): (&[BoundExpr], usize),
        rows: &OverRows,
        place: Place,
    ) -> SqlResult<usize> {
        let (direct, others) = arguments.split_at(direct.min(arguments.len()));
        let filter = rows.filter.as_deref();
        let sorted = rows.order.iter().map(|key| &key.expr);
        let parts: Vec<&BoundExpr> = others.iter().chain(sorted).chain(filter).collect();
        let mut reach = Reach::default();
        for part in &parts {
            reach.add(&self.reach_inside(part)?);
        }
        let level = reach.nearest();
        let nested = |named: ReachedLevel| {
            let message = "aggregate function calls cannot be nested";
            SqlError::new(ErrorKind::Grouping, message).at_place(named.place)
        };
        if let Some(inner) = reach.aggregates.first().filter(|inner| inner.level == level) {
            return Err(nested(*inner));
        }
        for part in direct {
            let own = self.reach_inside(part)?;
            if own.columns.first().is_some_and(|column| column.level < level) {
                let message = "outer-level aggregate cannot contain a lower-level variable in its direct arguments";
                return Err(SqlError::new(ErrorKind::Grouping, message).at_place(part.place));
            }
            if let Some(inner) = own.aggregates.first().filter(|inner| inner.level <= level) {
                return Err(nested(*inner));
            }
        }
        self.check_level(level, false, place)?;
        Ok(level)
    }

    /// Whether the query so far outside may have one where it is being bound.
    fn check_level(&self, level: usize, is_grouping: bool, place: Place) -> SqlResult<()> {
        let of_level = self.scope.scope_at(level).and_then(|scope| scope.namespace);
        let usage = match of_level {
            Some(namespace) => {
                namespace.has_aggregates.set(true);
                namespace.usage.get()
            }
            None if level == 0 => Some(self.usage),
            None => None,
        };
        let refused =
            usage.and_then(|usage| if is_grouping { usage.refuse_grouping() } else { usage.refuse_aggregates() });
        refused.map_or(Ok(()), |refused| Err(refused.at_place(place)))
    }

    fn reach_inside(&self, expr: &BoundExpr) -> SqlResult<Reach> {
        let mut reach = Reach::default();
        let mut refused = None;
        expr.any(&mut |part| {
            match &part.kind {
                ExprKind::WindowCall { .. } => {
                    let message = "aggregate function calls cannot contain window function calls";
                    refused = Some(SqlError::new(ErrorKind::Grouping, message).at_place(part.place));
                }
                ExprKind::Call { function, .. } if function.gives_rows => {
                    refused = Some(sets_inside("aggregate", part.place));
                }
                ExprKind::SubQuery { query, .. } => {
                    let of_query = self.queries.as_deref().and_then(|queries| queries.reach(*query));
                    of_query.into_iter().for_each(|other| reach.add(other));
                }
                _ => reach.note(part),
            }
            refused.is_some()
        });
        refused.map_or(Ok(reach), Err)
    }

    /// `GROUPING(a, b)`.
    pub(super) fn grouping(&mut self, arguments: Vec<BoundExpr>, place: Place) -> SqlResult<BoundExpr> {
        if arguments.len() > MOST_GROUPING {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(SqlError::new(ErrorKind::TooManyArguments, message).at_place(place));
        }
        let mut reach = Reach::default();
        for argument in &arguments {
            reach.add(&self.reach_inside(argument)?);
        }
        let level = reach.nearest();
        self.check_level(level, true, place)?;
        Ok(BoundExpr::new(ExprKind::Grouping { arguments, level }, ExprType::plain(oids::INT4), place))
    }

    /// The arguments that are not of the rows.
    pub(super) fn direct_arguments(called: &Called, rows: &OverRows, count: usize) -> usize {
        match called.ordered {
            Some(_) if rows.within_group => count.saturating_sub(rows.order.len()),
            _ => 0,
        }
    }
}

/// Where the first aggregate of a level is.
pub(crate) fn aggregate_of(expr: &BoundExpr, of: usize) -> Option<Place> {
    let mut found = None;
    expr.any(&mut |part| {
        if let ExprKind::Aggregate { level, .. } | ExprKind::Grouping { level, .. } = &part.kind
            && *level == of
        {
            found = Some(part.place);
        }
        found.is_some()
    });
    found
}

fn sets_inside(what: &str, place: Place) -> Box<SqlError> {
    let message = format!("{what} function calls cannot contain set-returning function calls");
    SqlError::new(ErrorKind::FeatureNotSupported, message)
        .with_hint("You might be able to move the set-returning function into a LATERAL FROM item.")
        .at_place(place)
}
