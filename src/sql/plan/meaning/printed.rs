//! A query that is kept: as PostgreSQL prints it, and what it reads.

use tablegate_bind::catalogue::Relation;
use tablegate_bind::{
    BoundQuery, BoundStatement, ExprType, Lookup, Oid, ParsedQuery, QueryPrinting, RelationNames, StatementBinder,
    query_text,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::catalogue::KnownTables;
use super::statement::of_types;
use crate::aside::aside;
use crate::catalog::{Definition, ViewUse, marked};
use crate::plan::planner::Planner;
use crate::plan::tables::Mentions;

/// What a view has of its query.
pub(crate) struct Printed {
    pub definition: Definition,
    pub uses: Vec<ViewUse>,
    /// The collations of its columns, where they are not those of their types.
    pub collations: Vec<Option<u32>>,
}

/// Something that the query reads gets another name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Renamed<'r> {
    Relation { oid: Oid, to: &'r str },
    Column { oid: Oid, from: &'r str, to: &'r str },
}

/// Names as they are from now on, while the catalogue has the old ones.
struct Names<'r> {
    renamed: Option<Renamed<'r>>,
}

impl RelationNames for Names<'_> {
    fn relation(&self, relation: &Relation, with_schema: bool) -> String {
        marked(&relation.schema, &self.table(relation), with_schema)
    }

    fn table(&self, relation: &Relation) -> String {
        match self.renamed {
            Some(Renamed::Relation { oid, to }) if oid == relation.oid => to.to_owned(),
            _ => relation.name.clone(),
        }
    }

    fn column(&self, relation: &Relation, column: usize) -> String {
        let name = relation.columns.get(column).map_or("", |column| column.name.as_str());
        match self.renamed {
            Some(Renamed::Column { oid, from, to }) if oid == relation.oid && from == name => to.to_owned(),
            _ => name.to_owned(),
        }
    }
}

impl Planner<'_> {
    /// A query for a view with these columns.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) async fn printed(
        &self,
        query: &ParsedQuery,
        columns: &[String],
        renamed: Option<Renamed<'_>>,
    ) -> SqlResult<Printed> {
        let known = KnownTables::of(self, Mentions::of(query).tables).await;
        let names = Names { renamed };
        aside(|| {
            let binder = StatementBinder::new(&known).with_reading(self.reading());
            let BoundStatement::Query(bound) = binder.bind(query.syntax(), &mut of_types(&[]))? else {
                return Err(SqlError::new(ErrorKind::Internal, "a view that changes rows"));
            };
            if is_traced(&bound) {
                return Err(SqlError::not_supported("SEARCH or CYCLE in a view")
                    .with_hint("Write their columns out, or query with them from outside of a view."));
            }
            let text = |pretty| {
                let settings = QueryPrinting {
                    lookup: Lookup::new(&known),
                    pretty,
                    column_names: Some(columns),
                    relations: &names,
                };
                query_text(&bound, &settings)
            };
            let definition = Definition::of_printed(&text(false), &text(true));
            let keys = bound.needed_keys();
            let mut uses = Vec::new();
            for (oid, read) in bound.read_columns() {
                // Those of the system stay as they are.
                let Some(relation) = known.of_number(oid).filter(|relation| !is_of_system(&relation.schema)) else {
                    continue;
                };
                let columns = read.into_iter().map(|column| names.column(relation, column)).collect();
                uses.push(ViewUse { relation: oid, columns, needs_key: keys.contains(&oid) });
            }
            let lookup = Lookup::new(&known);
            let own = |ty: &ExprType| {
                let own = ty.collation.oid();
                (own != 0 && own != lookup.collation_of_type(ty.oid)).then_some(own)
            };
            let shown = bound.targets.iter().filter(|target| !target.is_hidden);
            let collations = shown.map(|target| own(&target.expr.ty)).collect();
            Ok(Printed { definition, uses, collations })
        })
    }
}

/// Whether a query, or one inside of it, has SEARCH or CYCLE, which it cannot be printed with.
fn is_traced(query: &BoundQuery) -> bool {
    let mut found = query.with.iter().any(|part| part.is_traced);
    query.for_each_read_query(&mut |inner| found |= is_traced(inner));
    found || query.sub_queries.iter().any(is_traced)
}

fn is_of_system(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema")
}
