//! Functions in FROM that give the rows of a system relation: PostgreSQL's views are made of them.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{Ident, ObjectName, Query, TableAlias, TableFactor, Visitor, VisitorMut};

use super::forms::last_name;
use crate::syntax::{walk, walk_mut};

/// The functions, and the relations they give.
const RELATIONS: &[(&str, &str)] = &[
    ("pg_show_all_settings", "pg_settings"),
    ("pg_prepared_statement", "pg_prepared_statements"),
    ("pg_cursor", "pg_cursors"),
    ("pg_timezone_names", "pg_timezone_names"),
    ("pg_timezone_abbrevs", "pg_timezone_abbrevs"),
    ("pg_available_extensions", "pg_available_extensions"),
    ("pg_lock_status", "pg_locks"),
];

/// The query with the relations in the place of the functions.
pub(super) fn named(query: &Query) -> Cow<'_, Query> {
    struct Finds;
    impl Visitor for Finds {
        type Break = ();
        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if relation_of(factor).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    if !walk(query, &mut Finds).is_break() {
        return Cow::Borrowed(query);
    }
    let mut query = query.clone();
    let _ = walk_mut(&mut query, &mut Names);
    Cow::Owned(query)
}

/// The relation that a call without arguments gives.
fn relation_of(factor: &TableFactor) -> Option<&'static (&'static str, &'static str)> {
    match factor {
        TableFactor::Table { name, args: Some(args), .. } if args.args.is_empty() => {
            let name = last_name(name);
            RELATIONS.iter().find(|(function, _)| *function == name)
        }
        _ => None,
    }
}

struct Names;

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let Some((function, relation)) = relation_of(factor) else { return ControlFlow::Continue(()) };
        if let TableFactor::Table { name, alias, args, .. } = factor {
            *args = None;
            *name = ObjectName::from(vec![Ident::new("pg_catalog"), Ident::new(*relation)]);
            alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: Ident::new(*function),
                columns: Vec::new(),
                at: None,
            });
        }
        ControlFlow::Continue(())
    }
}
