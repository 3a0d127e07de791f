//! The format of declarations: every version that was ever written is frozen here.

use tablegate_store::model::{ETag, EdmDateTime, EdmValue, Properties};
use tablegate_types::constraint::{Check, Deferral, ReferentialAction, Unenforced, UnenforcedKind};

use super::*;

/// What version 1 wrote.
const VERSION_1: &str = r#"{"format":1,"name":"order_items","stored":"orderItems","oid":16384,"generation":2,"open":false,"columns":[{"name":"number","sql_type":"integer","not_null":true},{"name":"what","sql_type":"character varying(10)","not_null":false,"property":"what"}],"key":{"relational":{"columns":[{"name":"number","descending":false}],"partition":{"columns":1},"escape":false}},"doomed":"orderItemsG1"}"#;

/// What version 2 wrote.
const VERSION_2: &str = r#"{"format":2,"name":"order_items","stored":"orderItems","oid":16384,"generation":1,"open":false,"columns":[{"name":"number","sql_type":"integer","not_null":true,"identity":{"always":true,"sequence":"order_items_number_seq"}},{"name":"what","sql_type":"text","not_null":false,"property":"what","default":"'pen'"},{"name":"size","sql_type":"integer","not_null":false,"property":"size","generated":"length(what)"}],"key":{"relational":{"columns":[{"name":"number","descending":false}],"partition":{"columns":1},"escape":false}},"constraints":{"primary_key":"items_key","checks":[{"number":0,"name":"order_items_what_check","expression":"what <> ''","columns":["what"]}],"unenforced":[{"number":1,"name":"order_items_what_key","columns":["what"],"kind":{"unique":{"nulls_not_distinct":false,"deferral":"not_deferrable"}}},{"number":2,"name":"order_items_what_fkey","columns":["what"],"kind":{"foreign_key":{"table":"things","referenced":["name"],"on_update":"no_action","on_delete":"cascade","match_full":false,"deferral":"initially_deferred"}}},{"number":3,"name":"order_items_lower_idx","columns":[],"kind":{"index":{"unique":false,"method":"btree","definition":"(lower(what))"}}}]}}"#;

fn stored(text: &str) -> StoredEntity {
    let name = PropertyName::parse("Declaration").unwrap();
    let properties: Properties = [(name, EdmValue::string(text))].into_iter().collect();
    let entity = Entity::new(EntityKey::parse(DECLARATIONS, "order_items").unwrap(), properties);
    let timestamp = EdmDateTime::from_unix_micros(0).unwrap();
    StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) }
}

fn text_of(declaration: &Declaration) -> String {
    match declaration.to_entity().unwrap().properties.get("Declaration") {
        Some(EdmValue::String(text)) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

fn version_2() -> Declaration {
    let number = DeclaredColumn {
        not_null: true,
        identity: Some(Identity { always: true, sequence: "order_items_number_seq".to_owned() }),
        ..DeclaredColumn::new("number", &SqlType::Int4)
    };
    let what = DeclaredColumn {
        property: Some("what".to_owned()),
        default: Some("'pen'".to_owned()),
        ..DeclaredColumn::new("what", &SqlType::Text)
    };
    let size = DeclaredColumn {
        property: Some("size".to_owned()),
        generated: Some("length(what)".to_owned()),
        ..DeclaredColumn::new("size", &SqlType::Int4)
    };
    let key = DeclaredKey::Relational {
        columns: vec![DeclaredKeyColumn { name: "number".to_owned(), descending: false }],
        partition: DeclaredPartition::Columns(1),
        escape: false,
    };
    let stored = TableName::parse("orderItems").unwrap();
    let mut declaration = Declaration::new("order_items", &stored, 16_384, vec![number, what, size], key, false);
    let what = || vec!["what".to_owned()];
    let unenforced = |number, name: &str, columns, kind| Unenforced::new(number, name.to_owned(), columns, kind);
    declaration.constraints = Constraints {
        primary_key: Some("items_key".to_owned()),
        primary_key_comment: None,
        primary_key_index_comment: None,
        checks: vec![Check {
            number: 0,
            name: "order_items_what_check".to_owned(),
            expression: "what <> ''".to_owned(),
            columns: what(),
            comment: None,
            not_valid: false,
        }],
        unenforced: vec![
            unenforced(
                1,
                "order_items_what_key",
                what(),
                UnenforcedKind::Unique { nulls_not_distinct: false, deferral: Deferral::NotDeferrable },
            ),
            unenforced(
                2,
                "order_items_what_fkey",
                what(),
                UnenforcedKind::ForeignKey {
                    table: "things".to_owned(),
                    referenced: vec!["name".to_owned()],
                    on_update: ReferentialAction::NoAction,
                    on_delete: ReferentialAction::Cascade,
                    match_full: false,
                    deferral: Deferral::InitiallyDeferred,
                },
            ),
            unenforced(
                3,
                "order_items_lower_idx",
                Vec::new(),
                UnenforcedKind::Index {
                    unique: false,
                    method: "btree".to_owned(),
                    definition: "(lower(what))".to_owned(),
                },
            ),
        ],
    };
    declaration
}

#[test]
fn version_2_is_frozen() {
    let declaration = version_2();
    let read = Declaration::of_entity(Place::Public, &stored(VERSION_2)).unwrap();
    assert_eq!(Declaration { format: declaration.format, ..read }, declaration);
    // It is written as the version of today.
    assert_eq!(text_of(&declaration), VERSION_2.replacen("\"format\":2", "\"format\":4", 1));
    assert_eq!(declaration.constraints.next_number().unwrap(), 4);
    let relation = declaration.relation().unwrap();
    assert_eq!(relation.primary_key_name(), "items_key");
    assert_eq!(relation.columns[1].default.as_deref(), Some("'pen'"));
}

/// What version 3 writes where there are comments and dropped columns.
const VERSION_3: &str = r#"{"format":3,"name":"t","stored":"tTable","oid":16384,"generation":1,"open":false,"columns":[{"name":"a","sql_type":"text","not_null":false,"property":"a","comment":"a column"}],"dropped_columns":[1],"key":"raw","constraints":{"primary_key_comment":"a key","primary_key_index_comment":"its index","checks":[{"number":0,"name":"c","expression":"a <> ''","columns":["a"],"comment":"a check"}],"unenforced":[{"number":1,"name":"u","columns":["a"],"kind":{"unique":{"nulls_not_distinct":false,"deferral":"not_deferrable"}},"comment":"a constraint","index_comment":"an index"}]},"comment":"a table"}"#;

#[test]
fn version_3_is_frozen() {
    let declaration = Declaration::of_entity(Place::Public, &stored(VERSION_3)).unwrap();
    // It is written as the version of today.
    assert_eq!(text_of(&declaration), VERSION_3.replacen("\"format\":3", "\"format\":4", 1));
    let relation = declaration.relation().unwrap();
    assert_eq!(relation.comments.table.as_deref(), Some("a table"));
    assert_eq!(relation.comments.columns.get("a").map(String::as_str), Some("a column"));
    assert_eq!(relation.dropped_columns[..], [1]);
}

/// What version 4 adds: a dropped column's property.
#[test]
fn version_4_is_frozen() {
    let text = VERSION_3.replacen("\"format\":3", "\"format\":4", 1);
    let text = text.replacen("\"dropped_columns\":[1],", "\"dropped_columns\":[1],\"dropped_properties\":[\"b\"],", 1);
    let declaration = Declaration::of_entity(Place::Public, &stored(&text)).unwrap();
    assert_eq!(text_of(&declaration), text);
    assert_eq!(declaration.dropped_properties, ["b"]);
}

#[test]
fn version_1_is_still_read() {
    let declaration = Declaration::of_entity(Place::Public, &stored(VERSION_1)).unwrap();
    assert!(declaration.constraints.is_empty());
    assert_eq!(declaration.doomed.as_deref(), Some("orderItemsG1"));
    assert_eq!(declaration.relation().unwrap().columns[1].sql_type, SqlType::Varchar(Some(10)));
    // It is written as the version of today.
    let written = VERSION_1.replacen("\"format\":1", "\"format\":4", 1);
    assert_eq!(text_of(&declaration), written);
}

#[test]
fn other_formats_are_refused() {
    for (text, kind) in [
        (VERSION_2.replacen("\"format\":2", "\"format\":5", 1), ErrorKind::FeatureNotSupported),
        (VERSION_2.replacen("\"format\":2", "\"format\":0", 1), ErrorKind::DataCorrupted),
        (VERSION_2.replacen("\"oid\"", "\"iod\"", 1), ErrorKind::DataCorrupted),
        ("{}".to_owned(), ErrorKind::DataCorrupted),
    ] {
        assert_eq!(Declaration::of_entity(Place::Public, &stored(&text)).unwrap_err().kind, kind, "{text}");
    }
}
