//! Users are made, changed and removed from SQL, by those who may.

use tablegate::pg::{Method, Role, UsersFile, Verifier};

use crate::wire::harness::{Client, bind, column, error, error_code, execute, parse, sync, tags};
use crate::wire::logins::{Door, PASSWORD, login};

async fn told(client: &mut Client, sql: &str) -> String {
    let answer = client.query(sql).await;
    match answer.iter().find(|m| m.tag == 'E') {
        Some(error) => format!("{} {}", error.code(), error.field('M').unwrap()),
        None => String::new(),
    }
}

fn door() -> Door {
    let door = Door::with_users();
    door.add("ida", Role::Admin);
    door
}

#[tokio::test]
async fn a_user_made_in_sql_logs_in_at_once() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ida = login(&server, "ida").await;
    ida.query(&format!("CREATE USER gil WITH LOGIN PASSWORD '{PASSWORD}'")).await;
    let mut gil = login(&server, "gil").await;
    ida.query("CREATE TABLE t (p text PRIMARY KEY)").await;
    assert_eq!(told(&mut gil, "SELECT * FROM t").await, "42501 permission denied for table t");
    ida.query("GRANT SELECT ON t TO gil").await;
    assert!(column(&gil.query("SELECT * FROM t").await).is_empty());
    let verifier = Verifier::of_password(PASSWORD).unwrap().to_string();
    // As psql's \password does it.
    gil.query("ALTER USER gil PASSWORD 'another'").await;
    assert_eq!(tags(&gil.query(&format!("ALTER USER \"gil\" PASSWORD '{verifier}'")).await), "CZ");
    let kept = UsersFile::new(door.file()).read().unwrap();
    assert_eq!(kept.get("gil").unwrap().verifier.as_ref().map(ToString::to_string), Some(verifier));
    login(&server, "gil").await;
    assert_eq!(
        told(&mut ida, "DROP ROLE gil").await,
        "2BP01 role \"gil\" cannot be dropped because some objects depend on it"
    );
    ida.query("REVOKE ALL ON t FROM gil").await;
    ida.query("DROP ROLE gil").await;
    assert!(UsersFile::new(door.file()).read().unwrap().get("gil").is_none());
    server.stop().await;
}

#[tokio::test]
async fn only_admins_decide_about_others() {
    let door = door();
    door.add("gil", Role::Granted);
    let server = door.serve(Method::Scram).await;
    let (mut ann, mut gil) = (login(&server, "ann").await, login(&server, "gil").await);
    let mut ron = login(&server, "ron").await;
    for (sql, expected) in [
        ("CREATE ROLE x", "42501 permission denied to create role"),
        ("ALTER ROLE gil PASSWORD 'x'", "42501 permission denied"),
        ("ALTER ROLE ann SUPERUSER", "42501 permission denied"),
        ("DROP ROLE gil", "42501 permission denied to drop role"),
    ] {
        assert_eq!(told(&mut ann, sql).await, expected, "{sql}");
    }
    assert_eq!(told(&mut gil, "ALTER ROLE gil SUPERUSER PASSWORD 'x'").await, "42501 permission denied");
    assert_eq!(told(&mut gil, "ALTER ROLE ida PASSWORD 'x'").await, "42501 permission denied");
    let read_only = "25006 cannot execute ALTER ROLE in a read-only transaction";
    assert_eq!(told(&mut ron, "ALTER ROLE ron PASSWORD 'x'").await, read_only);
    let kept = UsersFile::new(door.file()).read().unwrap();
    assert_eq!((kept.iter().count(), kept.get("gil").unwrap().role), (4, Role::Granted));
    server.stop().await;
}

#[tokio::test]
async fn options_mean_what_they_say_or_are_refused() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ida = login(&server, "ida").await;
    for (sql, expected) in [
        ("CREATE ROLE a", ""),
        (
            "ALTER ROLE a WITH NOSUPERUSER INHERIT NOCREATEROLE NOCREATEDB LOGIN NOREPLICATION NOBYPASSRLS PASSWORD 'x'",
            "",
        ),
        ("CREATE ROLE a", "42710 role \"a\" already exists"),
        ("CREATE ROLE b SUPERUSER CREATEDB LOGIN PASSWORD 'x'", ""),
        ("CREATE ROLE c CREATEDB", "0A000 CREATEDB without SUPERUSER is not supported"),
        ("CREATE ROLE c CONNECTION LIMIT 5", "0A000 CONNECTION LIMIT is not supported"),
        ("CREATE ROLE c VALID UNTIL '2030-01-01'", "0A000 VALID UNTIL is not supported"),
        ("CREATE ROLE c IN ROLE a", "0A000 membership of roles in roles is not supported"),
        (
            "CREATE USER c PASSWORD 'md5aabbccddeeff00112233445566778899'",
            "22023 passwords hashed with MD5 cannot be used here",
        ),
        ("CREATE USER c PASSWORD ''", "22023 a password must not be empty"),
        ("CREATE ROLE pg_c", "42939 role name \"pg_c\" is reserved"),
        ("CREATE ROLE \"public\"", "42939 role name \"public\" is reserved"),
        ("ALTER ROLE nobody PASSWORD 'x'", "42704 role \"nobody\" does not exist"),
        ("ALTER ROLE a SET work_mem = '1MB'", "0A000 ALTER ROLE ... SET is not supported"),
        ("ALTER ROLE b NOSUPERUSER PASSWORD NULL", ""),
        ("DROP ROLE nobody", "42704 role \"nobody\" does not exist"),
        ("DROP ROLE IF EXISTS nobody", ""),
        ("DROP ROLE ida", "55006 current user cannot be dropped"),
        ("BEGIN; DROP ROLE a", "25001 DROP ROLE cannot run inside a transaction block"),
    ] {
        assert_eq!(told(&mut ida, sql).await, expected, "{sql}");
        if sql.starts_with("BEGIN") {
            ida.query("ROLLBACK").await;
        }
    }
    let roles =
        "SELECT rolname || ' ' || rolsuper || ' ' || rolcanlogin FROM pg_roles WHERE rolname IN ('a', 'b') ORDER BY 1";
    assert_eq!(column(&ida.query(roles).await), ["a false true", "b false false"]);
    server.stop().await;
}

#[tokio::test]
async fn the_first_user_can_make_others() {
    let door = Door::new();
    let server = door.serve(Method::Auto).await;
    let mut first = server.client().await;
    for sql in ["CREATE ROLE gil PASSWORD 'x'", "CREATE ROLE ida SUPERUSER"] {
        let refused = first.query(sql).await;
        assert_eq!(error(&refused).code(), "55000", "{sql}");
        assert!(error(&refused).field('H').unwrap().contains("SUPERUSER"), "{sql}");
    }
    first.query(&format!("CREATE ROLE ida SUPERUSER LOGIN PASSWORD '{PASSWORD}'")).await;
    let mut ida = login(&server, "ida").await;
    assert_eq!(column(&ida.query("SHOW is_superuser").await), ["on"]);
    server.stop().await;
}

#[tokio::test]
async fn what_becomes_of_a_role_counts_from_the_next_statement_on() {
    let door = door();
    door.add("gil", Role::Granted);
    let server = door.serve(Method::Scram).await;
    let mut ida = login(&server, "ida").await;
    ida.query("CREATE TABLE t (p text PRIMARY KEY)").await;
    let mut gil = login(&server, "gil").await;
    gil.ask(&[parse("s", "SELECT * FROM t", &[]), sync()]).await;
    let run = [bind("", "s", &[]), execute("", 0), sync()];
    let denied = "42501 permission denied for table t";
    assert_eq!(told(&mut gil, "SELECT * FROM t").await, denied);
    assert_eq!(error_code(&gil.ask(&run).await), "42501");
    ida.query("ALTER ROLE gil SUPERUSER").await;
    assert_eq!(told(&mut gil, "INSERT INTO t VALUES ('a')").await, "");
    assert_eq!(column(&gil.ask(&run).await), ["a"]);
    assert_eq!(column(&gil.query("SHOW is_superuser").await), ["on"]);
    // In the middle of a block, too.
    gil.query("BEGIN").await;
    assert_eq!(column(&gil.query("SELECT * FROM t").await), ["a"]);
    ida.query("ALTER ROLE gil NOSUPERUSER").await;
    assert_eq!(told(&mut gil, "SELECT * FROM t").await, denied);
    gil.query("ROLLBACK").await;
    assert_eq!(column(&gil.query("SHOW is_superuser").await), ["off"]);
    ida.query("ALTER ROLE gil SUPERUSER").await;
    assert_eq!(told(&mut gil, "SELECT * FROM t").await, "");
    // Who is no user any more has what everybody has.
    ida.query("DROP ROLE gil").await;
    assert_eq!(told(&mut gil, "SELECT * FROM t").await, denied);
    server.stop().await;
}

#[tokio::test]
async fn a_session_stays_who_it_is() {
    let door = door();
    let server = door.serve(Method::Scram).await;
    let mut ann = login(&server, "ann").await;
    for allowed in [
        "SET ROLE ann",
        "SET ROLE NONE",
        "SET SESSION ROLE 'ann'",
        "RESET ROLE",
        "SET SESSION AUTHORIZATION ann",
        "SET SESSION AUTHORIZATION DEFAULT",
        "RESET SESSION AUTHORIZATION",
    ] {
        assert_eq!(tags(&ann.query(allowed).await), "CZ", "{allowed}");
    }
    for (sql, expected) in [
        ("SET ROLE ida", "42501 permission denied to set role \"ida\""),
        ("SET ROLE nobody", "22023 role \"nobody\" does not exist"),
        ("SET SESSION AUTHORIZATION ida", "42501 permission denied to set session authorization"),
    ] {
        assert_eq!(told(&mut ann, sql).await, expected, "{sql}");
    }
    let who = "SELECT current_user || ' ' || session_user";
    assert_eq!(column(&ann.query(who).await), ["ann ann"]);
    server.stop().await;
}

#[tokio::test]
async fn an_owner_gives_a_table_away() {
    let door = door();
    door.add("gil", Role::Granted);
    let server = door.serve(Method::Scram).await;
    let (mut ann, mut gil) = (login(&server, "ann").await, login(&server, "gil").await);
    ann.query("CREATE TABLE t (id serial PRIMARY KEY); GRANT SELECT ON t TO ron").await;
    assert_eq!(told(&mut gil, "ALTER TABLE t OWNER TO gil").await, "42501 must be owner of table t");
    assert_eq!(told(&mut ann, "ALTER TABLE t OWNER TO nobody").await, "42704 role \"nobody\" does not exist");
    assert_eq!(tags(&ann.query("ALTER TABLE public.t OWNER TO gil").await), "CZ");
    let shown = "SELECT relname || ' ' || pg_get_userbyid(relowner) || ' ' || coalesce(relacl::text, '') FROM pg_class \
                 WHERE relname IN ('t', 't_id_seq', 't_pkey') ORDER BY 1";
    assert_eq!(column(&gil.query(shown).await), ["t gil {gil=arwdDxt/gil,ron=r/gil}", "t_id_seq gil ", "t_pkey gil "]);
    gil.query("INSERT INTO t DEFAULT VALUES").await;
    assert_eq!(told(&mut gil, "ALTER TABLE t OWNER TO ann").await, "42501 must be member of role \"ann\"");
    assert_eq!(tags(&gil.query("ALTER SEQUENCE t_id_seq OWNER TO gil; DROP TABLE t").await), "CCZ");
    server.stop().await;
}
