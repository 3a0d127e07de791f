//! Rows that others wrote with values of another type than SQL declares: what is told of them, and how they are mended.

use std::sync::Arc;

use tablegate::backends::memory::MemoryStore;
use tablegate::sql::outcome::Outcome;
use tablegate::sql::session::{Position, Session, SessionOptions};
use tablegate::sql::{Engine, EngineConfig};
use tablegate::store::model::{EdmDateTime, EdmValue, EntityKey, PropertyName, SystemClock, TableName};
use tablegate::store::table::{Batch, Operation, TableStore};
use tablegate::types::error::{ErrorKind, SqlError, SqlResult};

use crate::support::columnar::Columnar;
use crate::support::lines::lines;

/// What the table is declared with beside its key, and a value that an SDK may write there: as it is told.
const MISFITS: &[(&str, &str, &str)] = &[
    ("price", "one hundred", "stored value \"one hundred\" is not a value of type numeric(10,2)"),
    ("n", "9", "stored value \"9\" is not a value of type integer"),
    ("day", "", "stored value \"2020-01-02T03:04:05Z\" is not a value of type date"),
    ("note", "too long", "stored value \"too long\" is not a value of type character varying(5)"),
];

struct Table {
    store: Arc<dyn TableStore>,
    session: Session,
}

impl Table {
    /// With three rows.
    async fn open(store: Arc<dyn TableStore>) -> Self {
        let engine = Engine::open(Arc::clone(&store), Arc::new(SystemClock), EngineConfig::default()).await.unwrap();
        let mut table = Self { store, session: Session::new(engine, SessionOptions::default()).unwrap() };
        table
            .run(
                "CREATE TABLE sales (shop text, line text, price numeric(10,2), n int, day date, note varchar(5), \
                 PRIMARY KEY (shop, line))",
            )
            .await
            .unwrap();
        let rows = "('a', '1', 1.50, 1, '2020-01-01', 'x'), ('a', '2', 2.50, 2, '2020-01-02', 'y'), ('b', '1', 3, 3, NULL, 'z')";
        table.run(&format!("INSERT INTO sales VALUES {rows}")).await.unwrap();
        table
    }

    async fn run(&mut self, sql: &str) -> SqlResult<Vec<String>> {
        let done = self.try_run(sql).await;
        if done.is_err() {
            self.session.fail();
        }
        done
    }

    async fn try_run(&mut self, sql: &str) -> SqlResult<Vec<String>> {
        let statement = self.session.parse(sql)?.pop().unwrap();
        let prepared = self.session.prepare(statement, &[]).await?;
        match self.session.execute(&prepared, Vec::new(), Position::Last).await? {
            Outcome::Rows(rows) => lines(&self.session, rows).await,
            _ => Ok(Vec::new()),
        }
    }

    /// The row (a, 2), with this in a column.
    async fn spoil(&self, column: &str, text: &str) {
        let table = TableName::parse("sales").unwrap();
        let key = EntityKey::parse("a", "2").unwrap();
        let mut entity = self.store.reader().get(&table, &key).await.unwrap().unwrap().entity;
        let value = match column {
            "n" => EdmValue::Int64(text.parse().unwrap()),
            "day" => EdmValue::DateTime(EdmDateTime::parse("2020-01-02T03:04:05Z").unwrap()),
            _ => EdmValue::String(text.into()),
        };
        entity.properties.set(PropertyName::parse(column).unwrap(), value);
        self.store.commit(Batch::single(table, Operation::InsertOrReplace(entity)).unwrap()).await.unwrap();
    }
}

fn check(error: &SqlError, column: &str, message: &str, sql: &str) {
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::StoredValueUnfit, message), "{sql}");
    let detail = error.detail.clone().unwrap_or_default();
    assert!(detail.starts_with(&format!("Key (shop, line)=(a, 2), column \"{column}\"")), "{sql}: {detail}");
    assert_eq!(error.column.as_deref(), Some(column), "{sql}");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("UPDATE")), "{sql}: {:?}", error.hint);
}

async fn misfits_are_told_and_mended(store: Arc<dyn TableStore>) {
    let mut table = Table::open(store).await;
    for (column, text, message) in MISFITS {
        table.spoil(column, text).await;
        for sql in [
            "SELECT * FROM sales".to_owned(),
            format!("SELECT {column} FROM sales"),
            format!("SELECT {column} FROM sales WHERE shop = 'a' AND line = '2'"),
            format!("SELECT max({column}) FROM sales"),
            format!("SELECT line FROM sales WHERE {column} IS NOT NULL AND {column}::text <> 'q'"),
            format!(
                "INSERT INTO sales VALUES ('a', '2') ON CONFLICT (shop, line) DO UPDATE SET {column} = sales.{column}"
            ),
        ] {
            check(&table.run(&sql).await.unwrap_err(), column, message, &sql);
        }
        // Other columns, and other rows.
        table.run("SELECT shop, line FROM sales").await.unwrap();
        table.run(&format!("SELECT {column} FROM sales WHERE shop = 'a' AND line = '1'")).await.unwrap();
        let mend = format!("UPDATE sales SET {column} = NULL WHERE shop = 'a' AND line = '2'");
        table.run(&mend).await.unwrap();
        assert_eq!(table.run("SELECT * FROM sales").await.unwrap().len(), 3);
        table
            .run("UPDATE sales SET n = 2, price = 2.50, day = '2020-01-02', note = 'y' WHERE shop = 'a' AND line = '2'")
            .await
            .unwrap();
        // With another way to write: what is returned is the new value.
        table.spoil(column, text).await;
        let value = match *column {
            "n" | "price" => "2",
            "day" => "'2020-01-02'",
            _ => "'y'",
        };
        let mend = format!("UPDATE sales SET {column} = {value} WHERE shop = 'a' AND line = '2' RETURNING {column}");
        assert_eq!(table.run(&mend).await.unwrap().len(), 1, "{mend}");
        table.spoil(column, text).await;
        let mend = format!(
            "INSERT INTO sales (shop, line, {column}) VALUES ('a', '2', {value}) \
             ON CONFLICT (shop, line) DO UPDATE SET {column} = EXCLUDED.{column}"
        );
        table.run(&mend).await.unwrap();
        assert_eq!(table.run("SELECT * FROM sales").await.unwrap().len(), 3);
        // FIXME: the block that mends the row is not shown it before COMMIT, as the store reads what is under its own write.
        table.spoil(column, text).await;
        table.run("BEGIN").await.unwrap();
        table.run(&format!("UPDATE sales SET {column} = {value} WHERE shop = 'a' AND line = '2'")).await.unwrap();
        let is_of_text = matches!(*column, "note");
        assert_eq!(table.try_run("SELECT * FROM sales").await.is_ok(), is_of_text, "{column}");
        table.run("ROLLBACK").await.unwrap();
        table.run("DELETE FROM sales WHERE shop = 'a' AND line = '2'").await.unwrap();
        table.run("INSERT INTO sales VALUES ('a', '2', 2.50, 2, '2020-01-02', 'y')").await.unwrap();
    }
    // Where a condition looks at the whole row.
    table.run("ALTER TABLE sales ADD CHECK (price > 0 AND n > 0)").await.unwrap();
    table.spoil("n", "9").await;
    let mend = "UPDATE sales SET n = 4 WHERE shop = 'a' AND line = '2'";
    table.run(mend).await.unwrap();
    assert_eq!(table.run("SELECT n FROM sales WHERE shop = 'a' AND line = '2'").await.unwrap(), ["|4"]);
}

#[tokio::test]
async fn misfits_are_told_and_mended_in_memory() {
    misfits_are_told_and_mended(Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await;
}

#[tokio::test]
async fn misfits_are_told_and_mended_in_columns_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = Columnar::open(folder.path(), Arc::new(SystemClock)).unwrap();
    misfits_are_told_and_mended(Arc::new(store)).await;
}
