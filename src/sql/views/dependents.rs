//! The views that depend on tables and on other views.

use std::sync::Arc;

use tablegate_types::error::Notice;

use crate::catalog::{CatalogView, View};

/// A view, and what it depends on.
pub(crate) struct Dependent {
    pub view: Arc<View>,
    /// As messages name it: `table t`, `view v`, `column a of table t`.
    pub on: String,
    /// Position of the object it depends on, however far away, among those asked about.
    pub root: usize,
}

/// What views may depend on.
pub(crate) struct Needed<'a> {
    pub relation: u32,
    /// As messages name it.
    pub what: String,
    part: Part<'a>,
}

/// What of a relation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    All,
    Column(&'a str),
    PrimaryKey,
}

impl<'a> Needed<'a> {
    pub(crate) fn table(relation: u32, name: &str) -> Self {
        Self { relation, what: format!("table {name}"), part: Part::All }
    }

    pub(crate) fn view(view: &View) -> Self {
        Self { relation: view.oid, what: format!("view {}", view.name), part: Part::All }
    }

    pub(crate) fn column(relation: u32, table: &str, column: &'a str) -> Self {
        Self { relation, what: format!("column {column} of table {table}"), part: Part::Column(column) }
    }

    pub(crate) fn primary_key(relation: u32, table: &str, constraint: &str) -> Self {
        Self { relation, what: format!("constraint {constraint} on table {table}"), part: Part::PrimaryKey }
    }
}

/// The views that need these, those that need them in turn among them; each once, and none that is itself asked about.
pub(crate) fn dependents_of(catalog: &CatalogView, needed: &[Needed<'_>]) -> Vec<Dependent> {
    let is_asked = |view: &View| needed.iter().any(|n| n.relation == view.oid && n.part == Part::All);
    let mut found: Vec<Dependent> = Vec::new();
    for (root, wanted) in needed.iter().enumerate() {
        let mut open = vec![(wanted.relation, wanted.what.clone(), wanted.part)];
        while let Some((relation, what, part)) = open.pop() {
            for view in catalog.views() {
                let Some(used) = view.use_of(relation) else { continue };
                let is_needed = match part {
                    Part::All => true,
                    Part::Column(column) => used.columns.iter().any(|name| name == column),
                    Part::PrimaryKey => used.needs_key,
                };
                if !is_needed || is_asked(view) || found.iter().any(|known| known.view.oid == view.oid) {
                    continue;
                }
                found.push(Dependent { view: view.clone(), on: what.clone(), root });
                open.push((view.oid, format!("view {}", view.name), Part::All));
            }
        }
    }
    found
}

/// The lines of a DETAIL that tell why something cannot be dropped.
pub(crate) fn needed_by_views<'d>(dependents: impl IntoIterator<Item = &'d Dependent>) -> Vec<String> {
    dependents.into_iter().map(|d| format!("view {} depends on {}", d.view.name, d.on)).collect()
}

/// What DROP ... CASCADE tells.
pub(crate) fn cascades(dependents: &[Dependent]) -> Option<Notice> {
    let lines: Vec<String> = dependents.iter().map(|d| format!("drop cascades to view {}", d.view.name)).collect();
    match lines.as_slice() {
        [] => None,
        [one] => Some(Notice::info(one)),
        several => {
            let message = format!("drop cascades to {} other objects", several.len());
            Some(Notice::info(message).with_detail(several.join("\n")))
        }
    }
}
