//! What drivers and libraries ask: `information_schema`, types, casts that name objects.

use tablegate::types::sql_type::SqlType;

use crate::psql_catalog::harness::Client;

#[tokio::test]
async fn information_schema_shows_tables_columns_and_keys() {
    let mut client = Client::with_tables().await;
    let tables = client
        .ask("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
        .await;
    assert_eq!(tables.lines(), ["orders|BASE TABLE", "raw|BASE TABLE"]);
    let columns = client
        .ask(
            "SELECT column_name, data_type, is_nullable, character_maximum_length, numeric_precision, numeric_scale, column_default
             FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'orders' ORDER BY ordinal_position",
        )
        .await;
    assert_eq!(
        columns.lines(),
        [
            "customer|text|NO||||",
            "id|integer|NO||32|0|",
            "total|numeric|YES||12|2|",
            "note|character varying|YES|20|||",
        ]
    );
    let keys = client
        .ask(
            "SELECT tc.constraint_name, kcu.column_name, kcu.ordinal_position
             FROM information_schema.table_constraints tc
             JOIN information_schema.key_column_usage kcu ON kcu.constraint_name = tc.constraint_name
             WHERE tc.constraint_type = 'PRIMARY KEY' AND tc.table_name = 'raw' ORDER BY 3",
        )
        .await;
    assert_eq!(keys.lines(), ["raw_pkey|PartitionKey|1", "raw_pkey|RowKey|2"]);
    assert_eq!(client.ask("SELECT count(*) FROM information_schema.schemata").await.lines(), ["4"]);
}

#[tokio::test]
async fn casts_that_name_objects() {
    let mut client = Client::with_tables().await;
    for (sql, expected) in [
        ("SELECT 'orders'::regclass::oid", "16384"),
        ("SELECT 'orders'::regclass", "orders"),
        ("SELECT 'public.orders'::regclass::text", "orders"),
        ("SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::int", "1259"),
        ("SELECT count(*) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0", "4"),
        ("SELECT conrelid::regclass FROM pg_constraint WHERE conname = 'raw_pkey'", "raw"),
        ("SELECT 1043::regtype", "character varying"),
        ("SELECT 'int4'::regtype::oid", "23"),
        ("SELECT to_regclass('nothing') IS NULL", "t"),
        ("SELECT 'public'::regnamespace::oid", "2200"),
        ("SELECT typname FROM pg_type WHERE typinput = 'array_in'::regproc AND typelem = 23 LIMIT 1", "_int4"),
        ("SELECT p.proname FROM pg_type t JOIN pg_proc p ON p.oid = t.typreceive WHERE t.oid = 23", "int4recv"),
    ] {
        assert_eq!(client.ask(sql).await.lines(), [expected], "{sql}");
    }
    let missing = client.try_ask("SELECT 'nothing'::regclass").await.err();
    assert_eq!(missing.as_deref(), Some("relation \"nothing\" does not exist"));
}

#[tokio::test]
async fn columns_have_the_catalogue_s_types() {
    let mut client = Client::with_tables().await;
    let answer =
        client.ask("SELECT oid, relname, relkind, oid::regclass, format_type(25, -1) FROM pg_class LIMIT 1").await;
    let types: Vec<_> = answer.columns.iter().map(|c| c.sql_type.clone()).collect();
    assert_eq!(types, [SqlType::Oid, SqlType::Name, SqlType::InternalChar, SqlType::Regclass, SqlType::Text]);
    assert_eq!(answer.labels(), ["oid", "relname", "relkind", "oid", "format_type"]);
}

#[tokio::test]
async fn session_functions() {
    let mut client = Client::with_tables().await;
    for (sql, expected) in [
        ("SELECT current_database(), current_schema(), current_user, session_user", "tablegate|public|ada|ada"),
        ("SELECT current_schemas(false)", "{public}"),
        ("SELECT current_setting('server_encoding'), pg_catalog.current_setting('nothing', true)", "UTF8|"),
        ("SELECT pg_is_in_recovery(), pg_encoding_to_char(6), quote_ident('A b')", "f|UTF8|\"A b\""),
        ("SELECT pg_size_pretty(pg_total_relation_size('orders'::regclass))", "0 bytes"),
        ("SELECT has_table_privilege('orders', 'select'), has_schema_privilege('public', 'usage')", "t|t"),
    ] {
        assert_eq!(client.ask(sql).await.lines(), [expected], "{sql}");
    }
    assert!(client.ask("SELECT version()").await.lines()[0].starts_with("PostgreSQL 15."));
}

#[tokio::test]
async fn forms_of_drivers() {
    let mut client = Client::with_tables().await;
    for (sql, expected) in [
        ("SELECT relname FROM pg_class WHERE relkind = ANY(ARRAY['r','p']) AND oid = '16384'", "orders"),
        ("SELECT relname FROM pg_class WHERE relkind = ANY('{r,p}') AND oid = 16384", "orders"),
        ("SELECT nspname FROM pg_namespace WHERE nspname = ANY(current_schemas(false))", "public"),
        (
            "SELECT ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 ORDER BY attnum) FROM pg_class c WHERE relname = 'orders'",
            "{customer,id,total,note}",
        ),
        (
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) WHERE i.indrelid = 'orders'::regclass AND i.indisprimary ORDER BY a.attnum LIMIT 1",
            "customer",
        ),
        ("SELECT i.indkey[0], i.indkey[1] FROM pg_index i WHERE indrelid = 'orders'::regclass", "1|2"),
        ("SELECT conkey[1], array_upper(conkey, 1) FROM pg_constraint WHERE conrelid = 'orders'::regclass", "1|2"),
        ("SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'orders') AS there", "t"),
        (
            "SELECT c.relname, (SELECT n.nspname FROM pg_namespace n WHERE n.oid = c.relnamespace) FROM pg_class c WHERE c.oid = '16384'",
            "orders|public",
        ),
        (
            "SELECT attname, (SELECT c.collname FROM pg_collation c, pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid) FROM pg_attribute a WHERE attrelid = 16384 AND attnum = 1",
            "customer|default",
        ),
        (
            "SELECT relname, EXISTS (SELECT 1 FROM pg_index i, pg_class x WHERE i.indrelid = c.oid AND x.oid = i.indexrelid) FROM pg_class c WHERE relname = 'orders'",
            "orders|t",
        ),
        ("SELECT max(x) FROM unnest(ARRAY[1,2]) x", "2"),
        ("SELECT max(s.r) FROM pg_catalog.generate_series(1, array_upper(current_schemas(true), 1)) AS s(r)", "2"),
        ("SELECT t.typname, t.oid::regtype::text FROM pg_type t WHERE t.oid = to_regtype('int4')", "int4|integer"),
        (
            "SELECT string_agg(a.attname, ',' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = 'orders'::regclass AND a.attnum > 0",
            "customer,id,total,note",
        ),
        ("SELECT tableoid FROM pg_class c WHERE c.oid = 16384", "1259"),
        (
            "SELECT c.relname FROM pg_class c WHERE c.oid = ANY(ARRAY['orders'::regclass, 'pg_am'::regclass]) AND relnamespace = 'public'::regnamespace",
            "orders",
        ),
    ] {
        assert_eq!(client.ask(sql).await.lines(), [expected], "{sql}");
    }
}

#[tokio::test]
async fn key_columns_as_jdbc_asks() {
    let mut client = Client::with_tables().await;
    let keys = client
        .ask(
            "SELECT result.TABLE_NAME, result.COLUMN_NAME, result.KEY_SEQ, result.PK_NAME FROM
             (SELECT ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME,
                (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,
                information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM
              FROM pg_catalog.pg_class ct
                JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)
                JOIN pg_catalog.pg_index i ON (a.attrelid = i.indrelid)
                JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)
              WHERE ct.relname = 'orders' AND i.indisprimary) result
             WHERE result.A_ATTNUM = (result.KEYS).x ORDER BY result.key_seq",
        )
        .await;
    assert_eq!(keys.lines(), ["orders|customer|1|orders_pkey", "orders|id|2|orders_pkey"]);
}
