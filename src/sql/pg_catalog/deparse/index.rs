//! The definition of an index, read from what is kept of it.

use tablegate_bind::{
    BoundExpr, DEFAULT_COLLATION, ExprKind, ParsedExpression, Usage, collation_name, collation_named,
};
use tablegate_types::quoting::quote_ident;

use crate::relation::{Relation, RelationColumn, RowScope};
use crate::syntax::{IndexDefinition, IndexedPart};

/// What an index is over, in order.
pub(in crate::pg_catalog) struct IndexShape {
    pub columns: Vec<IndexedColumn>,
    include: Vec<String>,
    pub nulls_not_distinct: bool,
    /// Storage parameters and their values.
    parameters: Vec<(String, String)>,
    predicate: Option<Printed>,
}

/// An expression in both forms.
struct Printed {
    full: String,
    pretty: String,
}

/// A column of an index: one of the table's, or an expression.
pub(in crate::pg_catalog) struct IndexedColumn {
    /// The table's column.
    pub column: Option<String>,
    /// Its name among the index's columns.
    pub label: String,
    /// The type of an expression, where it is known.
    pub type_oid: Option<u32>,
    printed: Printed,
    /// A call needs no parentheses around it.
    is_call: bool,
    /// The number of its collation, where it has one of its own.
    pub collation: Option<u32>,
    /// The operator class that was named.
    pub class: Option<String>,
    /// Collation, class and order, where they are not the usual ones.
    options: String,
    /// As `indoption` has it.
    pub order: i32,
}

/// In `indoption`: DESC, NULLS FIRST.
const DESCENDING: i32 = 1;
const NULLS_FIRST: i32 = 2;

impl IndexShape {
    /// Reads what is kept of an index; `None` when that is no definition.
    pub(crate) fn read(table: &Relation, definition: &str) -> Option<Self> {
        let index = IndexDefinition::read(definition)?;
        let scope = RowScope::of(table);
        let mut columns: Vec<IndexedColumn> = Vec::with_capacity(index.columns.len());
        for part in &index.columns {
            let mut read = IndexedColumn::read(&scope, table, part);
            let taken = |label: &str| columns.iter().any(|other| other.label == label);
            let first = read.label.clone();
            for number in 1.. {
                if !taken(&read.label) {
                    break;
                }
                read.label = format!("{first}{number}");
            }
            columns.push(read);
        }
        Some(Self {
            columns,
            include: index.include.iter().map(|included| included.folded()).collect(),
            nulls_not_distinct: index.nulls_not_distinct,
            parameters: index.parameters.into_iter().map(|given| (given.name, given.value)).collect(),
            predicate: index.predicate.as_ref().map(|predicate| {
                let bound = predicate.bind_condition(&mut scope.binder(Usage::IndexPredicate), "WHERE").ok();
                Printed::of(&scope, predicate, bound.as_ref())
            }),
        })
    }

    /// Columns that are only stored with it.
    pub(crate) fn included(&self) -> &[String] {
        &self.include
    }

    /// Storage parameters, as `reloptions` has them.
    pub(crate) fn options(&self) -> Vec<String> {
        self.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// What follows the access method.
    pub(crate) fn definition(&self, pretty: bool) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| column.text(pretty) + &column.options).collect();
        let mut text = format!("({})", columns.join(", "));
        if !self.include.is_empty() {
            let names: Vec<String> = self.include.iter().map(|name| quote_ident(name)).collect();
            text += &format!(" INCLUDE ({})", names.join(", "));
        }
        if self.nulls_not_distinct {
            text += " NULLS NOT DISTINCT";
        }
        if !self.parameters.is_empty() {
            let parameters = self.parameters.iter().map(|(name, value)| format!("{name}='{value}'"));
            text += &format!(" WITH ({})", parameters.collect::<Vec<_>>().join(", "));
        }
        if let Some(predicate) = &self.predicate {
            text += &format!(" WHERE {}", predicate.text(pretty));
        }
        text
    }

    /// One of its columns, as SQL would write it, without its order.
    pub(crate) fn column(&self, position: usize, pretty: bool) -> Option<String> {
        let included = || self.include.get(position.checked_sub(self.columns.len())?).map(|name| quote_ident(name));
        self.columns.get(position).map(|column| column.text(pretty)).or_else(included)
    }

    /// The expressions among its columns, printed in full.
    pub(crate) fn expressions(&self) -> Option<String> {
        let all: Vec<String> =
            self.columns.iter().filter(|c| c.column.is_none()).map(|column| column.printed.full.clone()).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// The pretty form of what [`IndexShape::expressions`] or [`IndexShape::predicate`] gives.
    pub(crate) fn pretty(&self, printed: &str) -> Option<String> {
        if self.expressions().as_deref() == Some(printed) {
            let all = self.columns.iter().filter(|c| c.column.is_none()).map(|column| column.printed.pretty.as_str());
            return Some(all.collect::<Vec<_>>().join(", "));
        }
        self.predicate.as_ref().filter(|predicate| predicate.full == printed).map(|predicate| predicate.pretty.clone())
    }

    pub(crate) fn predicate(&self) -> Option<String> {
        self.predicate.as_ref().map(|predicate| predicate.full.clone())
    }
}

impl IndexedColumn {
    /// Whether it descends, and whether NULL comes first.
    pub(crate) fn order(&self) -> (bool, bool) {
        (self.order & DESCENDING != 0, self.order & NULLS_FIRST != 0)
    }

    fn read(scope: &RowScope<'_>, table: &Relation, part: &IndexedPart) -> Self {
        let (expression, collation) = part.expression.uncollated();
        let given = collation.and_then(|collation| collation_named(&collation).ok());
        let column = expression.as_name().and_then(|name| {
            let folded = name.folded();
            let same = |column: &&RelationColumn| {
                column.name == folded || (!name.is_quoted() && column.name.eq_ignore_ascii_case(&folded))
            };
            table.columns.iter().find(same).map(|column| column.name.clone())
        });
        let label = match &column {
            Some(column) => column.clone(),
            None => expression.called().unwrap_or_else(|| "expr".to_owned()),
        };
        let descending = part.ascending == Some(false);
        let nulls_first = part.nulls_first.unwrap_or(descending);
        let of_column = table.columns.iter().find(|known| Some(&known.name) == column.as_ref());
        let of_column = of_column.and_then(|known| known.collation);
        let shown = given.filter(|given| *given != of_column.unwrap_or(DEFAULT_COLLATION)).and_then(collation_name);
        let mut options = shown.map_or_else(String::new, |name| format!(" COLLATE {}", quote_ident(name)));
        let class = part.class.as_ref().map(|class| class.to_lowercase());
        options.extend(class.iter().map(|class| format!(" {class}")));
        options += match (descending, nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        let order = if descending { DESCENDING } else { 0 } | if nulls_first { NULLS_FIRST } else { 0 };
        let bound = expression.bind_typed(&mut scope.binder(Usage::Index)).ok();
        let is_call = bound.as_ref().is_some_and(is_call);
        let printed = Printed::of(scope, &expression, bound.as_ref());
        let type_oid = bound.map(|bound| bound.ty.oid);
        let collation = given.or(of_column);
        Self { column, label, type_oid, printed, is_call, collation, class, options, order }
    }

    fn text(&self, pretty: bool) -> String {
        let text = self.printed.text(pretty).to_owned();
        if self.column.is_some() || self.is_call { text } else { format!("({text})") }
    }
}

impl Printed {
    /// What cannot be bound is as it was written.
    fn of(scope: &RowScope<'_>, source: &ParsedExpression, bound: Option<&BoundExpr>) -> Self {
        let text = |pretty| bound.map_or_else(|| source.to_string(), |bound| scope.text(bound, pretty));
        Self { full: text(false), pretty: text(true) }
    }

    fn text(&self, pretty: bool) -> &str {
        if pretty { &self.pretty } else { &self.full }
    }
}

/// Whether it is printed as a call.
fn is_call(bound: &BoundExpr) -> bool {
    matches!(
        bound.kind,
        ExprKind::Call { .. }
            | ExprKind::Coalesce(_)
            | ExprKind::Greatest(_)
            | ExprKind::Least(_)
            | ExprKind::NullIf { .. }
            | ExprKind::Word(_)
    )
}
