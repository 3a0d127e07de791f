//! Expressions beside what PostgreSQL 15 prints for them.

use std::sync::Arc;

use tablegate_types::sql_type::SqlType;

use super::*;
use crate::relation::ColumnSource;

fn table() -> Relation {
    let array = |item: SqlType| SqlType::Array(Box::new(item));
    let columns = [
        ("a", SqlType::Int4),
        ("b", SqlType::Int2),
        ("c", SqlType::Int8),
        ("n", SqlType::Numeric(Some((10, 2)))),
        ("t", SqlType::Text),
        ("v", SqlType::Varchar(Some(10))),
        ("ch", SqlType::Char(3)),
        ("d", SqlType::Date),
        ("ts", SqlType::Timestamp),
        ("tz", SqlType::Timestamptz),
        ("f", SqlType::Float8),
        ("r", SqlType::Float4),
        ("bo", SqlType::Bool),
        ("u", SqlType::Uuid),
        ("j", SqlType::Jsonb),
        ("ar", array(SqlType::Int4)),
        ("ta", array(SqlType::Text)),
        ("i", SqlType::Interval),
        ("by", SqlType::Bytea),
        ("nm", SqlType::Name),
    ];
    let column = |(name, sql_type): (&str, SqlType)| RelationColumn::new(name, sql_type, ColumnSource::ETag);
    Relation { columns: columns.map(column).to_vec(), ..Relation::for_tests("things") }
}

#[test]
fn conditions_print_as_postgresqls() {
    let table = table();
    for (source, full, pretty) in [
        ("n > 0", "(n > (0)::numeric)", "n > 0::numeric"),
        (
            "V in ('a', 'b')",
            "((v)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            "v::text = ANY (ARRAY['a'::character varying, 'b'::character varying]::text[])",
        ),
        ("ch = 'a' or nm = 'x'", "((ch = 'a'::bpchar) OR (nm = 'x'::name))", "ch = 'a'::bpchar OR nm = 'x'::name"),
        (
            "tz > '2020-01-01'",
            "(tz > '2020-01-01 00:00:00+00'::timestamp with time zone)",
            "tz > '2020-01-01 00:00:00+00'::timestamp with time zone",
        ),
        ("no_such_column > 1", "no_such_column > 1", "no_such_column > 1"),
    ] {
        assert_eq!(
            (condition(&table, source, false).as_str(), condition(&table, source, true).as_str()),
            (full, pretty)
        );
    }
    assert_eq!(columns_in(&table, "t || v = 'x' AND a > 0"), [1, 5, 6]);
}

#[test]
fn defaults_print_as_postgresqls() {
    let table = Relation::for_tests("things");
    for (sql_type, source, shown) in [
        (SqlType::Text, "'none'", "'none'::text"),
        (SqlType::Varchar(Some(4)), "'abcd'", "'abcd'::character varying"),
        (SqlType::Char(3), "'a'", "'a'::bpchar"),
        (SqlType::Date, "'2024-02-29'", "'2024-02-29'::date"),
        (SqlType::Int4, "'5'", "5"),
        (SqlType::Int4, "-1", "'-1'::integer"),
        (SqlType::Numeric(Some((10, 2))), "0", "0"),
        (SqlType::Bool, "true", "true"),
        (SqlType::Bool, "'f'", "false"),
        (SqlType::Array(Box::new(SqlType::Text)), "'{}'", "'{}'::text[]"),
        (SqlType::Timestamptz, "now()", "now()"),
        (SqlType::Timestamptz, "current_timestamp", "CURRENT_TIMESTAMP"),
        (SqlType::Int8, "nextval('s')", "nextval('s'::regclass)"),
        (SqlType::Int8, "nextval('s'::regclass) + 1", "(nextval('s'::regclass) + 1)"),
    ] {
        let default = Some(source.to_owned());
        let column = RelationColumn { default, ..RelationColumn::new("c", sql_type, ColumnSource::ETag) };
        let found = value_source(&table, &column).unwrap();
        assert_eq!((found.as_str(), expression(Some(&table), &found, false).as_str()), (shown, shown), "{source}");
    }
}

#[test]
fn indexes_print_as_postgresqls() {
    let table = Arc::new(table());
    for (kept, full, pretty) in [
        ("(lower(v), a DESC)", "(lower((v)::text), a DESC)", "(lower(v::text), a DESC)"),
        ("((a + 1)) WHERE (bo)", "(((a + 1))) WHERE bo", "((a + 1)) WHERE bo"),
        (
            "(a NULLS FIRST) INCLUDE (b) WHERE (a > 0)",
            "(a NULLS FIRST) INCLUDE (b) WHERE (a > 0)",
            "(a NULLS FIRST) INCLUDE (b) WHERE a > 0",
        ),
    ] {
        let shape = IndexShape::read(&table, kept).unwrap();
        assert_eq!((shape.definition(false).as_str(), shape.definition(true).as_str()), (full, pretty));
    }
}
