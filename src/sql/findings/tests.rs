//! Findings of a small shop's schema, as a team that assesses it would read them.

use tablegate_store::model::TableName;
use tablegate_types::constraint::{Constraints, Deferral, ReferentialAction, Unenforced, UnenforcedKind};
use tablegate_types::sql_type::SqlType;

use super::*;
use crate::catalog::{
    Declaration, DeclaredColumn, DeclaredKey, DeclaredKeyColumn, DeclaredPartition, SequenceOptions, SequenceOwner,
};

fn column(name: &str, sql_type: &SqlType) -> DeclaredColumn {
    DeclaredColumn { property: Some(name.to_owned()), ..DeclaredColumn::new(name, sql_type) }
}

fn key_column(name: &str, sql_type: &SqlType) -> DeclaredColumn {
    DeclaredColumn { not_null: true, ..DeclaredColumn::new(name, sql_type) }
}

fn table(
    oid: u32,
    key: &[(&str, SqlType)],
    columns: Vec<DeclaredColumn>,
    unenforced: Vec<Unenforced>,
) -> Arc<Relation> {
    let parts = key.iter().map(|(name, _)| DeclaredKeyColumn { name: (*name).to_owned(), descending: false });
    let declared_key = match key {
        [] => DeclaredKey::Generated { partition: "all".to_owned(), escape: false },
        _ => DeclaredKey::Relational {
            columns: parts.collect(),
            partition: DeclaredPartition::Columns(1),
            escape: false,
        },
    };
    let mut all: Vec<_> = key.iter().map(|(name, sql_type)| key_column(name, sql_type)).collect();
    all.extend(columns);
    let stored = TableName::parse("orders").unwrap();
    let mut declaration = Declaration::new("orders", &stored, oid, all, declared_key, false);
    declaration.constraints = Constraints { unenforced, ..Constraints::default() };
    Arc::new(declaration.relation().unwrap())
}

fn recorded(number: u32, name: &str, columns: &[&str], kind: UnenforcedKind) -> Unenforced {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Unenforced::new(number, name.to_owned(), columns, kind)
}

fn foreign_key() -> UnenforcedKind {
    UnenforcedKind::ForeignKey {
        table: "customers".to_owned(),
        referenced: vec!["id".to_owned()],
        on_update: ReferentialAction::NoAction,
        on_delete: ReferentialAction::Cascade,
        match_full: false,
        deferral: Deferral::NotDeferrable,
    }
}

fn index(unique: bool) -> UnenforcedKind {
    UnenforcedKind::Index { unique, method: "btree".to_owned(), definition: "(x)".to_owned() }
}

fn kinds(found: &[Finding]) -> Vec<(Kind, Severity)> {
    found.iter().map(|finding| (finding.kind, finding.severity)).collect()
}

#[test]
fn what_is_not_kept_comes_first() {
    let unenforced = vec![
        recorded(0, "orders_customer_fkey", &["customer"], foreign_key()),
        recorded(1, "orders_placed_idx", &["placed"], index(false)),
        recorded(2, "orders_id_idx", &["id"], index(false)),
        recorded(3, "orders_number_idx", &["number"], index(true)),
    ];
    let columns = vec![
        column("customer", &SqlType::Int4),
        column("placed", &SqlType::Timestamptz),
        column("number", &SqlType::Varchar(Some(20))),
        column("total", &SqlType::Numeric(Some((12, 2)))),
    ];
    let found = findings(&[table(16_384, &[("id", SqlType::Uuid)], columns, unenforced)], &[]);
    assert_eq!(
        kinds(&found),
        [
            (Kind::ForeignKey, Severity::High),
            (Kind::UniqueIndex, Severity::High),
            (Kind::SingleRowPartitions, Severity::Medium),
            (Kind::Index, Severity::Medium),
            (Kind::StoredAsText, Severity::Low),
            (Kind::Index, Severity::Info),
            (Kind::TimeRange, Severity::Info),
        ]
    );
    assert!(found[0].meaning.contains("rows here are not changed with it"));
    assert!(found[0].advice.contains("begin the primary key with (customer)"));
}

#[test]
fn keys_of_text_and_of_nothing() {
    let found = findings(&[table(1, &[("name", SqlType::Text), ("n", SqlType::Int4)], Vec::new(), Vec::new())], &[]);
    assert_eq!(kinds(&found), [(Kind::WideKey, Severity::Low), (Kind::KeyCharacters, Severity::Low)]);
    let short = SqlType::Varchar(Some(100));
    let found = findings(&[table(1, &[("name", short), ("n", SqlType::Int4)], Vec::new(), Vec::new())], &[]);
    assert_eq!(kinds(&found), [(Kind::KeyCharacters, Severity::Low)]);
    let found = findings(&[table(1, &[], vec![column("a", &SqlType::Int4)], Vec::new())], &[]);
    assert_eq!(kinds(&found), [(Kind::NoPrimaryKey, Severity::Medium)]);
}

#[test]
fn a_counter_names_its_column() {
    let options = SequenceOptions {
        sql_type: "integer".to_owned(),
        start: 1,
        increment: 1,
        minimum: 1,
        maximum: 9,
        cache: 1,
        cycle: false,
    };
    let owner = SequenceOwner { table: 7, column: "id".to_owned(), identity: false };
    let mut sequence = Sequence::new("orders_id_seq", options);
    sequence.owner = Some(owner);
    let orders = table(7, &[("a", SqlType::Int4), ("b", SqlType::Int4)], Vec::new(), Vec::new());
    let found = findings(&[orders], &[Arc::new(sequence)]);
    assert_eq!(kinds(&found), [(Kind::Counter, Severity::Low)]);
    assert_eq!((found[0].table.as_deref(), found[0].object.as_deref()), (Some("orders"), Some("orders_id_seq")));
}
