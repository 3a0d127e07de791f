//! Facts of PostgreSQL 15: how it prints queries, as `facts/record_views.py` writes it down.
//!
//! Each fact is a query, before which the view's columns may be named, and the two texts of a view of it.

use super::*;
use crate::facts::tables::{Tables, tables};
use crate::facts::{compare, compare_file, written};
use crate::parameters::Parameters;
use crate::{BoundStatement, bind_statement};

/// The names of the view's columns, and the query.
fn parts(fact: &str) -> (Option<Vec<String>>, &str) {
    let begins = |query: &str| ["SELECT", "WITH", "VALUES"].iter().any(|word| query.starts_with(word));
    match fact.strip_prefix('(').and_then(|fact| fact.split_once(") ")) {
        Some((names, query)) if begins(query) && !begins(names) => {
            (Some(names.split(", ").map(|name| name.trim_matches('"').to_owned()).collect()), query)
        }
        _ => (None, fact),
    }
}

fn bound(tables: &Tables, query: &str) -> Option<crate::BoundQuery> {
    match bind_statement(query, tables, &mut Parameters::default()).ok()? {
        BoundStatement::Query(query) => Some(*query),
        BoundStatement::Change(_) => None,
    }
}

/// The pretty text of a query.
fn text(tables: &Tables, query: &crate::BoundQuery) -> String {
    let (lookup, relations) = (Lookup::new(tables), &StoredNames { schema: "public" });
    query_text(query, &QueryPrinting { lookup, pretty: true, column_names: None, relations })
}

/// Both texts of a view; `None` of what the parser does not read.
fn answer(tables: &Tables, fact: &str) -> Option<String> {
    let (names, query) = parts(fact);
    let query = bound(tables, query)?;
    let relations = StoredNames { schema: "public" };
    let own: Vec<String> = query.results().map(|target| target.name.clone()).collect();
    let names = names.map(|names| [&names[..], &own[names.len()..]].concat());
    let text = |pretty| {
        let lookup = Lookup::new(tables);
        let settings = QueryPrinting { lookup, pretty, column_names: names.as_deref(), relations: &relations };
        written(&query_text(&query, &settings))
    };
    Some(format!("=\t{}\t{}", text(false), text(true)))
}

/// Forms that the parser of this crate's dependency does not read, and the server respells before it, and those that are
/// refused, as what is read from a table's sample.
const UNREAD: usize = 25;

#[test]
fn queries_are_printed_as_postgresql_prints_them() {
    let tables = tables();
    compare(include_str!("../facts/views.txt"), UNREAD, |fact| answer(&tables, fact));
}

#[test]
fn facts_of_a_file() {
    let tables = tables();
    compare_file("VIEW_FACTS", |fact| answer(&tables, fact));
}

#[test]
fn what_is_read_is_known() {
    let tables = tables();
    let read = |query: &str| {
        let read = bound(&tables, query).unwrap().read_columns();
        let relation = |oid: &crate::Oid| tables.relations.iter().find(|relation| relation.oid == *oid).unwrap();
        let columns = |(oid, columns): (&crate::Oid, &std::collections::BTreeSet<usize>)| {
            let of = relation(oid);
            let names: Vec<&str> = columns.iter().map(|column| &*of.columns[*column].name).collect();
            format!("{}({})", of.name, names.join(" "))
        };
        read.iter().map(columns).collect::<Vec<_>>().join(" ")
    };
    for (query, expected) in [
        ("SELECT 1", ""),
        ("SELECT 1 FROM t1", "t1()"),
        ("SELECT b FROM t1 WHERE c > 1 ORDER BY d", "t1(b c d)"),
        ("SELECT count(t1) FROM t1", "t1(a b c d)"),
        ("SELECT t1.c FROM t1 JOIN t2 USING (a)", "t1(a c) t2(a)"),
        ("SELECT b FROM t1 FULL JOIN t2 USING (a, b)", "t1(a b) t2(a b)"),
        ("SELECT j.e FROM (t1 JOIN t2 ON t1.a = t2.a) AS j", "t1(a) t2(a e)"),
        ("SELECT (SELECT t1.a + e FROM t2 LIMIT 1) FROM t1", "t1(a) t2(e)"),
        ("WITH q AS (SELECT a, b FROM t1) SELECT 1 FROM q WHERE EXISTS (SELECT x FROM t3)", "t1(a b) t3(x)"),
        ("SELECT a FROM t1 UNION SELECT e FROM t2", "t1(a) t2(e)"),
        ("SELECT sum(a) OVER (PARTITION BY b ORDER BY d) FROM t1", "t1(a b d)"),
        ("SELECT g FROM t1, LATERAL generate_series(1, t1.a) g", "t1(a)"),
    ] {
        assert_eq!(read(query), expected, "{query}");
    }
}

#[test]
fn names_are_those_of_now() {
    struct Renamed;
    impl RelationNames for Renamed {
        fn relation(&self, relation: &crate::catalogue::Relation, with_schema: bool) -> String {
            format!("{}{}", if with_schema { "far." } else { "" }, self.table(relation))
        }
        fn table(&self, relation: &crate::catalogue::Relation) -> String {
            format!("new_{}", relation.name)
        }
        fn column(&self, relation: &crate::catalogue::Relation, column: usize) -> String {
            format!("new_{}", relation.columns[column].name)
        }
    }
    let tables = tables();
    let text = |query: &str| {
        let lookup = Lookup::new(&tables);
        let settings = QueryPrinting { lookup, pretty: true, column_names: None, relations: &Renamed };
        query_text(&bound(&tables, query).unwrap(), &settings)
    };
    assert_eq!(text("SELECT a FROM t1"), " SELECT new_t1.new_a AS a\n   FROM new_t1;");
    let joined =
        " SELECT x.a\n   FROM new_t1 x(a, new_b, new_c, new_d)\n     JOIN new_t2(a, new_b, new_e, new_f) USING (a);";
    assert_eq!(text("SELECT a FROM t1 x JOIN t2 USING (a)"), joined.replace("new_t2(", "new_t2 new_t2("));
}

#[test]
fn long_and_deep_queries_are_printed() {
    let tables = tables();
    let text = |query: &str| text(&tables, &bound(&tables, query).unwrap());
    let members = vec!["SELECT a FROM t1"; 2_000].join(" UNION ALL ");
    assert_eq!(text(&members).matches("UNION ALL").count(), 1_999);
    let joins: Vec<String> = (1..500).map(|number| format!("JOIN t1 x{number} USING (a)")).collect();
    assert_eq!(text(&format!("SELECT 1 FROM t1 {}", joins.join(" "))).matches("USING (a)").count(), 499);
}

#[test]
fn sets_inside_of_sets_are_printed_as_one_list() {
    use crate::query::bound::GroupingSet;
    let tables = tables();
    let mut query = bound(&tables, "SELECT a, b FROM t1 GROUP BY GROUPING SETS (a, b)").unwrap();
    let simple = |keys: &[usize]| GroupingSet::Simple(keys.to_vec());
    let inner = GroupingSet::Sets(vec![simple(&[0]), simple(&[0, 1])]);
    query.grouping.sets = vec![GroupingSet::Sets(vec![inner, simple(&[])])];
    query.grouping.is_distinct = true;
    let text = text(&tables, &query);
    assert!(text.ends_with("GROUP BY DISTINCT GROUPING SETS ((t1.a), (t1.a, t1.b), ());"), "{text}");
}
