//! The system relations have the columns that PostgreSQL 15 describes, in its order, with its types.
//!
//! `system_relations.txt` was recorded there: a line per relation, `schema.relation column:type ...` with the OID of the
//! type and, behind a slash, its modifier. A domain is described as its base type.
//!
//! ```sql
//! SELECT n.nspname || '.' || c.relname || ' ' || string_agg(attname || ':' || coalesce(nullif(typbasetype, 0), t.oid)
//!   || CASE WHEN typtype = 'd' AND typtypmod >= 0 THEN '/' || typtypmod ELSE '' END, ' ' ORDER BY attnum)
//! FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
//! JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 JOIN pg_type t ON t.oid = atttypid
//! WHERE relkind IN ('r', 'v') AND nspname IN ('pg_catalog', 'information_schema')
//! GROUP BY n.nspname, c.relname ORDER BY n.nspname, c.relname
//! ```

use crate::wire::harness::{Message, Server};

const RECORDED: &str = include_str!("system_relations.txt");

/// The columns of a result, as the recorded lines have them.
fn described(messages: &[Message]) -> String {
    let Some(description) = messages.iter().find(|message| message.tag == 'T') else {
        return format!("{:?}", messages.iter().filter(|message| message.tag == 'E').map(|e| e.field('M')).next());
    };
    let mut rest = &description.body[2..];
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0).unwrap();
        let name = std::str::from_utf8(&rest[..end]).unwrap();
        let field = &rest[end + 1 + 6..];
        let oid = u32::from_be_bytes(field[..4].try_into().unwrap());
        let modifier = i32::from_be_bytes(field[6..10].try_into().unwrap());
        columns.push(if modifier < 0 { format!("{name}:{oid}") } else { format!("{name}:{oid}/{modifier}") });
        rest = &field[12..];
    }
    columns.join(" ")
}

#[tokio::test]
async fn every_system_relation_has_the_columns_of_postgres() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut wrong = Vec::new();
    for line in RECORDED.lines() {
        let (relation, columns) = line.split_once(' ').unwrap();
        let found = described(&client.query(&format!("SELECT * FROM {relation} LIMIT 0")).await);
        if found != columns {
            wrong.push(format!("{relation}\n  PostgreSQL {columns}\n  here       {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), RECORDED.lines().count(), wrong.join("\n"));
    server.stop().await;
}

/// What clients keep of the catalogue stays true after a restart.
#[tokio::test]
async fn comments_and_oids_outlive_the_server() {
    const OIDS: &str = "SELECT c.oid, a.attnum, obj_description(c.oid, 'pg_class'), col_description(c.oid, a.attnum) \
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
        WHERE c.relname IN ('t', 't_pkey', 's') AND a.attnum > 0 ORDER BY 1, 2";
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for start in 0..2 {
        let server = Server::start_in(folder.path()).await;
        let mut client = server.client().await;
        if start == 0 {
            for sql in [
                "CREATE TABLE t (a int PRIMARY KEY, b int, c text)",
                "CREATE SEQUENCE s",
                "ALTER TABLE t DROP COLUMN b",
                "COMMENT ON TABLE t IS 'a table'",
                "COMMENT ON COLUMN t.c IS 'a column'",
                "COMMENT ON INDEX t_pkey IS 'an index'",
                "COMMENT ON SEQUENCE s IS 'a sequence'",
                "COMMENT ON SCHEMA public IS 'a schema'",
            ] {
                let answer = client.query(sql).await;
                assert!(answer.iter().all(|message| message.tag != 'E'), "{sql}: {answer:?}");
            }
        }
        let mut rows: Vec<Vec<String>> = Vec::new();
        for sql in [OIDS, "SELECT obj_description('public'::regnamespace, 'pg_namespace')"] {
            rows.extend(client.query(sql).await.iter().filter(|message| message.tag == 'D').map(Message::texts));
        }
        seen.push(rows);
        server.stop().await;
    }
    assert_eq!(seen[0], seen[1]);
    let shown: Vec<&str> = seen[0].iter().flat_map(|row| row.iter().map(String::as_str)).collect();
    for text in ["a table", "a column", "an index", "a sequence", "a schema"] {
        assert!(shown.contains(&text), "{text}: {shown:?}");
    }
}
