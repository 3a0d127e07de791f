//! The names that an expression may say: the tables of its query, with their columns, and those of the queries around it.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::oids::{self, Oid};
use crate::expr::{BoundExpr, ExprKind, ExprType};
use crate::hints;
use crate::name::Name;
use crate::namespace::{Namespace, Shown};
use crate::place::{AtPlace, Place};

/// System columns of PostgreSQL that tell rows and their versions apart.
const ROW_VERSIONS: [&str; 5] = ["ctid", "xmin", "xmax", "cmin", "cmax"];

/// What a query reads from, and the query around it.
#[derive(Default, Clone, Copy)]
pub struct Scope<'s> {
    pub entries: &'s [Entry],
    pub outer: Option<&'s Scope<'s>>,
    /// What of the entries may be named; all of them where nothing is said.
    pub namespace: Option<&'s Namespace>,
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
    /// The table that goes by an alias.
    pub table: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ScopeColumn {
    pub name: String,
    pub ty: ExprType,
    /// `*` leaves it out.
    pub is_hidden: bool,
}

/// Where a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub level: usize,
    pub entry: usize,
    pub column: usize,
}

impl Scope<'_> {
    fn levels(&self) -> impl Iterator<Item = (usize, &Scope<'_>)> {
        let mut next = Some(self);
        let levels = std::iter::from_fn(move || {
            let scope = next?;
            next = scope.outer;
            Some(scope)
        });
        levels.enumerate()
    }

    pub(crate) fn level(&self, level: usize) -> Option<&[Entry]> {
        self.scope_at(level).map(|scope| scope.entries)
    }

    /// The scope of the query so many outside of this one.
    pub(crate) fn scope_at(&self, level: usize) -> Option<&Scope<'_>> {
        self.levels().nth(level).map(|(_, scope)| scope)
    }

    fn at(&self, level: usize, entry: usize) -> Option<&Entry> {
        self.level(level).and_then(|entries| entries.get(entry))
    }

    /// What may be named of this level alone.
    fn shown(&self) -> impl Iterator<Item = Shown> + Clone {
        let listed = self.namespace.map(|namespace| namespace.shown.as_slice());
        let count = listed.map_or(self.entries.len(), <[Shown]>::len);
        let all = (0..count).map(move |at| listed.map_or(Shown::all_of(at), |shown| shown[at]));
        all.filter(|shown| self.namespace.is_none_or(|namespace| namespace.shows(shown)))
    }

    /// A column by its name alone.
    ///
    /// # Errors
    /// 42702 where several tables have one of the name.
    fn by_name(&self, name: &Name, place: Place) -> SqlResult<Option<Found>> {
        for (level, scope) in self.levels() {
            let columns = |entry: usize| scope.entries[entry].columns.iter().enumerate();
            let all = scope.shown().filter(|shown| shown.columns);
            let all = all.flat_map(|shown| columns(shown.entry).map(move |column| (shown.entry, column)));
            let known = all.map(|(entry, (column, known))| (Found { level, entry, column }, known.name.as_str()));
            if let Some(found) = meant(known, name, place)? {
                self.check_lateral(found.level, found.entry, place)?;
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The column that a name alone means, if it is one of this query's.
    ///
    /// # Errors
    /// 42702 where several tables have one of the name.
    pub(crate) fn own_column(&self, name: &Name, place: Place) -> SqlResult<bool> {
        Ok(self.by_name(name, place)?.is_some())
    }

    /// A table by its name.
    ///
    /// # Errors
    /// 42P09 where several have it.
    pub(crate) fn entry(&self, schema: Option<&Name>, name: &Name, place: Place) -> SqlResult<Option<(usize, usize)>> {
        let is_of_schema = |entry: &Entry, schema: &Name| entry.schema.as_ref().is_some_and(|own| schema.is(own));
        let may_be = |entry: &Entry| schema.is_none_or(|schema| is_of_schema(entry, schema));
        for (level, scope) in self.levels() {
            let of = |is_meant: &dyn Fn(&str) -> bool| -> Vec<usize> {
                let named = scope.shown().filter(|shown| shown.by_name).map(|shown| shown.entry);
                let is_this = |at: &usize| may_be(&scope.entries[*at]) && is_meant(&scope.entries[*at].name);
                named.filter(is_this).collect()
            };
            let exact = of(&|known| known == name.text);
            let found = if exact.is_empty() { of(&|known| name.is(known)) } else { exact };
            match found.as_slice() {
                [] => {}
                [only] => {
                    self.check_lateral(level, *only, place)?;
                    return Ok(Some((level, *only)));
                }
                _ => {
                    let message = format!("table reference \"{}\" is ambiguous", name.text);
                    return Err(SqlError::new(ErrorKind::AmbiguousAlias, message).at_place(place));
                }
            }
        }
        Ok(None)
    }

    /// A table by its dotted name.
    ///
    /// # Errors
    /// 42P01 where there is none; as [`Scope::entry`].
    pub(crate) fn table(&self, parts: &[Name], place: Place) -> SqlResult<(usize, usize)> {
        let (schema, table) = match parts {
            [table] => (None, table),
            [.., schema, table] => (Some(schema), table),
            [] => return Err(SqlError::new(ErrorKind::Internal, "a table without a name")),
        };
        self.entry(schema, table, place)?.ok_or_else(|| self.no_table(schema, table, place))
    }

    /// PostgreSQL's `check_lateral_ref_ok`.
    fn check_lateral(&self, level: usize, entry: usize, place: Place) -> SqlResult<()> {
        let Some(scope) = self.scope_at(level) else { return Ok(()) };
        let refused = |shown: &Shown| shown.entry == entry && shown.lateral_only && !shown.lateral_allowed;
        if !scope.namespace.is_some_and(|namespace| namespace.shown.iter().any(refused)) {
            return Ok(());
        }
        let name = scope.entries.get(entry).map_or("", |entry| &entry.name);
        let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let error = SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(place);
        Err(if scope.namespace.is_some_and(|namespace| namespace.target == Some(entry)) {
            error.with_hint(not_from_here(name))
        } else {
            error.with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
        })
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
                    None => Err(self.no_column(None, name, place)),
                }
            }
            [_, _, _, _] => {
                let message = format!("cross-database references are not implemented: {}", dotted(parts));
                Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place))
            }
            [_, _, _, _, ..] => {
                let message = format!("improper qualified name (too many dotted names): {}", dotted(parts));
                Err(SqlError::new(ErrorKind::Syntax, message).at_place(place))
            }
            [.., table, name] => {
                let schema = parts.len().checked_sub(3).map(|at| &parts[at]);
                let Some((level, entry)) = self.entry(schema, table, place)? else {
                    return Err(self.no_table(schema, table, place));
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
            None => Err(self.no_column(Some(&known.name), name, place)),
        }
    }

    /// Whether the name is a table's that can be named here.
    pub(crate) fn has_table(&self, name: &Name) -> bool {
        self.levels()
            .any(|(_, scope)| scope.shown().any(|shown| shown.by_name && name.is(&scope.entries[shown.entry].name)))
    }

    /// A column; one of a join that is only one of what is joined is that.
    pub(crate) fn column(&self, found: Found, place: Place) -> BoundExpr {
        let Found { level, entry, column } = found;
        let known = self.at(level, entry).and_then(|entry| entry.columns.get(column));
        let ty = known.map_or(ExprType::plain(oids::UNKNOWN), |column| column.ty);
        let namespace = self.scope_at(level).and_then(|scope| scope.namespace);
        let same = namespace.and_then(|namespace| namespace.same.get(&(entry, column)));
        let (entry, column) = same.copied().unwrap_or((entry, column));
        BoundExpr::new(ExprKind::Column { level, entry, column }, ty, place)
    }

    pub(crate) fn row(&self, level: usize, entry: usize, place: Place) -> BoundExpr {
        let namespace = self.scope_at(level).and_then(|scope| scope.namespace);
        let is_value =
            |namespace: &Namespace| namespace.shown.iter().any(|shown| shown.entry == entry && shown.is_value);
        if namespace.is_some_and(is_value) {
            return self.column(Found { level, entry, column: 0 }, place);
        }
        let row_type = self.at(level, entry).map_or(0, |entry| entry.row_type);
        let oid = if row_type == 0 { oids::RECORD } else { row_type };
        BoundExpr::new(ExprKind::WholeRow { level, entry }, ExprType::plain(oid), place)
    }

    /// The columns of an entry that `*` shows.
    pub(crate) fn shown_columns(&self, level: usize, entry: usize, place: Place) -> Vec<BoundExpr> {
        let columns = self.at(level, entry).map_or(&[][..], |entry| &entry.columns).iter().enumerate();
        let shown = columns.filter(|(_, column)| !column.is_hidden);
        shown.map(|(column, _)| self.column(Found { level, entry, column }, place)).collect()
    }

    /// The entries that are no joins, of this query and those around it.
    fn read_from(&self) -> impl Iterator<Item = &Entry> {
        self.levels().flat_map(|(_, scope)| {
            let is_join = |at: usize| scope.namespace.is_some_and(|namespace| namespace.joins.contains(&at));
            scope.entries.iter().enumerate().filter(move |(at, _)| !is_join(*at)).map(|(_, entry)| entry)
        })
    }

    /// PostgreSQL's `errorMissingColumn`.
    fn no_column(&self, table: Option<&str>, name: &Name, place: Place) -> Box<SqlError> {
        let text = &name.text;
        let message = match table {
            Some(table) => format!("column {table}.{text} does not exist"),
            None => format!("column \"{text}\" does not exist"),
        };
        let error = SqlError::new(ErrorKind::UndefinedColumn, message).at_place(place);
        for entry in self.read_from().filter(|entry| table.is_none_or(|table| table == entry.name)) {
            match entry.columns.iter().filter(|column| column.name == *text).count() {
                0 => {}
                1 => {
                    let of = &entry.name;
                    return error.with_hint(format!(
                        "There is a column named \"{text}\" in table \"{of}\", but it cannot be referenced from this part \
                         of the query."
                    ));
                }
                _ => return ambiguous(name, place),
            }
        }
        if ROW_VERSIONS.contains(&text.as_str()) {
            return error.with_detail("Rows have no place and no transaction number here.").with_hint(
                "The key columns find a row; \"etag\" changes with each of its versions, and can be compared with.",
            );
        }
        let columns = self.read_from();
        let columns = columns.flat_map(|entry| entry.columns.iter().map(|column| (&*entry.name, &*column.name)));
        match hints::nearest(columns, table, text).as_slice() {
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
    pub(crate) fn no_table(&self, schema: Option<&Name>, name: &Name, place: Place) -> Box<SqlError> {
        let text = &name.text;
        // A table may be read from under another name, or be out of sight.
        let known = self.levels().find_map(|(level, scope)| {
            let of_table =
                |entry: &&Entry| schema.is_none() && entry.table.as_ref() == Some(text) || entry.name == *text;
            scope.entries.iter().find(of_table).map(|entry| (level, entry))
        });
        let Some((_, entry)) = known else {
            let message = format!("missing FROM-clause entry for table \"{text}\"");
            return SqlError::new(ErrorKind::UndefinedTable, message).at_place(place);
        };
        let alias = Name { text: entry.name.clone(), is_quoted: true };
        let is_shown = entry.name != *text && matches!(self.entry(None, &alias, place), Ok(Some(_)));
        let hint = if is_shown {
            format!("Perhaps you meant to reference the table alias \"{}\".", entry.name)
        } else {
            not_from_here(&entry.name)
        };
        let message = format!("invalid reference to FROM-clause entry for table \"{text}\"");
        SqlError::new(ErrorKind::UndefinedTable, message).with_hint(hint).at_place(place)
    }
}

fn dotted(parts: &[Name]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".")
}

fn not_from_here(table: &str) -> String {
    format!("There is an entry for table \"{table}\", but it cannot be referenced from this part of the query.")
}

fn ambiguous(name: &Name, place: Place) -> Box<SqlError> {
    let message = format!("column reference \"{}\" is ambiguous", name.text);
    SqlError::new(ErrorKind::AmbiguousColumn, message).at_place(place)
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
    let ambiguous = || ambiguous(name, place);
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
