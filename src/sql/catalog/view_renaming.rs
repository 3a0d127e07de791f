//! The query of a view that has no definition apart, in a store whose schema has another name.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, ObjectNamePart, TableFactor, VisitorMut};
use tablegate_types::error::SqlResult;

use super::View;
use super::view_text::{ident, query_of, text_of};
use crate::syntax::{fold, walk_mut};

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
