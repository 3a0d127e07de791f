//! A user whose role gives nothing does what was granted, and nothing else.

use std::sync::Arc;

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync, SegmentOptions};
use tablegate::backends::memory::MemoryStore;
use tablegate::pg::{Method, Role};
use tablegate::store::model::{SystemClock, TableName};
use tablegate::store::table::TableStore;

use crate::wire::harness::{Client, Server, bind, column, error, error_code, execute, parse, status, sync, tags};
use crate::wire::logins::{Door, login};

/// With `ann`, who owns all tables, and `gil` and `joe`, who have only what is granted.
fn door() -> Door {
    let door = Door::with_users();
    door.add("gil", Role::Granted);
    door.add("joe", Role::Granted);
    door
}

async fn do_all(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        let answer = client.query(statement).await;
        assert!(!answer.iter().any(|m| m.tag == 'E'), "{statement}: {:?}", error(&answer));
    }
}

/// The error's code and message; `-` when there is none.
async fn told(client: &mut Client, sql: &str) -> String {
    let answer = client.query(sql).await;
    if status(&answer) != 'I' {
        client.query("ROLLBACK").await;
    }
    match answer.iter().find(|m| m.tag == 'E') {
        Some(error) => format!("{} {}", error.code(), error.field('M').unwrap()),
        None => "-".to_owned(),
    }
}

async fn with_tables(server: &Server) -> Client {
    let mut ann = login(server, "ann").await;
    do_all(
        &mut ann,
        &[
            "CREATE TABLE t (p text, r text, n int, PRIMARY KEY (p, r))",
            "CREATE TABLE u (p text PRIMARY KEY, n int)",
            "CREATE SEQUENCE s",
            "INSERT INTO t VALUES ('a', 'b', 1)",
            "INSERT INTO u VALUES ('a', 1)",
        ],
    )
    .await;
    ann
}

#[tokio::test]
async fn without_a_grant_every_statement_is_refused() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    do_all(&mut gil, &["SELECT 1", "SELECT relname FROM pg_class", "PREPARE p AS SELECT * FROM t", "SHOW search_path"])
        .await;
    for (sql, expected) in [
        ("SELECT * FROM t", "permission denied for table t"),
        ("SELECT count(*) FROM t", "permission denied for table t"),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM t)", "permission denied for table t"),
        ("SELECT * FROM (SELECT n FROM public.t) x", "permission denied for table t"),
        ("WITH x AS (SELECT * FROM t) SELECT * FROM x", "permission denied for table t"),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", "permission denied for table t"),
        ("SELECT 1 UNION SELECT n FROM t", "permission denied for table t"),
        ("SELECT t FROM t", "permission denied for table t"),
        ("TABLE t", "permission denied for table t"),
        ("VALUES ((SELECT max(n) FROM t))", "permission denied for table t"),
        ("SELECT ARRAY(SELECT n FROM t)", "permission denied for table t"),
        ("SELECT * FROM generate_series(1, (SELECT max(n) FROM t)) g", "permission denied for table t"),
        ("SELECT 1 LIMIT (SELECT max(n) FROM t)", "permission denied for table t"),
        ("SELECT * FROM t FOR UPDATE", "permission denied for table t"),
        ("(SELECT * FROM t) FOR UPDATE", "permission denied for table t"),
        ("TABLE t FOR SHARE", "permission denied for table t"),
        ("SELECT 1 WHERE EXISTS ((SELECT 1 FROM t) FOR UPDATE)", "permission denied for table t"),
        ("SELECT * FROM s", "permission denied for sequence s"),
        ("EXECUTE p", "permission denied for table t"),
        ("EXPLAIN SELECT * FROM t", "permission denied for table t"),
        ("EXPLAIN ANALYZE DELETE FROM t", "permission denied for table t"),
        ("BEGIN; DECLARE c CURSOR FOR SELECT * FROM t", "permission denied for table t"),
        ("INSERT INTO t VALUES ('x', 'y', 1)", "permission denied for table t"),
        ("INSERT OR REPLACE INTO t VALUES ('x', 'y', 1)", "permission denied for table t"),
        ("UPDATE t SET n = 2", "permission denied for table t"),
        ("DELETE FROM t", "permission denied for table t"),
        ("DELETE FROM t WHERE p = 'a' AND r = 'b'", "permission denied for table t"),
        (
            "MERGE INTO t USING (VALUES ('a')) v(p) ON t.p = v.p WHEN MATCHED THEN DELETE",
            "permission denied for table t",
        ),
        ("WITH d AS (DELETE FROM t RETURNING n) SELECT * FROM d", "permission denied for table t"),
        ("COPY t TO STDOUT", "permission denied for table t"),
        ("COPY (SELECT n FROM t) TO STDOUT", "permission denied for table t"),
        ("COPY t FROM STDIN", "permission denied for table t"),
        ("TRUNCATE t", "permission denied for table t"),
        ("BEGIN; LOCK TABLE t", "permission denied for table t"),
        ("BEGIN; LOCK TABLE t IN ACCESS SHARE MODE", "permission denied for table t"),
        ("SELECT nextval('s')", "permission denied for sequence s"),
        ("SELECT setval('s', 5)", "permission denied for sequence s"),
        ("SELECT currval('s')", "permission denied for sequence s"),
        ("CREATE TABLE v (p text PRIMARY KEY)", "permission denied for schema public"),
        ("CREATE SEQUENCE s2", "permission denied for schema public"),
        ("DROP TABLE t", "must be owner of table t"),
        ("ALTER TABLE t ADD COLUMN m int", "must be owner of table t"),
        ("ALTER TABLE t RENAME TO v", "must be owner of table t"),
        ("ALTER TABLE t OWNER TO gil", "must be owner of table t"),
        ("CREATE INDEX ON t (n)", "must be owner of table t"),
        ("DROP INDEX t_pkey", "must be owner of index t_pkey"),
        ("ALTER SEQUENCE s RESTART", "must be owner of sequence s"),
        ("DROP SEQUENCE s", "must be owner of sequence s"),
        ("COMMENT ON TABLE t IS 'x'", "must be owner of table t"),
        ("COMMENT ON COLUMN t.n IS 'x'", "must be owner of table t"),
        ("COMMENT ON INDEX t_pkey IS 'x'", "must be owner of index t_pkey"),
        ("COMMENT ON SEQUENCE s IS 'x'", "must be owner of sequence s"),
        ("COMMENT ON SCHEMA public IS 'x'", "must be owner of schema public"),
        ("COMMENT ON DATABASE tablegate IS 'x'", "must be owner of database tablegate"),
        ("GRANT SELECT ON t TO gil", "permission denied for table t"),
        ("REVOKE SELECT ON t FROM ann", "permission denied for table t"),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA public TO gil", "permission denied for table t"),
        ("GRANT CREATE ON SCHEMA public TO gil", "no privileges were granted"),
        ("SELECT * FROM egt_violations", "permission denied for view egt_violations"),
    ] {
        if expected == "no privileges were granted" {
            // A warning: everybody has some privilege on the schema.
            assert_eq!(told(&mut gil, sql).await, "-", "{sql}");
            continue;
        }
        assert_eq!(told(&mut gil, sql).await, format!("42501 {expected}"), "{sql}");
    }
    assert_eq!(
        told(&mut gil, "CREATE TABLE v (p text PRIMARY KEY)").await,
        "42501 permission denied for schema public"
    );
    assert_eq!(column(&ann.query("SELECT n FROM t").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn in_a_read_only_block_the_mode_is_told_first() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let _ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    for (sql, code) in [
        ("INSERT INTO t VALUES ('a', 'c', 1)", "25006"),
        ("UPDATE t SET n = 2", "25006"),
        ("DELETE FROM t", "25006"),
        ("WITH d AS (DELETE FROM t RETURNING n) SELECT * FROM d", "25006"),
        ("SELECT * FROM t FOR UPDATE", "25006"),
        ("TRUNCATE t", "25006"),
        ("DROP TABLE t", "25006"),
        ("ALTER TABLE t ADD COLUMN m int", "25006"),
        ("SELECT * FROM t", "42501"),
        ("COPY t FROM STDIN", "42501"),
    ] {
        gil.query("BEGIN READ ONLY").await;
        assert_eq!(error_code(&gil.query(sql).await), code, "{sql}");
        gil.query("ROLLBACK").await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_grant_gives_what_it_names() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    do_all(&mut ann, &["GRANT SELECT ON t, u TO gil"]).await;
    assert_eq!(column(&gil.query("SELECT t.n FROM t JOIN u USING (p)").await), ["1"]);
    assert_eq!(column(&gil.query("EXECUTE p").await).len(), 0);
    for write in [
        "UPDATE t SET n = 2",
        "DELETE FROM t",
        "INSERT INTO t VALUES ('x', 'y', 1)",
        "SELECT * FROM t FOR UPDATE",
        "(SELECT * FROM t) FOR UPDATE",
        "TABLE t FOR SHARE",
        "SELECT 1 WHERE EXISTS ((SELECT 1 FROM t) FOR UPDATE)",
    ] {
        assert_eq!(told(&mut gil, write).await, "42501 permission denied for table t", "{write}");
    }
    do_all(&mut ann, &["REVOKE SELECT ON t FROM gil", "GRANT INSERT, UPDATE, DELETE ON t TO gil"]).await;
    for (sql, expected) in [
        ("INSERT INTO t VALUES ('x', 'y', 1)", "-"),
        ("INSERT INTO t VALUES ('x', 'z', 1) ON CONFLICT DO NOTHING", "-"),
        ("INSERT INTO t VALUES ('x', 'z', 1) ON CONFLICT (p, r) DO NOTHING", "42501 permission denied for table t"),
        ("INSERT INTO t VALUES ('x', 'v', 1) RETURNING n", "42501 permission denied for table t"),
        ("UPDATE t SET n = 2", "-"),
        ("UPDATE t SET n = n + 1", "42501 permission denied for table t"),
        ("UPDATE t SET n = 2 WHERE p = 'x'", "42501 permission denied for table t"),
        ("UPDATE t SET n = 3 FROM u WHERE u.n = 1", "-"),
        ("DELETE FROM t WHERE n = 1", "42501 permission denied for table t"),
        ("DELETE FROM t RETURNING n", "42501 permission denied for table t"),
        ("DELETE FROM t", "-"),
        ("TRUNCATE t", "42501 permission denied for table t"),
        ("BEGIN; LOCK TABLE t", "-"),
    ] {
        assert_eq!(told(&mut gil, sql).await, expected, "{sql}");
    }
    assert_eq!(column(&ann.query("SELECT count(*) FROM t").await), ["0"]);
    server.stop().await;
}

/// What each error tells of rows, to users who may write to the table and not read it.
#[tokio::test]
async fn an_error_shows_rows_to_those_who_may_read_them() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = login(&server, "ann").await;
    do_all(
        &mut ann,
        &[
            "CREATE TABLE w (id int PRIMARY KEY, n int CHECK (n > 0), secret text DEFAULT 'hidden', must text NOT NULL DEFAULT 'm')",
            "INSERT INTO w VALUES (1, 1, 'kept')",
            "GRANT INSERT, UPDATE ON w TO gil",
            "GRANT INSERT, UPDATE, SELECT ON w TO joe",
        ],
    )
    .await;
    let (mut gil, mut joe) = (login(&server, "gil").await, login(&server, "joe").await);
    for (sql, to_gil, to_joe) in [
        (
            "INSERT INTO w (id, n) VALUES (2, -1)",
            "23514 Failing row contains (id, n) = (2, -1).",
            "23514 Failing row contains (2, -1, hidden, m).",
        ),
        (
            "INSERT INTO w VALUES (2, -1)",
            "23514 Failing row contains (id, n) = (2, -1).",
            "23514 Failing row contains (2, -1, hidden, m).",
        ),
        (
            "INSERT INTO w (n, id) SELECT -i, i FROM generate_series(5, 6) i",
            "23514 Failing row contains (id, n) = (5, -5).",
            "23514 Failing row contains (5, -5, hidden, m).",
        ),
        (
            "UPDATE w SET n = -1",
            "23514 Failing row contains (n) = (-1).",
            "23514 Failing row contains (1, -1, kept, m).",
        ),
        (
            "UPDATE w SET must = NULL",
            "23502 Failing row contains (must) = (null).",
            "23502 Failing row contains (1, 1, kept, null).",
        ),
        (
            "UPDATE w SET (n, must) = (1, NULL)",
            "23502 Failing row contains (n, must) = (1, null).",
            "23502 Failing row contains (1, 1, kept, null).",
        ),
        (
            "INSERT INTO w (id, must) VALUES (3, NULL)",
            "23502 Failing row contains (id, must) = (3, null).",
            "23502 Failing row contains (3, null, hidden, null).",
        ),
        ("INSERT INTO w (id) VALUES (1)", "23505 -", "23505 Key (id)=(1) already exists."),
        ("BEGIN; INSERT INTO w (id) VALUES (1); COMMIT", "23505 -", "23505 Key (id)=(1) already exists."),
        (
            "PREPARE p AS UPDATE w SET n = -2; EXECUTE p",
            "23514 Failing row contains (n) = (-2).",
            "23514 Failing row contains (1, -2, kept, m).",
        ),
    ] {
        for (client, expected) in [(&mut gil, to_gil), (&mut joe, to_joe)] {
            let answer = client.query(sql).await;
            if status(&answer) != 'I' {
                client.query("ROLLBACK").await;
            }
            let error = error(&answer);
            assert_eq!(
                format!("{} {}", error.code(), error.field('D').unwrap_or_else(|| "-".to_owned())),
                expected,
                "{sql}"
            );
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_revoked_is_so_at_once() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    do_all(&mut ann, &["GRANT SELECT ON t TO PUBLIC"]).await;
    let portal = [bind("", "q", &[]), execute("", 0), sync()];
    gil.ask(&[parse("q", "SELECT n FROM t", &[]), sync()]).await;
    assert_eq!(column(&gil.ask(&portal).await), ["1"]);
    do_all(&mut gil, &["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT n FROM t"]).await;
    do_all(&mut ann, &["REVOKE ALL ON t FROM PUBLIC"]).await;
    assert_eq!(error_code(&gil.query("SELECT n FROM t").await), "42501");
    gil.query("ROLLBACK").await;
    assert_eq!(error_code(&gil.ask(&portal).await), "42501");
    server.stop().await;
}

#[tokio::test]
async fn sequences_have_privileges_of_their_own() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    do_all(
        &mut ann,
        &[
            "CREATE TABLE i (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int)",
            "CREATE TABLE c (id serial PRIMARY KEY, n int)",
            "GRANT INSERT ON i, c TO gil",
            "GRANT USAGE ON SEQUENCE s TO gil",
        ],
    )
    .await;
    for (sql, expected) in [
        ("SELECT nextval('s'), currval('s'), lastval()", "-"),
        ("SELECT setval('s', 5)", "42501 permission denied for sequence s"),
        ("SELECT last_value FROM s", "42501 permission denied for sequence s"),
        ("INSERT INTO i (n) VALUES (1)", "-"),
        ("INSERT INTO c (n) VALUES (1)", "42501 permission denied for sequence c_id_seq"),
        ("GRANT SELECT ON SEQUENCE t TO gil", "42809 \"t\" is not a sequence"),
    ] {
        assert_eq!(told(&mut gil, sql).await, expected, "{sql}");
    }
    do_all(&mut ann, &["GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO gil"]).await;
    do_all(&mut gil, &["INSERT INTO c (n) VALUES (1)", "SELECT setval('s', 5)", "SELECT last_value FROM s"]).await;
    server.stop().await;
}

#[tokio::test]
async fn grants_stay_with_their_table() {
    let door = door();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in_with(folder.path(), door.config(Method::Scram)).await;
    let mut ann = with_tables(&server).await;
    do_all(&mut ann, &["GRANT SELECT ON t, u TO gil", "BEGIN", "GRANT INSERT ON t TO gil", "ROLLBACK"]).await;
    do_all(&mut ann, &["ALTER TABLE t RENAME TO t2", "TRUNCATE t2", "INSERT INTO t2 VALUES ('c', 'd', 7)"]).await;
    do_all(&mut ann, &["DROP TABLE u", "CREATE TABLE u (p text PRIMARY KEY, n int)"]).await;
    server.stop().await;
    let server = Server::start_in_with(folder.path(), door.config(Method::Scram)).await;
    let mut gil = login(&server, "gil").await;
    assert_eq!(column(&gil.query("SELECT n FROM t2").await), ["7"]);
    for (sql, table) in [("INSERT INTO t2 VALUES ('x', 'y', 1)", "t2"), ("SELECT * FROM u", "u")] {
        assert_eq!(told(&mut gil, sql).await, format!("42501 permission denied for table {table}"));
    }
    server.stop().await;
}

#[tokio::test]
async fn who_makes_a_table_owns_it() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = login(&server, "ann").await;
    let (mut gil, mut joe) = (login(&server, "gil").await, login(&server, "joe").await);
    do_all(&mut ann, &["GRANT CREATE ON SCHEMA public TO gil"]).await;
    do_all(&mut gil, &["CREATE TABLE own (id serial PRIMARY KEY)", "INSERT INTO own DEFAULT VALUES"]).await;
    assert_eq!(told(&mut joe, "SELECT * FROM own").await, "42501 permission denied for table own");
    do_all(&mut gil, &["GRANT SELECT ON own TO joe WITH GRANT OPTION"]).await;
    do_all(&mut joe, &["SELECT * FROM own", "GRANT SELECT ON own TO PUBLIC"]).await;
    assert_eq!(told(&mut joe, "DROP TABLE own").await, "42501 must be owner of table own");
    assert_eq!(told(&mut gil, "REVOKE SELECT ON own FROM joe").await, "2BP01 dependent privileges exist");
    do_all(&mut gil, &["REVOKE SELECT ON own FROM joe CASCADE"]).await;
    assert_eq!(told(&mut joe, "SELECT * FROM own").await, "42501 permission denied for table own");
    do_all(&mut gil, &["ALTER TABLE own ADD COLUMN n int", "DROP TABLE own"]).await;
    server.stop().await;
}

#[tokio::test]
async fn found_tables_can_be_granted_too() {
    let door = door();
    let clock = Arc::new(SystemClock);
    let store = MemoryStore::new(clock.clone());
    store.create_table(&TableName::parse("Found").unwrap()).await.unwrap();
    let server = Server::start_on(Arc::new(store), door.config(Method::Scram), clock).await;
    let mut ann = login(&server, "ann").await;
    let mut gil = login(&server, "gil").await;
    do_all(&mut ann, &["INSERT INTO found (\"PartitionKey\", \"RowKey\", n) VALUES ('a', 'b', 1)"]).await;
    assert_eq!(told(&mut gil, "SELECT * FROM found").await, "42501 permission denied for table Found");
    do_all(&mut ann, &["GRANT SELECT ON ALL TABLES IN SCHEMA public TO gil"]).await;
    assert_eq!(column(&gil.query("SELECT n FROM found").await), ["1"]);
    do_all(&mut ann, &["TRUNCATE found"]).await;
    do_all(&mut gil, &["SELECT count(*) FROM found"]).await;
    do_all(&mut ann, &["DROP TABLE found", "CREATE TABLE found (p text PRIMARY KEY)"]).await;
    assert_eq!(told(&mut gil, "SELECT * FROM found").await, "42501 permission denied for table found");
    server.stop().await;
}

#[tokio::test]
async fn mistakes_are_told_as_postgresql_tells_them() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    for (sql, expected) in [
        ("GRANT SELECT ON t TO nobody", "42704 role \"nobody\" does not exist"),
        ("GRANT foo ON t TO gil", "42601 unrecognized privilege type \"foo\""),
        ("GRANT USAGE ON t TO gil", "0LP01 invalid privilege type USAGE for table"),
        ("GRANT SELECT ON SCHEMA public TO gil", "0LP01 invalid privilege type SELECT for schema"),
        ("GRANT SELECT ON nosuch TO gil", "42P01 relation \"nosuch\" does not exist"),
        ("GRANT SELECT ON t_pkey TO gil", "42809 \"t_pkey\" is an index"),
        ("GRANT USAGE ON SCHEMA nosuch TO gil", "3F000 schema \"nosuch\" does not exist"),
        ("GRANT CONNECT ON DATABASE nosuch TO gil", "3D000 database \"nosuch\" does not exist"),
        ("GRANT SELECT ON t TO gil GRANTED BY joe", "0A000 grantor must be current user"),
        ("GRANT SELECT ON t TO PUBLIC WITH GRANT OPTION", "0LP01 grant options can only be granted to roles"),
        ("GRANT SELECT (n) ON t TO gil", "0A000 a privilege on columns is not supported"),
        ("GRANT joe TO gil", "0A000 membership of roles in roles is not supported"),
        ("GRANT SELECT ON t", "42601 syntax error at end of input"),
    ] {
        assert_eq!(told(&mut ann, sql).await, expected, "{sql}");
    }
    assert_eq!(tags(&ann.query("GRANT ALL ON t TO gil; REVOKE ALL ON t FROM gil").await), "CCZ");
    server.stop().await;
}

#[tokio::test]
async fn the_database_and_its_schema_can_be_closed() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    do_all(&mut ann, &["GRANT SELECT ON t TO gil", "REVOKE USAGE ON SCHEMA public FROM PUBLIC"]).await;
    assert_eq!(told(&mut gil, "SELECT * FROM t").await, "42501 permission denied for schema public");
    do_all(&mut ann, &["GRANT USAGE ON SCHEMA public TO gil", "REVOKE CONNECT ON DATABASE tablegate FROM PUBLIC"])
        .await;
    do_all(&mut gil, &["SELECT * FROM t"]).await;
    let mut joe = server.socket().await;
    crate::wire::logins::begin(&mut joe, "joe").await;
    let binding = postgres_protocol::authentication::sasl::ChannelBinding::unsupported();
    let (_, refused) =
        crate::wire::logins::exchange(&mut joe, "SCRAM-SHA-256", crate::wire::logins::PASSWORD, binding).await;
    assert!(refused.is_none(), "{refused:?}");
    let refused = joe.read().await;
    assert_eq!(refused.code(), "42501");
    assert_eq!(refused.field('M').unwrap(), "permission denied for database \"joe\"");
    server.stop().await;
}

#[tokio::test]
async fn the_catalogue_shows_who_may_do_what() {
    let door = door();
    door.add("ida", Role::Admin);
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    do_all(
        &mut ann,
        &[
            "GRANT SELECT ON t TO gil WITH GRANT OPTION",
            "GRANT SELECT, UPDATE ON u TO PUBLIC",
            "GRANT USAGE ON SEQUENCE s TO gil",
            "CREATE TABLE \"Plain\" (p text PRIMARY KEY)",
        ],
    )
    .await;
    let acl = "SELECT relname || ' ' || pg_get_userbyid(relowner) || ' ' || coalesce(array_to_string(relacl, ' '), '-') \
               FROM pg_class WHERE relname IN ('t', 'u', 's', 'Plain') ORDER BY relname COLLATE \"C\"";
    assert_eq!(
        column(&ann.query(acl).await),
        [
            "Plain ann -",
            "s ann ann=rwU/ann gil=U/ann",
            "t ann ann=arwdDxt/ann gil=r*/ann",
            "u ann ann=arwdDxt/ann =rw/ann",
        ]
    );
    let roles = "SELECT rolname || ' ' || rolsuper || ' ' || rolcanlogin || ' ' || coalesce(rolconfig[1], '') FROM pg_roles ORDER BY 1";
    assert_eq!(
        column(&ann.query(roles).await),
        [
            "ann false true ",
            "gil false true ",
            "ida true true ",
            "joe false true ",
            "ron false true default_transaction_read_only=on",
        ]
    );
    assert_eq!(column(&ann.query("SELECT count(*) FROM pg_authid WHERE rolpassword IS NOT NULL").await), ["0"]);
    // What nobody made is the first admin's.
    let owner = "SELECT pg_get_userbyid(datdba) FROM pg_database UNION SELECT pg_get_userbyid(10)";
    assert_eq!(column(&ann.query(owner).await), ["ida"]);
    let granted = "SELECT grantee || ' ' || privilege_type || ' ' || is_grantable FROM information_schema.table_privileges \
                   WHERE table_name = 't' AND grantee <> 'ann' UNION \
                   SELECT grantee || ' ' || privilege_type || ' ' || is_grantable FROM information_schema.role_table_grants \
                   WHERE table_name = 'u' AND grantee <> 'ann' ORDER BY 1";
    assert_eq!(column(&ann.query(granted).await), ["PUBLIC SELECT NO", "PUBLIC UPDATE NO", "gil SELECT YES"]);
    let mut gil = login(&server, "gil").await;
    let seen = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1";
    assert_eq!(column(&gil.query(seen).await), ["t", "u"]);
    let own = "SELECT DISTINCT table_name || ' ' || privilege_type FROM information_schema.role_table_grants";
    assert_eq!(column(&gil.query(own).await), ["t SELECT"]);
    assert_eq!(column(&gil.query("SELECT role_name FROM information_schema.enabled_roles").await), ["gil"]);
    assert_eq!(column(&gil.query("SHOW is_superuser").await), ["off"]);
    let mut ida = login(&server, "ida").await;
    assert_eq!(column(&ida.query("SHOW is_superuser").await), ["on"]);
    server.stop().await;
}

#[tokio::test]
async fn privileges_can_be_asked_for() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    do_all(&mut ann, &["GRANT SELECT ON t TO gil WITH GRANT OPTION", "GRANT UPDATE ON SEQUENCE s TO PUBLIC"]).await;
    let mut gil = login(&server, "gil").await;
    for (call, expected) in [
        ("has_table_privilege('t', 'SELECT')", "t"),
        ("has_table_privilege('public.t', 'insert, select')", "t"),
        ("has_table_privilege('t', 'INSERT, UPDATE')", "f"),
        ("has_table_privilege('t', 'SELECT WITH GRANT OPTION')", "t"),
        ("has_table_privilege('ann', 't', 'DELETE')", "t"),
        ("has_table_privilege('ron', 't', 'SELECT')", "t"),
        ("has_table_privilege('ron', 't', 'INSERT')", "f"),
        ("has_table_privilege('joe', 't', 'SELECT')", "f"),
        ("has_table_privilege('public', 't', 'SELECT')", "f"),
        ("has_table_privilege('gil'::regrole, 't'::regclass, 'SELECT')", "t"),
        (
            "has_table_privilege((SELECT oid FROM pg_roles WHERE rolname = 'gil'), (SELECT oid FROM pg_class WHERE relname = 'u'), 'SELECT')",
            "f",
        ),
        ("has_table_privilege(4000000, 'SELECT') IS NULL", "t"),
        ("has_table_privilege('pg_class', 'SELECT')", "t"),
        ("has_table_privilege('pg_class', 'DELETE')", "f"),
        ("has_any_column_privilege('t', 'SELECT')", "t"),
        ("has_column_privilege('t', 'n', 'SELECT')", "t"),
        ("has_column_privilege('gil', 't', 'n', 'UPDATE')", "f"),
        ("has_column_privilege('t', 1::int2, 'SELECT')", "t"),
        ("has_sequence_privilege('s', 'USAGE')", "f"),
        ("has_sequence_privilege('s', 'UPDATE')", "t"),
        ("has_schema_privilege('public', 'USAGE')", "t"),
        ("has_schema_privilege('public', 'CREATE')", "f"),
        ("has_schema_privilege('ann', 'public', 'CREATE')", "t"),
        ("has_schema_privilege('pg_catalog', 'USAGE')", "t"),
        ("has_database_privilege('tablegate', 'CONNECT')", "t"),
        ("has_database_privilege(current_database(), 'CREATE')", "f"),
        ("has_function_privilege('version()', 'EXECUTE')", "t"),
        ("pg_has_role('gil', 'MEMBER')", "t"),
        ("pg_has_role('ann', 'USAGE')", "f"),
        ("pg_has_role('ann', 'gil', 'USAGE')", "t"),
    ] {
        assert_eq!(column(&gil.query(&format!("SELECT {call}")).await), [expected], "{call}");
    }
    for (call, expected) in [
        ("has_table_privilege('nosuch', 'SELECT')", "42P01 relation \"nosuch\" does not exist"),
        ("has_table_privilege('nobody', 't', 'SELECT')", "42704 role \"nobody\" does not exist"),
        ("has_table_privilege('t', 'foo')", "22023 unrecognized privilege type: \"foo\""),
        ("has_table_privilege('t', 'USAGE')", "22023 unrecognized privilege type: \"USAGE\""),
        ("has_column_privilege('t', 'nosuch', 'SELECT')", "42703 column \"nosuch\" of relation \"t\" does not exist"),
        ("has_sequence_privilege('t', 'USAGE')", "42809 \"t\" is not a sequence"),
        ("has_schema_privilege('nosuch', 'USAGE')", "3F000 schema \"nosuch\" does not exist"),
        ("has_database_privilege('nosuch', 'CONNECT')", "3D000 database \"nosuch\" does not exist"),
        ("pg_has_role('ann', 'foo')", "22023 unrecognized privilege type: \"foo\""),
    ] {
        assert_eq!(told(&mut gil, &format!("SELECT {call}")).await, expected, "{call}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_view_shows_what_was_granted_on_it() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = with_tables(&server).await;
    let mut gil = login(&server, "gil").await;
    do_all(&mut ann, &["CREATE VIEW v AS SELECT n FROM t"]).await;
    let denied = "42501 permission denied for table v";
    for sql in ["SELECT n FROM v", "SELECT * FROM u WHERE n IN (SELECT n FROM v)", "COPY (SELECT * FROM v) TO STDOUT"] {
        assert!(told(&mut gil, sql).await.starts_with("42501 permission denied"), "{sql}");
    }
    assert_eq!(told(&mut gil, "SELECT n FROM v").await, denied);
    do_all(&mut ann, &["GRANT SELECT ON v TO gil"]).await;
    assert_eq!(column(&gil.query("SELECT n FROM v").await), ["1"]);
    for (sql, expected) in [
        ("SELECT n FROM t", "42501 permission denied for table t"),
        ("DROP VIEW v", "42501 must be owner of table v"),
        ("ALTER VIEW v RENAME TO w", "42501 must be owner of table v"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1 AS n", "42501 permission denied for schema public"),
    ] {
        assert_eq!(told(&mut gil, sql).await, expected, "{sql}");
    }
    // What had the name of a dropped view has none of its grants.
    do_all(&mut ann, &["DROP VIEW v", "CREATE VIEW v AS SELECT n FROM t"]).await;
    assert_eq!(told(&mut gil, "SELECT n FROM v").await, denied);
    server.stop().await;
}

/// Which rows are kept as columns is everybody's to see; the keys among them are what is in the table.
#[tokio::test]
async fn segments_tell_their_keys_to_those_who_may_read_the_table() {
    let door = door();
    let (folder, clock) = (tempfile::tempdir().unwrap(), Arc::new(SystemClock));
    let segments = SegmentOptions::eager();
    let options = EmbeddedOptions { fsync: Fsync::Never, segments, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(folder.path(), clock.clone(), options).unwrap();
    let server = Server::start_on(Arc::new(store), door.config(Method::Scram), clock).await;
    let mut ann = with_tables(&server).await;
    do_all(&mut ann, &["VACUUM FULL t"]).await;
    let shown = "SELECT concat_ws(' ', table_name, entities, state, first_row_key IS NOT NULL) FROM table_segments";
    assert_eq!(column(&ann.query(shown).await), ["t 1 clean t"]);
    let mut gil = login(&server, "gil").await;
    assert_eq!(column(&gil.query(shown).await), ["t 1 clean f"]);
    do_all(&mut ann, &["GRANT SELECT ON t TO gil"]).await;
    assert_eq!(column(&gil.query(shown).await), ["t 1 clean t"]);
    // Making them is the owner's.
    let answer = gil.query("VACUUM FULL t").await;
    let notice = answer.iter().find(|message| message.tag == 'N').unwrap();
    assert_eq!(notice.field('M').unwrap(), "skipping \"t\" --- only table or database owner can vacuum it");
    server.stop().await;
}
