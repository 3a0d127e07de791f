//! The names that an expression may say: the tables of its query, with their columns, and those of the queries around it.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::oids::{self, Oid};
use crate::expr::{BoundExpr, ExprKind, ExprType};
use crate::hints;
use crate::place::{AtPlace, Place};

/// What a query reads from, and the query around it.
#[derive(Default, Clone, Copy)]
pub struct Scope<'s> {
    pub entries: &'s [Entry],
    pub outer: Option<&'s Scope<'s>>,
}

/// A table, a sub-query or a function that is read from.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name that it goes by: its alias, or its own.
    pub name: String,
    /// The schema, of a table without an alias.
    pub schema: Option<String>,
    pub columns: Vec<ScopeColumn>,
    /// The type of its rows; 0 for those that have none of their own.
    pub row_type: Oid,
}

#[derive(Debug, Clone)]
pub struct ScopeColumn {
    pub name: String,
    pub ty: ExprType,
}

/// A name as it is written: an unquoted one also means what it equals but for case, where nothing is called exactly so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Folded, unless it is quoted.
    pub text: String,
    pub is_quoted: bool,
}

/// Where a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub level: usize,
    pub entry: usize,
    pub column: usize,
}

impl Scope<'_> {
    fn levels(&self) -> impl Iterator<Item = (usize, &[Entry])> {
        let mut next = Some(self);
        let levels = std::iter::from_fn(move || {
            let scope = next?;
            next = scope.outer;
            Some(scope.entries)
        });
        levels.enumerate()
    }

    pub(crate) fn level(&self, level: usize) -> Option<&[Entry]> {
        self.levels().nth(level).map(|(_, entries)| entries)
    }

    fn at(&self, level: usize, entry: usize) -> Option<&Entry> {
        self.level(level).and_then(|entries| entries.get(entry))
    }

    /// A column by its name alone.
    ///
    /// # Errors
    /// 42702 where several tables have one of the name.
    fn by_name(&self, name: &Name, place: Place) -> SqlResult<Option<Found>> {
        for (level, entries) in self.levels() {
            let columns = |entry: usize| entries[entry].columns.iter().enumerate().map(move |column| (entry, column));
            let all = (0..entries.len()).flat_map(columns);
            let known = all.map(|(entry, (column, known))| (Found { level, entry, column }, known.name.as_str()));
            if let Some(found) = meant(known, name, place)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A table by its name.
    ///
    /// # Errors
    /// 42P09 where several have it.
    fn entry(&self, schema: Option<&Name>, name: &Name, place: Place) -> SqlResult<Option<(usize, usize)>> {
        let is_of_schema = |entry: &Entry, schema: &Name| entry.schema.as_ref().is_some_and(|own| schema.is(own));
        let may_be = |entry: &&Entry| schema.is_none_or(|schema| is_of_schema(entry, schema));
        for (level, entries) in self.levels() {
            let of = |is_meant: &dyn Fn(&str) -> bool| -> Vec<usize> {
                let entries = entries.iter().enumerate().filter(|(_, entry)| may_be(entry) && is_meant(&entry.name));
                entries.map(|(at, _)| at).collect()
            };
            let exact = of(&|known| known == name.text);
            let found = if exact.is_empty() { of(&|known| name.is(known)) } else { exact };
            match found.as_slice() {
                [] => {}
                [only] => return Ok(Some((level, *only))),
                _ => {
                    let message = format!("table reference \"{}\" is ambiguous", name.text);
                    return Err(SqlError::new(ErrorKind::AmbiguousAlias, message).at_place(place));
                }
            }
        }
        Ok(None)
    }

    /// What a dotted name means: a column, or a table's whole row.
    ///
    /// # Errors
    /// 42703, 42P01, 42702.
    pub(crate) fn resolve(&self, parts: &[Name], place: Place) -> SqlResult<BoundExpr> {
        match parts {
            [name] => {
                if let Some(found) = self.by_name(name, place)? {
                    return Ok(self.column(found, place));
                }
                match self.entry(None, name, place)? {
                    Some((level, entry)) => Ok(self.row(level, entry, place)),
                    None => Err(self.no_column(None, &name.text, place)),
                }
            }
            [.., table, name] => {
                let schema = parts.len().checked_sub(3).map(|at| &parts[at]);
                let Some((level, entry)) = self.entry(schema, table, place)? else {
                    return Err(self.no_table(&table.text, place));
                };
                self.column_of(level, entry, name, place)
            }
            [] => Err(SqlError::new(ErrorKind::Internal, "a column without a name")),
        }
    }

    /// A column of one table.
    ///
    /// # Errors
    /// 42703.
    pub(crate) fn column_of(&self, level: usize, entry: usize, name: &Name, place: Place) -> SqlResult<BoundExpr> {
        let Some(known) = self.at(level, entry) else {
            return Err(SqlError::new(ErrorKind::Internal, "a column of no table"));
        };
        let columns = known.columns.iter().enumerate();
        let columns = columns.map(|(column, known)| (Found { level, entry, column }, known.name.as_str()));
        match meant(columns, name, place)? {
            Some(found) => Ok(self.column(found, place)),
            None => Err(self.no_column(Some(&known.name), &name.text, place)),
        }
    }

    /// Whether the name is a table's that can be named here.
    pub(crate) fn has_table(&self, name: &Name) -> bool {
        self.levels().any(|(_, entries)| entries.iter().any(|entry| name.is(&entry.name)))
    }

    fn column(&self, found: Found, place: Place) -> BoundExpr {
        let Found { level, entry, column } = found;
        let known = self.at(level, entry).and_then(|entry| entry.columns.get(column));
        let ty = known.map_or(ExprType::plain(oids::UNKNOWN), |column| column.ty);
        BoundExpr::new(ExprKind::Column { level, entry, column }, ty, place)
    }

    fn row(&self, level: usize, entry: usize, place: Place) -> BoundExpr {
        let row_type = self.at(level, entry).map_or(0, |entry| entry.row_type);
        let oid = if row_type == 0 { oids::RECORD } else { row_type };
        BoundExpr::new(ExprKind::WholeRow { level, entry }, ExprType::plain(oid), place)
    }

    /// PostgreSQL's `errorMissingColumn`.
    fn no_column(&self, table: Option<&str>, name: &str, place: Place) -> Box<SqlError> {
        let message = match table {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = SqlError::new(ErrorKind::UndefinedColumn, message).at_place(place);
        let entries = self.levels().flat_map(|(_, entries)| entries);
        let columns = entries.flat_map(|entry| entry.columns.iter().map(|column| (&*entry.name, &*column.name)));
        match hints::nearest(columns, table, name).as_slice() {
            [(table, column)] => {
                error.with_hint(format!("Perhaps you meant to reference the column \"{table}.{column}\"."))
            }
            [(table, column), (other, second)] => error.with_hint(format!(
                "Perhaps you meant to reference the column \"{table}.{column}\" or the column \"{other}.{second}\"."
            )),
            _ => error,
        }
    }

    /// PostgreSQL's `errorMissingRTE`.
    fn no_table(&self, name: &str, place: Place) -> Box<SqlError> {
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        SqlError::new(ErrorKind::UndefinedTable, message).at_place(place)
    }
}

impl Name {
    /// Whether it may mean what is called so.
    fn is(&self, known: &str) -> bool {
        if self.is_quoted { self.text == known } else { self.text.eq_ignore_ascii_case(known) }
    }
}

/// The one of these that a name means.
///
/// # Errors
/// 42702 where several are called so.
fn meant<'n>(
    known: impl Iterator<Item = (Found, &'n str)> + Clone,
    name: &Name,
    place: Place,
) -> SqlResult<Option<Found>> {
    let ambiguous = || {
        let message = format!("column reference \"{}\" is ambiguous", name.text);
        SqlError::new(ErrorKind::AmbiguousColumn, message).at_place(place)
    };
    let mut exact = known.clone().filter(|(_, known)| *known == name.text);
    if let Some((found, _)) = exact.next() {
        return if exact.next().is_some() { Err(ambiguous()) } else { Ok(Some(found)) };
    }
    let mut alike: Vec<(Found, &str)> = known.filter(|(_, known)| name.is(known)).collect();
    if let [_, _, ..] = alike.as_slice() {
        alike.sort_unstable_by_key(|(_, known)| *known);
        alike.dedup_by_key(|(_, known)| *known);
        let names: Vec<String> = alike.iter().map(|(_, known)| format!("\"{known}\"")).collect();
        return Err(match names.as_slice() {
            [_] => ambiguous(),
            _ => ambiguous().with_hint(format!("Quote the name to say which one is meant: {}.", names.join(", "))),
        });
    }
    Ok(alike.first().map(|(found, _)| *found))
}
