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
    fn by_name(&self, name: &str, place: Place) -> SqlResult<Option<Found>> {
        for (level, entries) in self.levels() {
            let mut found = None;
            for (entry, known) in entries.iter().enumerate() {
                let Some(column) = known.column(name, place)? else { continue };
                if found.is_some() {
                    return Err(ambiguous(name, place));
                }
                found = Some(Found { level, entry, column });
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// A table by its name.
    ///
    /// # Errors
    /// 42P09 where several have it.
    fn entry(&self, schema: Option<&str>, name: &str, place: Place) -> SqlResult<Option<(usize, usize)>> {
        let is_meant = |entry: &Entry| entry.name == name && (schema.is_none() || entry.schema.as_deref() == schema);
        for (level, entries) in self.levels() {
            let mut meant = entries.iter().enumerate().filter(|(_, entry)| is_meant(entry));
            let Some((at, _)) = meant.next() else { continue };
            if meant.next().is_some() {
                let message = format!("table reference \"{name}\" is ambiguous");
                return Err(SqlError::new(ErrorKind::AmbiguousAlias, message).at_place(place));
            }
            return Ok(Some((level, at)));
        }
        Ok(None)
    }

    /// What a dotted name means: a column, or a table's whole row.
    ///
    /// # Errors
    /// 42703, 42P01, 42702.
    pub(crate) fn resolve(&self, parts: &[String], place: Place) -> SqlResult<BoundExpr> {
        match parts {
            [name] => {
                if let Some(found) = self.by_name(name, place)? {
                    return Ok(self.column(found, place));
                }
                match self.entry(None, name, place)? {
                    Some((level, entry)) => Ok(self.row(level, entry, place)),
                    None => Err(self.no_column(None, name, place)),
                }
            }
            [.., table, name] => {
                let schema = parts.len().checked_sub(3).map(|at| parts[at].as_str());
                let Some((level, entry)) = self.entry(schema, table, place)? else {
                    return Err(self.no_table(table, place));
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
    pub(crate) fn column_of(&self, level: usize, entry: usize, name: &str, place: Place) -> SqlResult<BoundExpr> {
        let Some(known) = self.at(level, entry) else {
            return Err(SqlError::new(ErrorKind::Internal, "a column of no table"));
        };
        match known.column(name, place)? {
            Some(column) => Ok(self.column(Found { level, entry, column }, place)),
            None => Err(self.no_column(Some(&known.name), name, place)),
        }
    }

    /// Whether the name is a table's that can be named here.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.levels().any(|(_, entries)| entries.iter().any(|entry| entry.name == name))
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

impl Entry {
    fn column(&self, name: &str, place: Place) -> SqlResult<Option<usize>> {
        let mut found = (0..self.columns.len()).filter(|at| self.columns[*at].name == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(ambiguous(name, place));
        }
        Ok(first)
    }
}

fn ambiguous(name: &str, place: Place) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{name}\" is ambiguous")).at_place(place)
}
