//! What the columns of a select can mean, and what is said when they mean nothing.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{CaseWhen, CastKind, DataType, Expr, Ident};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::suggestion::Suggestion;
use super::whole_row::WholeRow;
use super::windows::NamedWindow;
use super::{Columns, Resolver, differ_in_case, quoted};
use crate::syntax;
use crate::syntax::{AtSpan, fold};

/// The tables of one FROM clause.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub items: Vec<Item>,
    /// Tables that are there, but must not be named from where this scope is seen.
    pub unreachable: Vec<String>,
    /// The definitions of the select's WINDOW clause.
    pub windows: Vec<NamedWindow>,
}

/// One item of a FROM list: a table, or several joined.
#[derive(Debug, Clone, Default)]
pub(super) struct Item {
    /// The tables by their aliases.
    pub sources: Vec<Source>,
    /// The columns that a bare name can mean, in the order of `*`: USING has merged some.
    pub columns: Vec<ScopeColumn>,
}

/// One table.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub alias: String,
    /// The table's own name, where the alias hides it.
    pub table: Option<String>,
    pub columns: Vec<ScopeColumn>,
    /// Whether all columns are known.
    pub is_complete: bool,
    /// A function: its name stands for its only column too.
    pub is_function: bool,
    /// The columns of its primary key.
    pub key: Vec<String>,
    /// Its OID, if it is a table of the catalogue.
    pub oid: Option<u32>,
    pub row: WholeRow,
}

/// A column in sight.
#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    /// The name it is known by.
    pub name: String,
    /// Not part of `*`.
    pub hidden: bool,
    pub place: Place,
}

/// Where a column's values come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// `"table"."column"`
    Column { table: String, column: String },
    /// The columns of an outer join that USING has merged.
    Merged(Box<Expr>),
}

impl ScopeColumn {
    pub(super) fn expr(&self) -> Expr {
        match &self.place {
            Place::Column { table, column } => Expr::CompoundIdentifier(vec![quoted(table), quoted(column)]),
            Place::Merged(expr) => (**expr).clone(),
        }
    }
}

impl Source {
    /// A table whose columns have names of their own, behind an alias.
    pub(super) fn of_columns(alias: &str, columns: &Columns) -> Self {
        let own = columns.iter().flat_map(|c| c.iter()).map(|output| ScopeColumn {
            name: output.label.clone(),
            hidden: false,
            place: Place::Column { table: alias.to_owned(), column: output.name.clone() },
        });
        Self {
            alias: alias.to_owned(),
            table: None,
            columns: own.collect(),
            is_complete: columns.is_some(),
            is_function: false,
            key: Vec::new(),
            oid: None,
            row: WholeRow::default(),
        }
    }

    /// `tableoid`: the table's OID, where its row is there.
    fn table_oid(&self) -> Option<Expr> {
        let oid = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(syntax::number(self.oid?)),
            data_type: DataType::IntUnsigned(None),
            array: false,
            format: None,
        };
        let key = self.key.first().and_then(|key| self.columns.iter().find(|column| column.name == *key));
        let Some(key) = key else { return Some(oid) };
        Some(Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen { condition: Expr::IsNotNull(Box::new(key.expr())), result: oid }],
            else_result: None,
        })
    }
}

/// System columns of PostgreSQL that tell rows and their versions apart.
const ROW_VERSIONS: [&str; 5] = ["ctid", "xmin", "xmax", "cmin", "cmax"];
/// The system column with the OID of a row's table. Others (`ctid`, `xmin`, ...) have no counterpart.
const TABLE_OID: &str = "tableoid";

impl Item {
    pub(super) fn of(source: Source) -> Self {
        Self { columns: source.columns.clone(), sources: vec![source] }
    }
}

impl Scope {
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.items.iter().flat_map(|item| &item.sources)
    }

    pub(super) fn source(&self, alias: &str) -> Option<&Source> {
        self.sources().find(|s| s.alias == alias)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.sources().all(|s| s.is_complete)
    }

    pub(super) fn aliases(&self) -> impl Iterator<Item = &str> {
        self.sources().map(|s| s.alias.as_str())
    }

    /// The column a bare name means here.
    ///
    /// # Errors
    /// 42702 when it can mean several.
    pub(super) fn find(&self, ident: &Ident) -> SqlResult<Option<&ScopeColumn>> {
        find(self.items.iter().flat_map(|item| &item.columns), ident)
    }
}

/// The column that an identifier means among others.
///
/// # Errors
/// 42702 when it can mean several.
pub(super) fn find<'c>(
    columns: impl Iterator<Item = &'c ScopeColumn> + Clone,
    ident: &Ident,
) -> SqlResult<Option<&'c ScopeColumn>> {
    let name = fold(ident);
    let mut exact = columns.clone().filter(|c| c.name == name);
    if let Some(first) = exact.next() {
        return match exact.any(|other| other.place != first.place) {
            true => Err(ambiguous(&name).at_span(ident.span)),
            false => Ok(Some(first)),
        };
    }
    if ident.quote_style.is_some() {
        return Ok(None);
    }
    let candidates: Vec<&ScopeColumn> = columns.filter(|c| c.name.eq_ignore_ascii_case(&name)).collect();
    let Some(first) = candidates.first() else { return Ok(None) };
    if candidates.iter().all(|c| c.place == first.place) {
        return Ok(Some(first));
    }
    let mut names: Vec<&str> = candidates.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let error = if names.len() > 1 { differ_in_case(&name, &names) } else { ambiguous(&name) };
    Err(error.at_span(ident.span))
}

pub(super) fn ambiguous(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{name}\" is ambiguous"))
}

pub(super) fn no_column(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedColumn, format!("column \"{name}\" does not exist"))
}

/// A column found: how many scopes out, and what stands for it.
pub(super) struct Found {
    pub levels_out: usize,
    pub expr: Expr,
}

impl Resolver<'_> {
    /// What a bare name means; `None` when nothing known has that name, but not everything is known.
    ///
    /// # Errors
    /// 42703, 42702.
    pub(super) fn bare(&self, ident: &Ident) -> SqlResult<Option<Found>> {
        for (levels_out, scope) in self.scopes.iter().rev().enumerate() {
            if let Some(column) = scope.find(ident)? {
                return Ok(Some(Found { levels_out, expr: column.expr() }));
            }
            if !scope.is_complete() {
                return Ok(None);
            }
        }
        let name = fold(ident);
        for (levels_out, scope) in self.scopes.iter().rev().enumerate() {
            if let Some(Source { is_function: true, columns, .. }) = scope.source(&name)
                && let [column] = columns.as_slice()
            {
                return Ok(Some(Found { levels_out, expr: column.expr() }));
            }
        }
        if name == TABLE_OID
            && let Some(scope) = self.scopes.last()
        {
            let mut oids = scope.sources().filter_map(Source::table_oid);
            if let Some(expr) = oids.next() {
                return match oids.next() {
                    None => Ok(Some(Found { levels_out: 0, expr })),
                    Some(_) => Err(ambiguous(&name)),
                };
            }
        }
        self.whole_row(&name)?.map(Some).ok_or_else(|| {
            let error = no_column(&name).at_span(ident.span);
            self.with_suggestion(error, &name, None)
        })
    }

    /// What `table.column` means.
    ///
    /// # Errors
    /// 42P01 for a table that is not there or not in reach, 42703, 42702.
    pub(super) fn qualified(&self, table: &Ident, column: &Ident) -> SqlResult<Option<Found>> {
        let alias = fold(table);
        for (levels_out, scope) in self.scopes.iter().rev().enumerate() {
            let Some(source) = scope.source(&alias) else { continue };
            return match find(source.columns.iter(), column)? {
                Some(column) => Ok(Some(Found { levels_out, expr: column.expr() })),
                None if !source.is_complete => Ok(None),
                None if fold(column) == TABLE_OID && source.oid.is_some() => {
                    Ok(source.table_oid().map(|expr| Found { levels_out, expr }))
                }
                None => {
                    let message = format!("column {alias}.{} does not exist", fold(column));
                    let error = SqlError::new(ErrorKind::UndefinedColumn, message).at_span(table.span);
                    Err(self.with_suggestion(error, &fold(column), Some(&alias)))
                }
            };
        }
        Err(self.missing_table(&alias).at_span(table.span))
    }

    /// An error about a column that is not there, with a hint where one of another spelling is.
    fn with_suggestion(&self, error: Box<SqlError>, column: &str, alias: Option<&str>) -> Box<SqlError> {
        if ROW_VERSIONS.contains(&column) {
            return error.with_detail("Rows have no place and no transaction number here.").with_hint(
                "The key columns find a row; \"etag\" changes with each of its versions, and can be compared with.",
            );
        }
        let sources = self.scopes.iter().rev().flat_map(Scope::sources);
        match Suggestion::hint(column, alias, sources) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    pub(super) fn missing_table(&self, alias: &str) -> Box<SqlError> {
        let invalid = || {
            let message = format!("invalid reference to FROM-clause entry for table \"{alias}\"");
            SqlError::new(ErrorKind::UndefinedTable, message)
        };
        if self.scopes.iter().any(|scope| scope.unreachable.iter().any(|u| u == alias)) {
            let detail = format!(
                "There is an entry for table \"{alias}\", but it cannot be referenced from this part of the query."
            );
            return invalid().with_detail(detail);
        }
        let hidden = self.scopes.iter().rev().flat_map(Scope::sources).find(|s| s.table.as_deref() == Some(alias));
        if let Some(source) = hidden {
            let hint = format!("Perhaps you meant to reference the table alias \"{}\".", source.alias);
            return invalid().with_hint(hint);
        }
        SqlError::new(ErrorKind::UndefinedTable, format!("missing FROM-clause entry for table \"{alias}\""))
    }
}
