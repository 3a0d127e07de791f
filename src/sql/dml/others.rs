//! The other tables of UPDATE ... FROM and DELETE ... USING, and what RETURNING shows of them.

use std::collections::HashSet;
use std::ops::ControlFlow;

use arrow::datatypes::FieldRef;
use datafusion::common::DFSchema;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, SelectItem, TableWithJoins, Visitor,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::target::{item, one, select};
use crate::plan::{Planner, Source};
use crate::syntax::{fold, walk};

/// What a change reads besides its target.
#[derive(Default)]
pub(super) struct OtherTables {
    sources: Vec<Source>,
}

impl OtherTables {
    /// Reads a FROM or USING clause.
    ///
    /// # Errors
    /// 42712 for a name that occurs twice, 42P01 for a table that does not exist.
    pub(super) async fn read(planner: &Planner<'_>, target: &Ident, from: &[TableWithJoins]) -> SqlResult<Self> {
        if from.is_empty() {
            return Ok(Self::default());
        }
        // The target is not in sight inside the clause: on its own the clause must do without it.
        let alone = select(vec![one()], from.to_vec(), None);
        let sources = planner.sources(&alone).await?;
        let mut names = HashSet::from([fold(target)]);
        for source in sources.iter().filter(|source| !source.alias.is_empty()) {
            if !names.insert(source.alias.clone()) {
                let message = format!("table name \"{}\" specified more than once", source.alias);
                return Err(SqlError::new(ErrorKind::DuplicateAlias, message));
            }
        }
        Ok(Self { sources })
    }

    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The columns that a RETURNING clause shows or names.
    pub(super) fn columns_for(&self, returning: Option<&[SelectItem]>) -> OtherColumns {
        let Some(items) = returning else { return OtherColumns::default() };
        let aliases: Vec<&str> = self.sources.iter().map(|source| source.alias.as_str()).collect();
        let named = Named::of(items, &aliases);
        let mut tables = Vec::new();
        for source in &self.sources {
            let mut table = OtherTable { alias: source.alias.clone(), columns: Vec::new(), hidden: HashSet::new() };
            for (column, hidden) in
                source.visible.iter().map(|c| (c, false)).chain(source.hidden.iter().map(|c| (c, true)))
            {
                if named.shows(column, hidden) && !table.columns.contains(column) {
                    table.columns.push(column.clone());
                    if hidden {
                        table.hidden.insert(column.clone());
                    }
                }
            }
            if !table.columns.is_empty() {
                tables.push(table);
            }
        }
        OtherColumns { tables, fields: Vec::new() }
    }
}

/// Columns of the other tables, as they come behind those of the target.
#[derive(Default)]
pub(super) struct OtherColumns {
    tables: Vec<OtherTable>,
    /// Their types, once the query that reads them is planned.
    fields: Vec<FieldRef>,
}

/// Columns of one of the tables.
pub(super) struct OtherTable {
    pub alias: String,
    pub columns: Vec<String>,
    /// Those of them that `*` does not show.
    pub hidden: HashSet<String>,
}

impl OtherColumns {
    pub(super) fn tables(&self) -> &[OtherTable] {
        &self.tables
    }

    /// The fields of all tables' columns, one table after the other.
    pub(super) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// The columns as select items.
    pub(super) fn items(&self, first_label: usize) -> Vec<SelectItem> {
        let columns = self.tables.iter().flat_map(|table| table.columns.iter().map(move |c| (&table.alias, c)));
        let item = |(i, (alias, column)): (usize, (&String, &String))| {
            item(&Ident::with_quote('"', alias.clone()), column, first_label + i)
        };
        columns.enumerate().map(item).collect()
    }

    /// With the types that the columns have in a query's result, in which they are the last.
    #[must_use]
    pub(super) fn typed(mut self, schema: &DFSchema) -> Self {
        let count = self.tables.iter().map(|table| table.columns.len()).sum();
        let fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
        self.fields = fields.iter().skip(fields.len().saturating_sub(count)).cloned().collect();
        self
    }
}

/// The column names in a RETURNING clause, folded.
#[derive(Default)]
pub(super) struct Named<'a> {
    all: bool,
    names: HashSet<String>,
    /// Tables that may be named as whole rows.
    tables: &'a [&'a str],
}

impl<'a> Named<'a> {
    /// What is named in `items`; the name of one of the tables shows all that `*` does.
    pub(super) fn of(items: &[SelectItem], tables: &'a [&'a str]) -> Self {
        let mut named = Self { tables, ..Self::default() };
        for item in items {
            named.all |= matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
            let _ = walk(item, &mut named);
        }
        named
    }

    /// Whether a column is shown; `hidden` ones are not by `*`.
    pub(super) fn shows(&self, column: &str, hidden: bool) -> bool {
        (self.all && !hidden) || self.names.contains(&column.to_ascii_lowercase())
    }
}

impl Visitor for Named<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => {
                self.all |= self.tables.contains(&fold(ident).as_str());
                self.names.insert(ident.value.to_ascii_lowercase());
            }
            Expr::CompoundIdentifier(parts) => {
                self.names.extend(parts.last().map(|ident| ident.value.to_ascii_lowercase()));
            }
            Expr::QualifiedWildcard(..) => self.all = true,
            Expr::Function(Function { args: FunctionArguments::List(list), .. }) => {
                let is_row = |argument: &FunctionArg| {
                    matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)))
                };
                self.all |= list.args.iter().any(is_row);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
