//! A session on a store in memory, with one relational and one raw table, and its answers as text.

use std::sync::Arc;

use bytes::BytesMut;
use futures::StreamExt;
use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::{Outcome, ResultColumn};
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig, ScratchStore};
use tablegate::store::model::SystemClock;
use tablegate::types::output::{Style, TextColumn};

/// OID of the first declared table, `orders`; its key's index has the next.
pub(super) const ORDERS: &str = "16384";
pub(super) const ORDERS_PKEY: &str = "16385";

pub(super) struct Client {
    session: Session,
}

pub(super) struct Answer {
    pub columns: Arc<[ResultColumn]>,
    pub rows: Vec<Vec<String>>,
}

impl Answer {
    /// Rows as psql's unaligned output shows them.
    pub(super) fn lines(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.join("|")).collect()
    }

    pub(super) fn labels(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
    }
}

impl Client {
    pub(super) async fn with_tables() -> Self {
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let scratch = Some(ScratchStore(Arc::new(MemoryStore::new(clock.clone()))));
        let config = EngineConfig { scratch, ..EngineConfig::default() };
        let engine = Engine::open(store, clock, config).await.unwrap();
        let options = SessionOptions { user: "ada".to_owned(), ..SessionOptions::default() };
        let mut client = Self { session: Session::new(engine, options).unwrap() };
        client.run("CREATE TABLE orders (customer text, id int, total numeric(12,2), note varchar(20), PRIMARY KEY (customer, id))").await;
        client
            .run(
                "CREATE TABLE raw (\"PartitionKey\" text, \"RowKey\" text, PRIMARY KEY (\"PartitionKey\", \"RowKey\"))",
            )
            .await;
        client
    }

    async fn run(&mut self, sql: &str) {
        for statement in self.session.parse(sql).unwrap() {
            let prepared = self.session.prepare(statement, &[]).await.unwrap();
            self.session.execute(&prepared, Vec::new(), Position::Last).await.map(|_| ()).unwrap();
        }
    }

    /// What one query gives, or what is wrong with it.
    pub(super) async fn try_ask(&mut self, sql: &str) -> Result<Answer, String> {
        let mut statements = self.session.parse(sql).map_err(|e| e.to_string())?;
        let statement = statements.pop().ok_or("no statement")?;
        let prepared = self.session.prepare(statement, &[]).await.map_err(|e| e.to_string())?;
        let outcome = self.session.execute(&prepared, Vec::new(), Position::Last).await.map_err(|e| e.to_string())?;
        let Outcome::Rows(mut rows) = outcome else { return Err("no rows".to_owned()) };
        let mut texts = Vec::new();
        while let Some(batch) = rows.stream.next().await {
            let batch = batch.map_err(|e| e.to_string())?;
            let style = Style::default();
            let cells: Vec<_> = batch
                .columns()
                .iter()
                .zip(&*rows.columns)
                .map(|(a, c)| TextColumn::new(a, &c.sql_type, &style))
                .collect();
            for row in 0..batch.num_rows() {
                texts.push(cells.iter().map(|cell| text(cell, row)).collect());
            }
        }
        Ok(Answer { columns: rows.columns, rows: texts })
    }

    pub(super) async fn ask(&mut self, sql: &str) -> Answer {
        match self.try_ask(sql).await {
            Ok(answer) => answer,
            Err(error) => panic!("{error}\n{sql}"),
        }
    }

    /// A session with the tables of a script, under `egt.mode = observe`.
    pub(super) async fn with_script(script: &str) -> Self {
        let mut client = Self::with_tables().await;
        client.run("SET egt.mode = observe").await;
        client.run(script).await;
        client
    }

    /// The answers to a file of queries, about a table.
    pub(super) async fn ask_about(&mut self, table: &str, queries: &str) -> Vec<Answer> {
        let oid = self.ask(&format!("SELECT '{table}'::regclass::oid")).await.lines().concat();
        self.ask_all(&queries.replace("{table}", &oid)).await
    }

    /// The answers to a file of queries, about the table `orders`.
    pub(super) async fn ask_all(&mut self, queries: &str) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut wrong = Vec::new();
        for query in queries.replace("{table}", ORDERS).replace("{index}", ORDERS_PKEY).split(";\n").map(str::trim) {
            if query.is_empty() {
                continue;
            }
            match self.try_ask(query).await {
                Ok(answer) => answers.push(answer),
                Err(error) => wrong.push(format!("{error}\n{query}\n")),
            }
        }
        assert!(wrong.is_empty(), "{} of {} fail:\n\n{}", wrong.len(), wrong.len() + answers.len(), wrong.join("\n"));
        answers
    }
}

fn text(cell: &TextColumn<'_>, row: usize) -> String {
    let mut out = BytesMut::new();
    if !cell.is_null(row) {
        cell.write(row, &mut out);
    }
    String::from_utf8(out.to_vec()).unwrap()
}
