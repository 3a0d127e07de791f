//! What becomes of a view's query when something it reads gets another name.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, TableAlias, TableFactor, VisitorMut};
use tablegate_types::error::SqlResult;

use super::View;
use super::view_text::{ident, query_of, text_of};
use crate::place::PlacedName;
use crate::syntax::{fold, walk_mut};

/// Lets a query that is spelled out follow a relation's new name. Its columns stay behind the old one as an alias.
pub(crate) fn rename_relation(query: &mut Query, from: &PlacedName, to: &str) {
    let _ = walk_mut(query, &mut Relations { from, to });
}

/// The text of a view's query, with all that it reads of one schema in another one.
///
/// # Errors
/// XX001 when its text is no query.
pub(crate) fn in_schema(view: &View, from: &str, to: &str) -> SqlResult<String> {
    let mut query = query_of(view)?;
    let _ = walk_mut(&mut query, &mut Schemas { from, to });
    Ok(text_of(&query))
}

struct Schemas<'a> {
    from: &'a str,
    to: &'a str,
}

impl VisitorMut for Schemas<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let [schema, table] = name.0.as_slice()
            && schema.as_ident().map(fold).as_deref() == Some(self.from)
        {
            *name = ObjectName(vec![ObjectNamePart::Identifier(ident(self.to)), table.clone()]);
        }
        ControlFlow::Continue(())
    }
}

struct Relations<'a> {
    from: &'a PlacedName,
    to: &'a str,
}

impl VisitorMut for Relations<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = factor {
            let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
            let schema = self.from.place.schema();
            if parts == [&*schema, &self.from.name] {
                *name = ObjectName::from(vec![ident(&schema), ident(self.to)]);
                alias.get_or_insert_with(|| TableAlias {
                    explicit: false,
                    name: ident(&self.from.name),
                    columns: Vec::new(),
                    at: None,
                });
            }
        }
        ControlFlow::Continue(())
    }
}

/// Gives the columns of a query these names, where its text says them.
pub(crate) fn label(query: &mut Query, names: &[String]) {
    label_body(&mut query.body, names);
}

fn label_body(body: &mut SetExpr, names: &[String]) {
    match body {
        SetExpr::Select(select) => {
            for (item, name) in select.projection.iter_mut().zip(names) {
                let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return };
                let expr = expr.clone();
                let keeps_it = crate::syntax::name_of_column(&expr) == Some(name);
                *item = match keeps_it {
                    true => SelectItem::UnnamedExpr(expr),
                    false => SelectItem::ExprWithAlias { expr, alias: ident(name) },
                };
            }
        }
        SetExpr::SetOperation { left, .. } => label_body(left, names),
        SetExpr::Query(query) => label_body(&mut query.body, names),
        _ => {}
    }
}
