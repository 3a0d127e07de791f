//! Signatures that hold and those that do not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::{HeaderMap, Method};
use ring::hmac;
use tablegate_store::model::TableName;

use super::*;
use crate::edm::datetime;

const KEY: &str = "a2V5IG9mIGEgdGVzdA==";
const NOW: &str = "2024-05-01T12:00:00Z";

struct OnePolicy;

#[async_trait::async_trait]
impl StoredPolicies for OnePolicy {
    async fn policy(&self, _: &TableName, id: &str) -> RestResult<Option<Policy>> {
        let read = Policy { expiry: Some("2024-06-01".to_owned()), permissions: Some("r".to_owned()), start: None };
        Ok((id == "read").then_some(read))
    }
}

fn sign(text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(KEY).unwrap());
    STANDARD.encode(hmac::sign(&key, text.as_bytes()))
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn asked(method: &str, uri: &str, headers: &[(&'static str, &str)]) -> RestResult<Access> {
    let keys = [AccountKey::parse("c2Vjb25k").unwrap(), AccountKey::parse(KEY).unwrap()];
    let mut map: HeaderMap =
        headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    map.insert("host", "127.0.0.1".parse().unwrap());
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let head = Head::new(method, &uri.parse().unwrap(), map, false, |_| false).unwrap();
    let circumstances = Circumstances {
        now: datetime::parse(NOW).unwrap(),
        peer: ([10, 0, 0, 5], 1).into(),
        is_encrypted: false,
        keys: (head.account == "shop").then_some(&keys),
        policies: &OnePolicy,
        tokens: None,
    };
    authorize(&head, &circumstances).await
}

async fn with_key(date: &str, signed: &str, scheme: &str, account: &str) -> RestResult<Access> {
    let authorization = format!("{scheme} {account}:{}", sign(signed));
    let uri = format!("/{account}/Orders(PartitionKey='a%27%27b',RowKey='')?comp=acl&x=1");
    asked("PUT", &uri, &[("x-ms-date", date), ("content-type", "t/x"), ("authorization", &authorization)]).await
}

#[tokio::test]
async fn a_key_signs_the_request_as_it_is_sent() {
    let date = "Wed, 01 May 2024 12:14:00 GMT";
    let resource = "/shop/shop/Orders(PartitionKey='a%27%27b',RowKey='')?comp=acl";
    let full = |date: &str| format!("PUT\n\nt/x\n{date}\n{resource}");
    assert_eq!(with_key(date, &full(date), "SharedKey", "shop").await, Ok(Access::Owner));
    assert_eq!(with_key(date, &format!("{date}\n{resource}"), "SharedKeyLite", "shop").await, Ok(Access::Owner));
    let refused = Err(Refusal::NotAuthenticated);
    assert_eq!(with_key(date, &full("another day"), "SharedKey", "shop").await, refused);
    assert_eq!(with_key(date, &full(date), "SharedKey", "bank").await, refused);
    let late = "Wed, 01 May 2024 12:16:00 GMT";
    assert_eq!(with_key(late, &full(late), "SharedKey", "shop").await, refused);
    assert_eq!(with_key("today", &full("today"), "SharedKey", "shop").await, refused);
    assert_eq!(asked("GET", "/shop/Orders", &[]).await, refused);
    assert_eq!(asked("GET", "/shop/Orders", &[("authorization", "Bearer x")]).await, Err(Refusal::NoTokens));
    assert_eq!(asked("GET", "/shop/Orders", &[("authorization", "x")]).await, Err(Refusal::InvalidAuthentication));
}

/// A table's signature with these fields, in the order in which they are signed.
async fn with_table_sas(fields: &[(&str, &str)]) -> RestResult<Access> {
    let field =
        |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).unwrap_or_default();
    let order = ["sp", "st", "se", "", "si", "sip", "spr", "sv", "spk", "srk", "epk", "erk"];
    let lines = order.map(|name| if name.is_empty() { "/table/shop/orders" } else { field(name) });
    let query: String = fields.iter().map(|(name, value)| format!("{name}={}&", encoded(value))).collect();
    asked("GET", &format!("/shop/Orders()?{query}sig={}", encoded(&sign(&lines.join("\n")))), &[]).await
}

#[tokio::test]
async fn a_table_signature_holds_in_its_time_and_place() {
    let base = [("sv", "2019-02-02"), ("tn", "Orders"), ("sp", "raud"), ("se", "2024-05-01T12:00:01Z")];
    let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
    assert!(matches!(with_table_sas(&base).await, Ok(Access::Sas(_))));
    let Ok(Access::Sas(granted)) = with_table_sas(&with(&[("spk", "a"), ("epk", "b"), ("erk", "")])).await else {
        panic!("it is granted");
    };
    let access::Scope::Table { keys, .. } = granted.scope else { panic!("of a table") };
    assert_eq!((keys.start, keys.end), (Some(("a".into(), None)), Some(("b".into(), Some("".into())))));
    let refused = Err(Refusal::NotAuthenticated);
    assert_eq!(with_table_sas(&with(&[("st", "2024-05-02")])).await, refused);
    assert_eq!(with_table_sas(&with(&[("srk", "a")])).await, refused);
    assert_eq!(with_table_sas(&with(&[("spr", "https")])).await, Err(Refusal::NotThisProtocol));
    assert_eq!(with_table_sas(&with(&[("sip", "10.0.0.6-10.0.0.9")])).await, Err(Refusal::NotThisAddress));
    assert!(with_table_sas(&with(&[("sip", "10.0.0.1-10.0.0.9")])).await.is_ok());
    assert_eq!(
        with_table_sas(&[("sv", "2019-02-02"), ("tn", "Orders"), ("sp", "r"), ("se", "2024-05-01T12:00Z")]).await,
        refused
    );
}

#[tokio::test]
async fn a_policy_says_what_the_signature_leaves_out() {
    let by_policy = [("sv", "2019-02-02"), ("tn", "Orders"), ("si", "read")];
    let Ok(Access::Sas(granted)) = with_table_sas(&by_policy).await else { panic!("it is granted") };
    assert_eq!(granted.permissions, "r");
    assert!(with_table_sas(&[&by_policy[..], &[("sp", "r")]].concat()).await.is_err(), "both say it");
    assert!(with_table_sas(&[("sv", "2019-02-02"), ("tn", "Orders"), ("si", "none")]).await.is_err());
}

#[tokio::test]
async fn an_account_signature_is_for_its_services_and_versions() {
    let with = async |version: &str, services: &str, text: String| {
        let query = format!("sv={version}&ss={services}&srt=sco&sp=rl&se=2024-05-02&sig={}", encoded(&sign(&text)));
        asked("GET", &format!("/shop/Tables?{query}"), &[]).await
    };
    let text = |version: &str, services: &str, end: &str| {
        format!("shop\nrl\n{services}\nsco\n\n2024-05-02\n\n\n{version}\n{end}")
    };
    assert!(with("2019-02-02", "bt", text("2019-02-02", "bt", "")).await.is_ok());
    assert!(with("2020-12-06", "t", text("2020-12-06", "t", "\n")).await.is_ok());
    assert!(with("2020-12-06", "t", text("2020-12-06", "t", "")).await.is_err());
    assert_eq!(with("2019-02-02", "b", text("2019-02-02", "b", "")).await, Err(Refusal::NotThisService));
}
