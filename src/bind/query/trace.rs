//! SEARCH and CYCLE of WITH RECURSIVE: PostgreSQL's `rewriteSearchAndCycle`.
//!
//! What they ask for are columns of the recursive query: the order in which its rows are found, and the rows on the way to
//! each. Both parts of the UNION become queries over what is written, with these columns behind the others; the second one
//! reads them of the rows so far.

use sqlparser::ast::{
    Cte, Expr, Ident, Query, Select, SelectItem, SetExpr, TableAliasColumnDef, TableFactor, TableWithJoins,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::name::folded;
use crate::place::{AtPlace, Place};

/// Names of parts of WITH that stand for the clauses of the part before them: the parser has no form for these. Their columns
/// are the clause's, the last of them those that it makes.
pub const SEARCH_DEPTH: &str = "search#depth";
pub const SEARCH_BREADTH: &str = "search#breadth";
/// What it selects are the marks of a row that closes a cycle, and of others.
pub const CYCLE: &str = "cycle#";

/// How far a row is from those of the first part, which nothing names.
const DEPTH: &str = "search#depth";
/// What is written.
const FIRST: &str = "first#";
const OTHER: &str = "other#";

/// The clauses of a part of WITH.
#[derive(Default)]
pub(super) struct Trace {
    search: Option<Search>,
    cycle: Option<Cycle>,
}

struct Search {
    place: Place,
    is_breadth: bool,
    by: Vec<String>,
    order: String,
}

struct Cycle {
    place: Place,
    of: Vec<String>,
    mark: String,
    path: String,
    value: Expr,
    otherwise: Expr,
}

/// The parts of a WITH, and the clauses of each.
pub(super) fn parts_of(parts: &[Cte]) -> SqlResult<(Vec<Cte>, Vec<Trace>)> {
    let (mut real, mut traces): (Vec<Cte>, Vec<Trace>) = (Vec::new(), Vec::new());
    for part in parts {
        let name = part.alias.name.value.as_str();
        if !matches!(name, SEARCH_DEPTH | SEARCH_BREADTH | CYCLE) {
            real.push(part.clone());
            traces.push(Trace::default());
            continue;
        }
        let place = Place::start(part.alias.name.span);
        let mut columns: Vec<String> = part.alias.columns.iter().map(|column| folded(&column.name)).collect();
        let (Some(trace), Some(last)) = (traces.last_mut(), columns.pop()) else { return Err(no_clause()) };
        if name == CYCLE {
            let (Some(mark), [value, otherwise]) = (columns.pop(), &*selected(part)?) else { return Err(no_clause()) };
            let (value, otherwise) = (value.clone(), otherwise.clone());
            trace.cycle = Some(Cycle { place, of: columns, mark, path: last, value, otherwise });
        } else {
            trace.search = Some(Search { place, is_breadth: name == SEARCH_BREADTH, by: columns, order: last });
        }
    }
    Ok((real, traces))
}

/// Whether a WITH has such clauses.
pub(super) fn has_clauses(parts: &[Cte]) -> bool {
    parts.iter().any(|part| matches!(part.alias.name.value.as_str(), SEARCH_DEPTH | SEARCH_BREADTH | CYCLE))
}

fn selected(part: &Cte) -> SqlResult<Vec<Expr>> {
    let SetExpr::Select(select) = &*part.query.body else { return Err(no_clause()) };
    let expr = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => Ok(expr.clone()),
        _ => Err(no_clause()),
    };
    select.projection.iter().map(expr).collect()
}

fn no_clause() -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, "a clause of WITH without what it says")
}

impl Trace {
    pub(super) fn is_none(&self) -> bool {
        self.search.is_none() && self.cycle.is_none()
    }

    /// The columns that the clauses make.
    pub(super) fn columns(&self) -> Vec<String> {
        let order = self.search.iter().map(|search| search.order.clone());
        let of_cycle = self.cycle.iter().flat_map(|cycle| [cycle.mark.clone(), cycle.path.clone()]);
        order.chain(of_cycle).collect()
    }

    /// The same, and what the query counts with besides.
    pub(super) fn own_columns(&self) -> Vec<String> {
        let mut own = self.columns();
        own.extend(self.search.iter().filter(|search| search.is_breadth).map(|_| DEPTH.to_owned()));
        own
    }

    /// # Errors
    /// 42601 and 42701 for columns that the query does not have, has already, or that are named twice.
    fn check(&self, columns: &[String]) -> SqlResult<()> {
        let named = |what: &str, names: &[String], place: Place| {
            for (at, name) in names.iter().enumerate() {
                if !columns.contains(name) {
                    let message = format!("{what} column \"{name}\" not in WITH query column list");
                    return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
                }
                if names[..at].contains(name) {
                    let message = format!("{what} column \"{name}\" specified more than once");
                    return Err(SqlError::new(ErrorKind::DuplicateColumn, message).at_place(place));
                }
            }
            Ok(())
        };
        let made = |what: &str, name: &String, place: Place| {
            if columns.contains(name) {
                let message = format!("{what} column name \"{name}\" already used in WITH query column list");
                return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
            }
            Ok(())
        };
        if let Some(search) = &self.search {
            named("search", &search.by, search.place)?;
            made("search sequence", &search.order, search.place)?;
        }
        if let Some(cycle) = &self.cycle {
            named("cycle", &cycle.of, cycle.place)?;
            made("cycle mark", &cycle.mark, cycle.place)?;
            made("cycle path", &cycle.path, cycle.place)?;
            let same = |message: &str| Err(SqlError::new(ErrorKind::Syntax, message).at_place(cycle.place));
            if cycle.mark == cycle.path {
                return same("cycle mark column name and cycle path column name are the same");
            }
            match self.search.as_ref().map(|search| &search.order) {
                Some(order) if *order == cycle.mark => {
                    return same("search sequence column name and cycle mark column name are the same");
                }
                Some(order) if *order == cycle.path => {
                    return same("search sequence column name and cycle path column name are the same");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The part with what its clauses ask for, of a query with these columns.
    ///
    /// # Errors
    /// As [`Trace::check`]; 0A000 where its own rows are not read in the second part's FROM.
    pub(super) fn traced(&self, part: &Cte, columns: &[String]) -> SqlResult<Cte> {
        self.check(columns)?;
        let mut traced = part.clone();
        let SetExpr::SetOperation { left, right, .. } = &mut *traced.query.body else { return Err(no_clause()) };
        let first = std::mem::replace(&mut **left, SetExpr::Values(no_values()));
        **left = over(&self.first_columns(columns), FIRST, columns, first, None)?;
        let name = folded(&part.alias.name);
        let mut other = std::mem::replace(&mut **right, SetExpr::Values(no_values()));
        let SetExpr::Select(select) = &mut other else { return Err(not_select()) };
        let known_as = read_as(select, &name).ok_or_else(|| not_in_from(&name))?;
        let own = self.own_columns();
        for column in &own {
            let column = Ident::with_quote('"', column);
            select.projection.push(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![known_as.clone(), column])));
        }
        let all: Vec<String> = columns.iter().chain(&own).cloned().collect();
        let goes_on = self.cycle.as_ref().map(|cycle| format!("{} <> {}", column(OTHER, &cycle.mark), cycle.value));
        **right = over(&self.other_columns(columns), OTHER, &all, other, goes_on.as_deref())?;
        Ok(traced)
    }

    fn first_columns(&self, columns: &[String]) -> String {
        let mut list: Vec<String> = columns.iter().map(|name| column(FIRST, name)).collect();
        if let Some(search) = &self.search {
            list.push(match search.is_breadth {
                true => format!("ROW(0::bigint, {})", columns_of(FIRST, &search.by)),
                false => format!("ARRAY[ROW({})]", columns_of(FIRST, &search.by)),
            });
        }
        if let Some(Cycle { of, otherwise, .. }) = &self.cycle {
            list.push(otherwise.to_string());
            list.push(format!("ARRAY[ROW({})]", columns_of(FIRST, of)));
        }
        list.extend(self.search.iter().filter(|search| search.is_breadth).map(|_| "0::bigint".to_owned()));
        named(list, columns, &self.own_columns())
    }

    fn other_columns(&self, columns: &[String]) -> String {
        let mut list: Vec<String> = columns.iter().map(|name| column(OTHER, name)).collect();
        if let Some(search) = &self.search {
            let by = columns_of(OTHER, &search.by);
            list.push(match search.is_breadth {
                true => format!("ROW({} + 1, {by})", column(OTHER, DEPTH)),
                false => format!("{} || ARRAY[ROW({by})]", column(OTHER, &search.order)),
            });
        }
        if let Some(Cycle { of, path, value, otherwise, .. }) = &self.cycle {
            let (row, path) = (format!("ROW({})", columns_of(OTHER, of)), column(OTHER, path));
            list.push(format!("CASE WHEN {row} = ANY ({path}) THEN {value} ELSE {otherwise} END"));
            list.push(format!("{path} || ARRAY[{row}]"));
        }
        let counted = self.search.iter().filter(|search| search.is_breadth);
        list.extend(counted.map(|_| format!("{} + 1", column(OTHER, DEPTH))));
        named(list, columns, &self.own_columns())
    }
}

fn column(table: &str, name: &str) -> String {
    format!("{}.{}", Ident::with_quote('"', table), Ident::with_quote('"', name))
}

fn columns_of(table: &str, names: &[String]) -> String {
    names.iter().map(|name| column(table, name)).collect::<Vec<_>>().join(", ")
}

/// A list under the names of the query's columns, and of those behind them.
fn named(list: Vec<String>, columns: &[String], own: &[String]) -> String {
    let names = columns.iter().chain(own);
    let item = |(value, name): (String, &String)| format!("{value} AS {}", Ident::with_quote('"', name));
    list.into_iter().zip(names).map(item).collect::<Vec<_>>().join(", ")
}

/// `SELECT list FROM (what is written) AS name (columns) WHERE condition`
fn over(list: &str, name: &str, columns: &[String], written: SetExpr, condition: Option<&str>) -> SqlResult<SetExpr> {
    let filter = condition.map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
    let text = format!("SELECT {list} FROM (SELECT 1) AS {}{filter}", Ident::with_quote('"', name));
    let unread = |error: sqlparser::parser::ParserError| SqlError::new(ErrorKind::Internal, error.to_string());
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&text).map_err(unread);
    let mut query: Query = *parser?.parse_query().map_err(unread)?;
    let SetExpr::Select(select) = &mut *query.body else { return Err(no_clause()) };
    let Some(TableWithJoins { relation: TableFactor::Derived { subquery, alias: Some(alias), .. }, .. }) =
        select.from.first_mut()
    else {
        return Err(no_clause());
    };
    let named = |name: &String| TableAliasColumnDef { name: Ident::with_quote('"', name), data_type: None };
    alias.columns = columns.iter().map(named).collect();
    *subquery.body = written;
    Ok(*query.body)
}

/// What a part's own rows are known as in a FROM.
fn read_as(select: &Select, name: &str) -> Option<Ident> {
    let mut waiting: Vec<&TableFactor> = select.from.iter().flat_map(tables_of).collect();
    while let Some(table) = waiting.pop() {
        match table {
            TableFactor::Table { name: read, alias, args: None, .. } => {
                if let [only] = read.0.as_slice()
                    && let Some(own) = only.as_ident().filter(|own| folded(own) == name)
                {
                    return Some(alias.as_ref().map_or_else(|| own.clone(), |alias| alias.name.clone()));
                }
            }
            TableFactor::NestedJoin { table_with_joins, .. } => waiting.extend(tables_of(table_with_joins)),
            _ => {}
        }
    }
    None
}

fn tables_of(from: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
}

fn no_values() -> sqlparser::ast::Values {
    sqlparser::ast::Values { explicit_row: false, value_keyword: false, rows: Vec::new() }
}

fn not_select() -> Box<SqlError> {
    let message = "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT";
    SqlError::new(ErrorKind::FeatureNotSupported, message)
}

fn not_in_from(name: &str) -> Box<SqlError> {
    let message = format!(
        "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{name}\" must be at the top level of its \
         right-hand SELECT"
    );
    SqlError::new(ErrorKind::FeatureNotSupported, message)
}
