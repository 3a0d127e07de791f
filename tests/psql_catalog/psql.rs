//! What psql's backslash commands and its completion ask, with the rows they show.

use crate::harness::Client;

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
            "orders_pkey|t|t|f|t|CREATE UNIQUE INDEX orders_pkey ON public.orders USING btree (customer, id)|PRIMARY KEY (customer, id)|p|f|f|f|0"
        ]
    );
    assert!(answers[4..].iter().all(|a| a.rows.is_empty()));
    client.ask_all(include_str!("queries/d_plus_table.sql")).await;
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

#[tokio::test]
async fn completion_is_answered() {
    let mut client = Client::with_tables().await;
    let answers = client.ask_all(include_str!("queries/tab_completion.sql")).await;
    assert!(answers.iter().any(|a| a.lines().contains(&"orders|".to_owned())));
    assert!(answers.iter().any(|a| a.lines() == ["customer|"]));
    assert!(answers.iter().any(|a| a.lines() == ["orders_pkey|"]));
}
