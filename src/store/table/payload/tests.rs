//! The length of a `$batch` body, held against bodies written out in full.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};
use crate::model::{ETag, EdmDateTime, EdmValue, Entity, EntityKey, Properties, PropertyName, TableName};
use crate::table::{Batch, IfMatch, Operation};

const ID: Uuid = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);

fn entity(row: &str, properties: Vec<(&str, EdmValue)>) -> Entity {
    let properties = properties.into_iter().map(|(name, value)| (PropertyName::parse(name).unwrap(), value));
    Entity::new(EntityKey::parse("O'Neil & söhne", row).unwrap(), properties.collect())
}

fn body(endpoint: &str, batch: &Batch) -> String {
    let mut body = String::new();
    write_body(&mut body, endpoint, ID, batch).unwrap();
    body
}

fn batch(operations: Vec<Operation>) -> Batch {
    let mut builder = Batch::builder(TableName::parse("Staff").unwrap());
    for operation in operations {
        builder.push(operation).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn a_body_is_what_the_service_documents() {
    let etag = ETag::of_timestamp(EdmDateTime::parse("2021-09-21T00:54:03.1536324Z").unwrap());
    let row = entity("3", vec![("Age", EdmValue::Int32(41))]);
    let batch = batch(vec![
        Operation::Insert(entity("1", vec![("Name", EdmValue::string("Zoë"))])),
        Operation::Merge(entity("2", vec![]), IfMatch::ETag(etag)),
        Operation::InsertOrReplace(row),
        Operation::Delete(EntityKey::parse("O'Neil & söhne", "").unwrap(), IfMatch::Any),
    ]);
    let expected = "\
--batch_01234567-89ab-cdef-0123-456789abcdef
Content-Type: multipart/mixed; boundary=changeset_01234567-89ab-cdef-0123-456789abcdef

--changeset_01234567-89ab-cdef-0123-456789abcdef
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 00

POST https://acct.table.core.windows.net/Staff HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json
Prefer: return-no-content
DataServiceVersion: 3.0;
Content-Length: 61

{\"PartitionKey\":\"O'Neil & söhne\",\"RowKey\":\"1\",\"Name\":\"Zoë\"}
--changeset_01234567-89ab-cdef-0123-456789abcdef
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 01

MERGE https://acct.table.core.windows.net/Staff(PartitionKey='O%27%27Neil%20%26%20s%C3%B6hne',RowKey='2') HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json
If-Match: W/\"datetime'2021-09-21T00%3A54%3A03.1536324Z'\"
DataServiceVersion: 3.0;
Content-Length: 47

{\"PartitionKey\":\"O'Neil & söhne\",\"RowKey\":\"2\"}
--changeset_01234567-89ab-cdef-0123-456789abcdef
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 02

PUT https://acct.table.core.windows.net/Staff(PartitionKey='O%27%27Neil%20%26%20s%C3%B6hne',RowKey='3') HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json
DataServiceVersion: 3.0;
Content-Length: 56

{\"PartitionKey\":\"O'Neil & söhne\",\"RowKey\":\"3\",\"Age\":41}
--changeset_01234567-89ab-cdef-0123-456789abcdef
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 03

DELETE https://acct.table.core.windows.net/Staff(PartitionKey='O%27%27Neil%20%26%20s%C3%B6hne',RowKey='') HTTP/1.1
Accept: application/json;odata=minimalmetadata
If-Match: *
DataServiceVersion: 3.0;


--changeset_01234567-89ab-cdef-0123-456789abcdef--
--batch_01234567-89ab-cdef-0123-456789abcdef--
";
    assert_eq!(body("https://acct.table.core.windows.net", &batch).replace("\r\n", "\n"), expected);
}

#[test]
fn every_line_of_the_frame_ends_in_crlf() {
    let batch = batch(vec![Operation::Insert(entity("1", vec![]))]);
    let body = body(WIDEST_ENDPOINT, &batch);
    assert_eq!(body.matches('\n').count(), body.matches("\r\n").count());
}

#[test]
fn json_says_each_type() {
    let at = EdmDateTime::parse("2012-09-18T19:02:48.4767Z").unwrap();
    let cases = [
        (EdmValue::string("\"\\\n\r\t\u{1}\u{1f}/é😀"), r#""a":"\"\\\n\r\t\u0001\u001f/é😀""#),
        (EdmValue::string(""), r#""a":"""#),
        (EdmValue::Int32(-7), r#""a":-7"#),
        (EdmValue::Int64(i64::MIN), r#""a@odata.type":"Edm.Int64","a":"-9223372036854775808""#),
        (EdmValue::Double(0.5), r#""a":0.5"#),
        (EdmValue::Double(3.0), r#""a@odata.type":"Edm.Double","a":3.0"#),
        (EdmValue::Double(-0.0), r#""a@odata.type":"Edm.Double","a":-0.0"#),
        (EdmValue::Double(1e300), r#""a@odata.type":"Edm.Double","a":1e300"#),
        (EdmValue::Double(f64::NAN), r#""a@odata.type":"Edm.Double","a":"NaN""#),
        (EdmValue::Double(f64::INFINITY), r#""a@odata.type":"Edm.Double","a":"Infinity""#),
        (EdmValue::Double(f64::NEG_INFINITY), r#""a@odata.type":"Edm.Double","a":"-Infinity""#),
        (EdmValue::Boolean(true), r#""a":true"#),
        (EdmValue::DateTime(at), r#""a@odata.type":"Edm.DateTime","a":"2012-09-18T19:02:48.4767Z""#),
        (EdmValue::Guid(ID), r#""a@odata.type":"Edm.Guid","a":"01234567-89ab-cdef-0123-456789abcdef""#),
        (EdmValue::Binary([0xfb, 0xff, 0].into()), r#""a@odata.type":"Edm.Binary","a":"+/8A""#),
        (EdmValue::Binary([1].into()), r#""a@odata.type":"Edm.Binary","a":"AQ==""#),
    ];
    for (value, expected) in cases {
        let mut json = String::new();
        json::write_entity(&mut json, &entity("r", vec![("a", value)])).unwrap();
        assert_eq!(json, format!(r#"{{"PartitionKey":"O'Neil & söhne","RowKey":"r",{expected}}}"#));
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
}

#[test]
fn the_widest_endpoint_has_the_longest_account_name() {
    let account = WIDEST_ENDPOINT.strip_prefix("https://").unwrap().strip_suffix(".table.core.windows.net").unwrap();
    assert_eq!(account.len(), 24);
}

#[test]
fn any_legal_entity_fits_a_body_by_itself() {
    // The text that grows most: a control character is one UTF-16 unit in the entity and six bytes in JSON.
    let worst = EdmValue::string("\u{1}".repeat(32_768));
    let names: Vec<String> = (0..15).map(|i| format!("p{i}")).collect();
    let entity = entity("r", names.iter().map(|name| (name.as_str(), worst.clone())).collect());
    assert!(entity.stored_size() > 900_000);
    let batch = batch(vec![Operation::Insert(entity)]);
    assert!(batch.payload_bytes() < EGT_MAX_BYTES, "{}", batch.payload_bytes());
}

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        any::<String>().prop_map(EdmValue::string),
        any::<i32>().prop_map(EdmValue::Int32),
        any::<i64>().prop_map(EdmValue::Int64),
        any::<f64>().prop_map(EdmValue::Double),
        any::<bool>().prop_map(EdmValue::Boolean),
        (EdmDateTime::MIN.unix_ticks()..=EdmDateTime::MAX.unix_ticks())
            .prop_map(|ticks| EdmValue::DateTime(EdmDateTime::from_unix_ticks(ticks).unwrap())),
        any::<u128>().prop_map(|bits| EdmValue::Guid(Uuid::from_u128(bits))),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| EdmValue::Binary(bytes.into())),
    ]
}

fn operation(row: usize) -> impl Strategy<Value = Operation> {
    let properties = prop::collection::vec(("[A-Za-zß_][A-Za-z0-9_]{0,9}", value()), 0..6);
    let if_match = prop_oneof![
        Just(IfMatch::Any),
        (0..1_000_000_000_i64)
            .prop_map(|t| IfMatch::ETag(ETag::of_timestamp(EdmDateTime::from_unix_ticks(t).unwrap()))),
    ];
    ("[ -~ é😀&&[^/\\\\#?]]{0,8}", properties, if_match, 0..6).prop_map(move |(text, properties, if_match, kind)| {
        let key = EntityKey::parse("it's a p%", &format!("{row}:{text}")).unwrap();
        let properties: Properties =
            properties.into_iter().filter_map(|(name, v)| Some((PropertyName::parse(&name).ok()?, v))).collect();
        let entity = Entity::new(key, properties);
        match kind {
            0 => Operation::Insert(entity),
            1 => Operation::Merge(entity, if_match),
            2 => Operation::Replace(entity, if_match),
            3 => Operation::InsertOrMerge(entity),
            4 => Operation::InsertOrReplace(entity),
            _ => Operation::Delete(entity.key, if_match),
        }
    })
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    (1..=EGT_MAX_OPERATIONS).prop_flat_map(|count| (0..count).map(operation).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counted_length_is_written_length(operations in operations(), id in any::<u128>()) {
        let batch = batch(operations);
        let mut body = String::new();
        write_body(&mut body, WIDEST_ENDPOINT, Uuid::from_u128(id), &batch).unwrap();
        prop_assert_eq!(batch.payload_bytes(), body.len());
        for operation in batch.operations() {
            let (bytes, most) = (operation_bytes(batch.table(), operation), operation_bytes_at_most(batch.table(), operation));
            prop_assert!(bytes <= most, "{} bytes, at most {}", bytes, most);
        }
    }

    #[test]
    fn json_reads_back(text in any::<String>(), number in any::<f64>()) {
        let entity = entity("r", vec![("text", EdmValue::string(text.clone())), ("number", EdmValue::Double(number))]);
        let mut json = String::new();
        json::write_entity(&mut json, &entity).unwrap();
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(read["text"].as_str(), Some(text.as_str()));
        if number.is_finite() {
            prop_assert!(read["number"].is_f64());
        }
    }
}
