//! A user whose role is read-only reads, and neither writes nor gets leave to.

use tablegate::pg::Method;

use crate::wire::harness::{column, error_code, status};
use crate::wire::logins::{Door, login};

#[tokio::test]
async fn nothing_can_be_written() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let mut ann = login(&server, "ann").await;
    ann.query("CREATE TABLE t (p text, r text, n int, PRIMARY KEY (p, r)); CREATE SEQUENCE s").await;
    ann.query("INSERT INTO t VALUES ('a', 'b', 1)").await;
    let mut ron = login(&server, "ron").await;
    assert_eq!(column(&ron.query("SELECT n FROM t").await), ["1"]);
    for write in [
        "INSERT INTO t VALUES ('a', 'c', 1)",
        "UPDATE t SET n = 2",
        "DELETE FROM t",
        "MERGE INTO t USING (VALUES ('a')) v(p) ON t.p = v.p WHEN MATCHED THEN DELETE",
        "WITH d AS (DELETE FROM t RETURNING n) SELECT * FROM d",
        "TRUNCATE t",
        "CREATE TABLE u (p text, r text, PRIMARY KEY (p, r))",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN m int",
        "CREATE SEQUENCE s2",
        "DROP SEQUENCE s",
        "SELECT nextval('s')",
        "SELECT setval('s', 5)",
        "SELECT * FROM t FOR UPDATE",
        "COPY t FROM STDIN",
        "SET egt.mode = observe; CREATE INDEX ON t (n)",
    ] {
        assert_eq!(error_code(&ron.query(write).await), "25006", "{write}");
    }
    assert_eq!(column(&ann.query("SELECT n FROM t").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn the_role_cannot_be_left() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let mut ron = login(&server, "ron").await;
    for attempt in [
        "SET default_transaction_read_only = off",
        "SET LOCAL default_transaction_read_only = false",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "BEGIN READ WRITE",
        "START TRANSACTION READ WRITE",
        "BEGIN; SET TRANSACTION READ WRITE",
        "BEGIN; SET transaction_read_only = off",
        "BEGIN; SET LOCAL transaction_read_only TO no",
    ] {
        let answer = ron.query(attempt).await;
        assert_eq!(error_code(&answer), "42501", "{attempt}");
        if status(&answer) != 'I' {
            ron.query("ROLLBACK").await;
        }
        assert_eq!(column(&ron.query("SHOW transaction_read_only").await), ["on"], "{attempt}");
    }
    for allowed in
        ["RESET default_transaction_read_only", "RESET ALL", "DISCARD ALL", "BEGIN READ ONLY; COMMIT AND CHAIN"]
    {
        ron.query(allowed).await;
        assert_eq!(column(&ron.query("SHOW transaction_read_only").await), ["on"], "{allowed}");
    }
    ron.query("ROLLBACK").await;
    let shown = "SELECT rolsuper || ' ' || rolconfig[1] FROM pg_roles WHERE rolname = current_user";
    assert_eq!(column(&ron.query(shown).await), ["false default_transaction_read_only=on"]);
    assert_eq!(column(&ron.query("SELECT usesuper FROM pg_user WHERE usename = current_user").await), ["f"]);
    assert_eq!(column(&ron.query("SHOW is_superuser").await), ["off"]);
    server.stop().await;
}
