//! What psql's backslash commands and its completion ask, with the rows they show.

use crate::psql_catalog::harness::Client;

#[tokio::test]
async fn lists_of_relations() {
    let mut client = Client::with_tables().await;
    let tables = ["public|orders|table|ada", "public|raw|table|ada"];
    for queries in [include_str!("queries/d.sql"), include_str!("queries/dt.sql")] {
        let answers = client.ask_all(queries).await;
        assert_eq!(answers[0].lines(), tables);
        assert_eq!(answers[0].labels(), ["Schema", "Name", "Type", "Owner"]);
    }
    let detailed = client.ask_all(include_str!("queries/dt_plus.sql")).await;
    assert_eq!(detailed[0].lines()[0], "public|orders|table|ada|permanent|heap|0 bytes|");
    let indexes = client.ask_all(include_str!("queries/di.sql")).await;
    assert_eq!(indexes[0].lines(), ["public|orders_pkey|index|ada|orders", "public|raw_pkey|index|ada|raw"]);
    assert!(client.ask_all(include_str!("queries/dv.sql")).await[0].rows.is_empty());
}

#[tokio::test]
async fn a_table_with_its_primary_key() {
    let mut client = Client::with_tables().await;
    let answers = client.ask_all(include_str!("queries/d_table.sql")).await;
    assert_eq!(answers[0].lines(), ["16384|public|orders"]);
    assert_eq!(answers[1].lines(), ["0|r|t|f|f|f|f|f|f||0||p|d|heap"]);
    assert_eq!(
        answers[2].lines(),
        ["customer|text||t|||", "id|integer||t|||", "total|numeric(12,2)||f|||", "note|character varying(20)||f|||",]
    );
    assert_eq!(
        answers[3].lines(),
        [
            "orders_pkey|t|t|f|t|CREATE UNIQUE INDEX orders_pkey ON orders USING btree (customer, id)|PRIMARY KEY (customer, id)|p|f|f|f|0"
        ]
    );
    assert!(answers[4..].iter().all(|a| a.rows.is_empty()));
    client.ask_all(include_str!("queries/d_plus_table.sql")).await;
}

/// As PostgreSQL 15 answered, but that what is only recorded is not valid.
#[tokio::test]
async fn a_table_with_everything() {
    let mut client = Client::with_script(include_str!("queries/people.sql")).await;
    let answers = client.ask_about("people", include_str!("queries/d_plus_people.sql")).await;
    assert_eq!(answers[1].lines(), ["3|r|t|f|t|f|f|f|f||0||p|d|heap"]);
    assert_eq!(
        answers[2].lines(),
        [
            "id|integer||t||a||p|||",
            "n|integer|nextval('people_n_seq'::regclass)|t||||p|||",
            "big|bigint|nextval('people_big_seq'::regclass)|t||||p|||",
            "name|character varying(40)||t||||x|||full name",
            "code|character(3)|'abc'::bpchar|f||||x|||",
            "salary|numeric(10,2)|0|f||||m|||",
            "dept|integer||f||||p|||",
            "hired|date|CURRENT_DATE|f||||p|||",
            "at|timestamp(3) with time zone|now()|f||||p|||",
            "note|text|'none'::text|f||||x|||",
            "flag|boolean|true|f||||p|||",
            "tags|text[]|'{}'::text[]|f||||x|||",
            "doc|jsonb||f||||x|||",
            "u|uuid||f||||p|||",
            "f|real||f||||p|||",
            "d|double precision||f||||p|||",
            "s|smallint||f||||p|||",
            "initials|text|upper(name::text)|f|||s|x|||",
        ]
    );
    assert_eq!(
        answers[3].lines(),
        [
            "people_pkey|t|t|f|t|CREATE UNIQUE INDEX people_pkey ON people USING btree (id)|PRIMARY KEY (id)|p|f|f|f|0",
            "people_hired|f|f|f|f|CREATE INDEX people_hired ON people USING btree (hired DESC)|||||f|0",
            "people_lower|f|f|f|f|CREATE INDEX people_lower ON people USING btree (lower(name::text))|||||f|0",
            "people_name_dept_key|f|t|f|f|CREATE UNIQUE INDEX people_name_dept_key ON people USING btree (name, dept)|UNIQUE (name, dept)|u|f|f|f|0",
            "people_part|f|f|f|f|CREATE INDEX people_part ON people USING btree (dept) WHERE flag|||||f|0",
        ]
    );
    assert_eq!(
        answers[4].lines(),
        [
            "either|CHECK (note IS NOT NULL OR flag)",
            "named|CHECK (name::text <> ''::text AND length(name::text) < 30)",
            "people_salary_check|CHECK (salary > 0::numeric)",
        ]
    );
    assert_eq!(
        answers[5].lines(),
        ["t|people_dept_fkey|FOREIGN KEY (dept) REFERENCES dept(id) ON DELETE CASCADE NOT VALID|people"]
    );
    assert!(answers[6..].iter().all(|a| a.rows.is_empty()));
}

#[tokio::test]
async fn an_index() {
    let mut client = Client::with_tables().await;
    let answers = client.ask_all(include_str!("queries/d_index.sql")).await;
    assert_eq!(answers[2].lines(), ["customer|text|yes|customer", "id|integer|yes|id"]);
    assert_eq!(answers[3].lines(), ["t|t|f|t|f|f|f|f|btree|orders|"]);
}

#[tokio::test]
async fn databases_schemas_and_roles() {
    let mut client = Client::with_tables().await;
    let databases = client.ask_all(include_str!("queries/l.sql")).await;
    let templates =
        ["template0|ada|UTF8|C|C||libc|=c/ada\nada=CTc/ada", "template1|ada|UTF8|C|C||libc|=c/ada\nada=CTc/ada"];
    assert_eq!(databases[0].lines(), ["tablegate|ada|UTF8|C|C||libc|", templates[0], templates[1]]);
    let databases = client.ask_all(include_str!("queries/l_plus.sql")).await;
    assert_eq!(databases[0].lines()[0], "tablegate|ada|UTF8|C|C||libc||0 bytes|pg_default|");
    assert!(databases[0].lines()[1].ends_with("|pg_default|unmodifiable empty database"));
    assert_eq!(
        client.ask_all(include_str!("queries/dn_plus.sql")).await[0].lines(),
        ["public|ada|ada=UC/ada\n=U/ada|standard public schema"]
    );
    assert_eq!(client.ask_all(include_str!("queries/du.sql")).await[0].lines(), ["ada|t|t|t|t|t|-1||{}|t|t"]);
}

#[tokio::test]
async fn privileges_types_and_functions() {
    let mut client = Client::with_tables().await;
    let privileges = client.ask_all(include_str!("queries/dp.sql")).await;
    assert_eq!(privileges[0].lines(), ["public|orders|table|||", "public|raw|table|||"]);
    for queries in
        [include_str!("queries/types.sql"), include_str!("queries/types_plus.sql"), include_str!("queries/df.sql")]
    {
        assert!(client.ask_all(queries).await[0].rows.is_empty());
    }
}

#[tokio::test]
async fn the_other_commands_are_answered() {
    Client::with_tables().await.ask_all(include_str!("queries/other_commands.sql")).await;
}

/// What every `\d` command of psql 15 asks besides, with its `S` and `+`, as psql writes it with `-E`.
#[tokio::test]
async fn every_command_is_answered() {
    let mut client = Client::with_tables().await;
    let answers = client.ask_all(include_str!("queries/every_command.sql")).await;
    let shown: Vec<Vec<String>> = answers.iter().map(crate::psql_catalog::harness::Answer::lines).collect();
    let shows = |line: &str| shown.iter().any(|lines| lines.iter().any(|shown| shown == line));
    // `\dAp+`: functions of one name are told apart.
    assert!(shows("btree|integer_ops|bigint|bigint|3|in_range(bigint,bigint,bigint,boolean,boolean)"));
    // `\dFp+`
    assert!(shows("asciiword|Word, all ASCII"));
    // `\da`: aggregates over ordered rows.
    assert!(shows("pg_catalog|mode|anyelement|ORDER BY anyelement|most common value"));
}

#[tokio::test]
async fn completion_is_answered() {
    let mut client = Client::with_tables().await;
    let answers = client.ask_all(include_str!("queries/tab_completion.sql")).await;
    assert!(answers.iter().any(|a| a.lines().contains(&"orders|".to_owned())));
    assert!(answers.iter().any(|a| a.lines() == ["customer|"]));
    assert!(answers.iter().any(|a| a.lines() == ["orders_pkey|"]));
}
