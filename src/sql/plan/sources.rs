//! What a FROM clause brings into sight: for those who build queries out of others.

use sqlparser::ast::Query;
use tablegate_bind::BoundQuery;
use tablegate_bind::query::bound::JoinTree;
use tablegate_types::error::SqlResult;

use super::planner::Planner;

/// A table of a FROM clause.
pub(crate) struct Source {
    pub alias: String,
    /// What `*` shows.
    pub visible: Vec<String>,
}

impl Planner<'_> {
    /// The tables of a query's FROM clause.
    ///
    /// # Errors
    /// 42P01 for a table that does not exist; what else is wrong with the query.
    pub(crate) async fn sources(&self, query: &Query) -> SqlResult<Vec<Source>> {
        let meaning = self.meaning_of(query).await?;
        let mut sources = Vec::new();
        meaning.query.from.iter().for_each(|tree| add_sources(&meaning.query, tree, &mut sources));
        Ok(sources)
    }
}

fn add_sources(query: &BoundQuery, tree: &JoinTree, sources: &mut Vec<Source>) {
    let entry = match tree {
        JoinTree::Entry(entry) => *entry,
        JoinTree::Join { entry, .. } if query.range[*entry].has_alias => *entry,
        JoinTree::Join { left, right, .. } => {
            add_sources(query, left, sources);
            add_sources(query, right, sources);
            return;
        }
    };
    let entry = &query.range[entry];
    let columns = entry.columns.iter().enumerate().filter(|(number, _)| !entry.is_hidden(*number));
    let visible = columns.map(|(_, column)| column.name.clone()).collect();
    sources.push(Source { alias: entry.name.clone(), visible });
}
