//! Rows as values of a result: their types, and both of their forms.

use tokio_postgres::types::{Kind, Type};

use crate::wire::harness::{Server, bind_as, error, execute, parse, sync};

const RECORD: u32 = 2249;

#[tokio::test]
async fn drivers_see_the_row_types_of_tables() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute("CREATE TABLE items (id int PRIMARY KEY, label text)").await.unwrap();
    let statement = client.prepare("SELECT items, ROW(1), array_agg(items) FROM items GROUP BY items").await.unwrap();
    let types: Vec<&Type> = statement.columns().iter().map(|column| column.type_()).collect();
    assert_eq!((types[0].name(), types[1], types[2].name()), ("items", &Type::RECORD, "_items"));
    let Kind::Composite(fields) = types[0].kind() else { panic!("{:?}", types[0].kind()) };
    let fields: Vec<(&str, &Type)> = fields.iter().map(|field| (field.name(), field.type_())).collect();
    assert_eq!(fields, [("id", &Type::INT4), ("label", &Type::TEXT)]);
    assert!(matches!(types[2].kind(), Kind::Array(item) if item == types[0]));
    server.stop().await;
}

/// A field of a row in binary form.
fn field(oid: u32, value: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = oid.to_be_bytes().to_vec();
    match value {
        Some(value) => {
            bytes.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
            bytes.extend(value);
        }
        None => bytes.extend([0xff; 4]),
    }
    bytes
}

fn row(fields: &[Vec<u8>]) -> Vec<u8> {
    let count = u32::try_from(fields.len()).unwrap();
    count.to_be_bytes().into_iter().chain(fields.concat()).collect()
}

#[tokio::test]
async fn rows_have_the_forms_of_postgres() {
    let server = Server::start().await;
    let driver = server.driver().await;
    driver.batch_execute("CREATE TABLE items (id int PRIMARY KEY, n numeric(6,2), label text)").await.unwrap();
    driver.batch_execute("INSERT INTO items VALUES (1, 12.5, NULL)").await.unwrap();
    let numeric: &[u8] = &[0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x13, 0x88];
    let item = row(&[field(23, Some(&[0, 0, 0, 1])), field(1700, Some(numeric)), field(25, None)]);
    let inner = row(&[field(16, Some(&[1])), field(1082, Some(&[0, 0, 0, 1]))]);
    let cases = [
        ("ROW(7, 'a b'::text, NULL::int8)", r#"(7,"a b",)"#, {
            row(&[field(23, Some(&[0, 0, 0, 7])), field(25, Some(b"a b")), field(20, None)])
        }),
        ("ROW()", "()", row(&[])),
        ("ROW(ROW(true, date '2000-01-02'))", r#"("(t,2000-01-02)")"#, row(&[field(RECORD, Some(&inner))])),
        ("items", "(1,12.50,)", item),
        // Sums have layouts of their own.
        ("ROW(count(*), sum(n))", "(1,12.50)", {
            row(&[field(20, Some(&[0, 0, 0, 0, 0, 0, 0, 1])), field(1700, Some(numeric))])
        }),
    ];
    let mut client = server.client().await;
    for (sql, text, binary) in cases {
        let group = if sql == "items" { "GROUP BY items" } else { "" };
        let select = format!("SELECT {sql}, {sql} FROM items {group}");
        let bound = bind_as("", "", &[], &[], &[1, 0]);
        let messages = client.ask(&[parse("", &select, &[]), bound, execute("", 0), sync()]).await;
        let answer = messages.iter().find(|message| message.tag == 'D');
        let answer = answer.unwrap_or_else(|| panic!("{sql}: {:?}", error(&messages).field('M')));
        assert_eq!(answer.cells()[0].as_deref(), Some(&*binary), "{sql}");
        assert_eq!(answer.texts_of(1), text, "{sql}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_a_change_returns_are_columns_of_its_table() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute("CREATE TABLE items (id int PRIMARY KEY, label text, old text)").await.unwrap();
    let table = client.query_one("SELECT 'items'::regclass::oid", &[]).await.unwrap().get::<_, u32>(0);
    let expected = [(Some(table), Some(2)), (Some(table), Some(1)), (None, None)];
    for change in ["INSERT INTO items VALUES (1, 'a')", "UPDATE items SET label = 'b'", "DELETE FROM items"] {
        for sql in [
            format!("{change} RETURNING label, id AS number, id + 1"),
            format!("WITH changed AS ({change} RETURNING *) SELECT label, id, id + 1 FROM changed"),
        ] {
            let statement = client.prepare(&sql).await.unwrap();
            let origins: Vec<_> = statement.columns().iter().map(|c| (c.table_oid(), c.column_id())).collect();
            assert_eq!(origins, expected, "{sql}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn arrays_have_all_their_dimensions_in_binary() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let sql = "SELECT ARRAY[[1, 2], [NULL, 4]], ARRAY[[[7]]], ARRAY[[]]::int[]";
    let messages = client.ask(&[parse("", sql, &[]), bind_as("", "", &[], &[], &[1]), execute("", 0), sync()]).await;
    let cells = messages.iter().find(|message| message.tag == 'D').unwrap().cells();
    let numbers = |numbers: &[i32]| Some(numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>());
    assert_eq!(cells[0], numbers(&[2, 1, 23, 2, 1, 2, 1, 4, 1, 4, 2, -1, 4, 4]));
    assert_eq!(cells[1], numbers(&[3, 0, 23, 1, 1, 1, 1, 1, 1, 4, 7]));
    assert_eq!(cells[2], numbers(&[0, 0, 23]));
    server.stop().await;
}
