//! What a grouped query may give: PostgreSQL's `parseCheckAggregates`.

use std::collections::HashMap;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;

use super::bound::{BoundQuery, JoinColumn, RangeSource};
use super::level::Level;
use crate::alike::alike;
use crate::expr::{BoundExpr, ExprKind};
use crate::place::AtPlace;

/// Looks for what a query does not group by.
struct Check<'c> {
    query: &'c BoundQuery,
    hashes: &'c [u64],
    /// What is grouped by: columns, and other expressions.
    columns: Vec<(usize, Option<usize>)>,
    others: Vec<&'c BoundExpr>,
    /// The columns that all sets have.
    common: Vec<(usize, usize)>,
    /// Whether the primary key of a table is grouped by, of those of which other columns are named.
    determined: HashMap<usize, bool>,
    in_direct_arguments: bool,
    /// What GROUPING names is looked at before any columns.
    of_grouping_only: bool,
}

impl Level<'_> {
    /// Gives the entries of the range table that the query may name because it groups by their primary key.
    ///
    /// # Errors
    /// 42803 for columns that are not grouped by.
    pub(super) fn check_grouped(&self) -> SqlResult<Vec<usize>> {
        let query = &self.query;
        let key = |target: &usize| query.targets[*target].expr.without_implicit_casts();
        let column = |expr: &BoundExpr| match expr.kind {
            ExprKind::Column { level: 0, entry, column } => Some((entry, Some(column))),
            ExprKind::WholeRow { level: 0, entry } => Some((entry, None)),
            _ => None,
        };
        let keys: Vec<&BoundExpr> = query.grouping.keys.iter().map(key).collect();
        let columns = keys.iter().filter_map(|expr| column(expr)).collect();
        let others = keys.into_iter().filter(|expr| column(expr).is_none()).collect();
        let common = query.grouping.common_keys();
        let common = common.iter().filter_map(|target| column(key(target)));
        let common = common.filter_map(|(entry, column)| Some((entry, column?))).collect();
        let mut check = Check {
            query,
            hashes: &self.hashes,
            columns,
            others,
            common,
            determined: HashMap::new(),
            in_direct_arguments: false,
            of_grouping_only: false,
        };
        check.clause(query.targets.iter().map(|target| &target.expr))?;
        check.clause(query.having.iter())?;
        let mut determined: Vec<usize> =
            check.determined.into_iter().filter(|(_, is_determined)| *is_determined).map(|(entry, _)| entry).collect();
        determined.sort_unstable();
        Ok(determined)
    }
}

impl Check<'_> {
    fn clause<'e>(&mut self, exprs: impl Iterator<Item = &'e BoundExpr> + Clone) -> SqlResult<()> {
        let queries = &self.query.sub_queries;
        for of_grouping_only in [true, false] {
            self.of_grouping_only = of_grouping_only;
            exprs.clone().try_for_each(|expr| self.expr(expr, 0, queries))?;
        }
        Ok(())
    }

    fn expr(&mut self, expr: &BoundExpr, depth: usize, queries: &[BoundQuery]) -> SqlResult<()> {
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Parameter(_) => return Ok(()),
            ExprKind::Aggregate { level, .. } if *level > depth => return Ok(()),
            ExprKind::Aggregate { level, function, arguments, rows, .. } if *level == depth => {
                if function.ordered.is_none() {
                    return Ok(());
                }
                let direct = arguments.len().saturating_sub(rows.order.len());
                self.in_direct_arguments = true;
                for argument in &arguments[..direct] {
                    self.expr(argument, depth, queries)?;
                }
                self.in_direct_arguments = false;
                return Ok(());
            }
            ExprKind::Grouping { level, .. } if *level > depth => return Ok(()),
            ExprKind::Grouping { level, arguments } if *level == depth => return self.grouping(arguments, depth),
            _ => {}
        }
        if depth == 0 && self.others.iter().any(|key| alike(key, expr.without_implicit_casts(), self.hashes)) {
            return Ok(());
        }
        if depth == 0
            && let ExprKind::Operation { links, .. } = &expr.kind
            && let Some(count) = self.grouped_links(expr)
        {
            return links[count..].iter().try_for_each(|link| self.expr(&link.operand, depth, queries));
        }
        match &expr.kind {
            ExprKind::Column { level, entry, column } if *level == depth => {
                return self.column(expr, *entry, Some(*column), depth);
            }
            ExprKind::WholeRow { level, entry } if *level == depth => return self.column(expr, *entry, None, depth),
            _ => {}
        }
        let mut parts = Vec::new();
        expr.for_each_part(&mut |part| parts.push(part));
        deeper(|| parts.into_iter().try_for_each(|part| self.expr(part, depth, queries)))?;
        match &expr.kind {
            ExprKind::SubQuery { query, .. } => {
                queries.get(*query).map_or(Ok(()), |query| self.query(query, depth + 1))
            }
            _ => Ok(()),
        }
    }

    /// How many of an operation's first links are grouped by: `a + 1` of `a + 1 + 2`.
    fn grouped_links(&self, expr: &BoundExpr) -> Option<usize> {
        let ExprKind::Operation { first, links } = &expr.kind else { return None };
        let begins = |key: &&&BoundExpr| match &key.kind {
            ExprKind::Operation { first: own, links: ours } => {
                let pairs = || ours.iter().zip(links);
                ours.len() < links.len()
                    && alike(own, first, self.hashes)
                    && pairs().all(|(one, other)| one.operator == other.operator)
                    && pairs().all(|(one, other)| alike(&one.operand, &other.operand, self.hashes))
            }
            _ => false,
        };
        self.others.iter().find(begins).and_then(|key| match &key.kind {
            ExprKind::Operation { links, .. } => Some(links.len()),
            _ => None,
        })
    }

    /// A query inside, as far as it reaches out.
    fn query(&mut self, query: &BoundQuery, depth: usize) -> SqlResult<()> {
        let mut exprs = Vec::new();
        query.for_each_expr(&mut |expr| exprs.push(expr));
        for expr in exprs {
            self.expr(expr, depth, &query.sub_queries)?;
        }
        let mut inner = Vec::new();
        query.for_each_read_query(&mut |query| inner.push(query));
        inner.into_iter().try_for_each(|query| self.query(query, depth + 1))
    }

    fn grouping(&mut self, arguments: &[BoundExpr], depth: usize) -> SqlResult<()> {
        for argument in arguments {
            let is_key = match argument.kind {
                ExprKind::Column { level, entry, column } => {
                    level == depth && self.columns.contains(&(entry, Some(column)))
                }
                _ => depth == 0 && self.others.iter().any(|key| alike(key, argument, self.hashes)),
            };
            if !is_key {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                return Err(SqlError::new(ErrorKind::Grouping, message).at_place(argument.place));
            }
        }
        Ok(())
    }

    fn column(&mut self, expr: &BoundExpr, entry: usize, column: Option<usize>, depth: usize) -> SqlResult<()> {
        if self.of_grouping_only || self.columns.contains(&(entry, column)) || self.is_determined(entry) {
            return Ok(());
        }
        // A merged column is grouped by if what it is made of is: one side's column, or of a full join both.
        if let RangeSource::Join { columns } = &self.query.range[entry].source
            && let Some(JoinColumn::Merged { value, .. }) = column.and_then(|column| columns.get(column))
        {
            let sides = match &value.kind {
                ExprKind::Coalesce(both) => both.as_slice(),
                _ => std::slice::from_ref(&**value),
            };
            for side in sides {
                let side = side.without_implicit_casts();
                if let ExprKind::Column { entry, column, .. } = side.kind {
                    self.column(side, entry, Some(column), depth)?;
                }
            }
            return Ok(());
        }
        let (table, name) = self.shown_name(entry, column);
        let message = if depth == 0 {
            format!("column \"{table}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function")
        } else {
            format!("subquery uses ungrouped column \"{table}.{name}\" from outer query")
        };
        let error = SqlError::new(ErrorKind::Grouping, message).at_place(expr.place);
        Err(if self.in_direct_arguments {
            error.with_detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
        } else {
            error
        })
    }

    /// The columns of a table whose primary key is grouped by have one value in each group.
    fn is_determined(&mut self, entry: usize) -> bool {
        if let Some(known) = self.determined.get(&entry) {
            return *known;
        }
        let is_determined = match &self.query.range[entry].source {
            RangeSource::Table { relation, .. } => relation.primary_key().is_some_and(|key| {
                !key.is_deferrable && key.columns.iter().all(|column| self.common.contains(&(entry, *column)))
            }),
            _ => false,
        };
        self.determined.insert(entry, is_determined);
        is_determined
    }

    fn shown_name(&self, entry: usize, column: Option<usize>) -> (&str, &str) {
        let known = &self.query.range[entry];
        let column = column.map(|column| known.columns.get(column).map_or("", |column| &column.name));
        (&known.name, column.unwrap_or("*"))
    }
}
