//! Tokens of an issuer that is made here, with all that can be wrong with one.

use std::net::SocketAddr;
use std::sync::Mutex;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};
use tablegate_store::model::{EdmDateTime, TableName};

use super::*;
use crate::accounts::{AccountKey, AccountKeys};
use crate::auth::Need;
use crate::auth::access::EntityAction;
use crate::auth::sas::{Policy, StoredPolicies};

const ISSUER: &str = "https://issuer.example/tenant/";
const AUDIENCE: &str = "https://storage.azure.com";
const NOW: i64 = 1_700_000_000;
const CONTRIBUTOR: &str = "Storage Table Data Contributor";

struct Issuer {
    ec: EcdsaKeyPair,
    rsa: RsaKeyPair,
}

/// A key set that can be changed.
struct Published(Mutex<Result<String, String>>);

#[async_trait]
impl KeySource for Published {
    async fn fetch(&self) -> Result<Vec<u8>, String> {
        self.0.lock().unwrap().clone().map(String::into_bytes)
    }
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pem = include_str!("../../../../tests/data/tokens/rsa.key");
        let lines: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let rsa = RsaKeyPair::from_pkcs8(&STANDARD.decode(lines).unwrap()).unwrap();
        Self { ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(), rsa }
    }

    /// The key of P-256 is named `ec`, the other one `rsa`.
    fn published(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let point = self.ec.public_key().as_ref();
        let rsa = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        json!({ "keys": [
            { "kty": "oct", "kid": "ec", "k": "c2VjcmV0" },
            { "kty": "EC", "crv": "P-256", "kid": "ec", "x": text(&point[1..33]), "y": text(&point[33..]) },
            { "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa", "n": text(&rsa.n), "e": text(&rsa.e) },
        ] })
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(header), part(claims));
        let signature = if header["alg"] == "ES256" {
            self.ec.sign(&SystemRandom::new(), text.as_bytes()).unwrap().as_ref().to_vec()
        } else {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
            signature
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 3600, "nbf": NOW - 10, "roles": [CONTRIBUTOR] })
}

/// The claims with one of them changed; null takes it out.
fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

fn tokens_of(source: Arc<dyn KeySource>) -> Tokens {
    Tokens::new(TokenConfig { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned(), keys: source })
}

struct NoPolicies;

#[async_trait]
impl StoredPolicies for NoPolicies {
    async fn policy(&self, _: &TableName, _: &str) -> RestResult<Option<Policy>> {
        Ok(None)
    }
}

async fn check_from(tokens: &Tokens, token: &str, peer: &str, keys: Option<&AccountKeys>) -> RestResult<Access> {
    let circumstances = Circumstances {
        now: EdmDateTime::from_unix_ticks(NOW * TICKS_PER_SECOND).unwrap(),
        peer: SocketAddr::new(peer.parse().unwrap(), 1),
        is_encrypted: false,
        keys,
        policies: &NoPolicies,
        tokens: Some(tokens),
    };
    tokens.check(token, &circumstances).await
}

async fn check(tokens: &Tokens, token: &str) -> RestResult<Access> {
    let key = AccountKey::parse("AAAA").unwrap();
    check_from(tokens, token, "127.0.0.1", Some(&[key.clone(), key])).await
}

fn published(issuer: &Issuer) -> Arc<Published> {
    Arc::new(Published(Mutex::new(Ok(issuer.published().to_string()))))
}

#[tokio::test]
async fn tokens_of_both_kinds_of_keys_let_in_as_far_as_their_roles_say() {
    let issuer = Issuer::new();
    let tokens = tokens_of(published(&issuer));
    for header in [
        json!({ "alg": "ES256", "kid": "ec" }),
        json!({ "alg": "RS256", "kid": "rsa", "typ": "JWT" }),
        json!({ "alg": "RS256" }),
    ] {
        assert_eq!(check(&tokens, &issuer.token(&header, &claims())).await, Ok(Access::Token(Role::Contributor)));
    }
    let ec = json!({ "alg": "ES256", "kid": "ec" });
    let several = with("aud", json!(["x", format!("{AUDIENCE}/")]));
    assert!(check(&tokens, &issuer.token(&ec, &several)).await.is_ok());
    let reader = with("roles", json!(["Other", "Storage Table Data Reader"]));
    let reader = check(&tokens, &issuer.token(&ec, &reader)).await.unwrap();
    let table = TableName::parse("orders").unwrap();
    let entity = |action| Need::Entity { table: &table, partition: "p", row: "r", action };
    assert_eq!(reader.check(entity(EntityAction::Read)), Ok(()));
    assert_eq!(reader.check(Need::Query(&table)), Ok(()));
    assert_eq!(reader.check(entity(EntityAction::Add)), Err(Refusal::NoPermission));
    assert_eq!(reader.check(Need::CreateTable), Err(Refusal::NoPermission));
    assert_eq!(Access::Token(Role::Contributor).check(entity(EntityAction::Upsert)), Ok(()));
    assert_eq!(Access::Token(Role::Contributor).check(Need::TableAcl), Err(Refusal::NotAuthorized));
}

#[tokio::test]
async fn who_has_no_role_is_known_and_may_nothing() {
    let issuer = Issuer::new();
    let tokens = tokens_of(published(&issuer));
    for roles in [Value::Null, json!([]), json!(["Owner"]), json!({})] {
        let token = issuer.token(&json!({ "alg": "ES256" }), &with("roles", roles));
        assert_eq!(check(&tokens, &token).await, Err(Refusal::NoPermission));
    }
}

#[tokio::test]
async fn what_does_not_hold_is_refused() {
    let issuer = Issuer::new();
    let tokens = tokens_of(published(&issuer));
    let ec = json!({ "alg": "ES256", "kid": "ec" });
    let mut wrong = vec![
        // Not of this issuer, not for this audience, not now.
        issuer.token(&ec, &with("iss", json!("https://issuer.example/other/"))),
        issuer.token(&ec, &with("iss", Value::Null)),
        issuer.token(&ec, &with("aud", json!("https://other"))),
        issuer.token(&ec, &with("aud", Value::Null)),
        issuer.token(&ec, &with("exp", json!(NOW - LEEWAY))),
        issuer.token(&ec, &with("exp", Value::Null)),
        issuer.token(&ec, &with("exp", json!("never"))),
        issuer.token(&ec, &with("nbf", json!(NOW + LEEWAY + 1))),
        // Signed with another key than it says, or in a way that is none.
        issuer.token(&json!({ "alg": "ES256", "kid": "rsa" }), &claims()),
        issuer.token(&json!({ "alg": "RS256", "kid": "ec" }), &claims()),
        issuer.token(&json!({ "alg": "HS256", "kid": "ec" }), &claims()),
        issuer.token(&json!({ "alg": "none" }), &claims()),
        issuer.token(&json!({ "alg": "ES256", "kid": "ec", "crit": ["x"], "x": 1 }), &claims()),
        Issuer::new().token(&ec, &claims()),
        String::new(),
        "a.b.c".to_owned(),
    ];
    let good = issuer.token(&ec, &claims());
    let (head, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = head.split_once('.').unwrap();
    let others = URL_SAFE_NO_PAD.encode(with("roles", json!(["x"])).to_string());
    wrong.extend([format!("{header}.{others}.{signature}"), format!("{head}."), head.to_owned()]);
    for token in wrong {
        let told = check(&tokens, &token).await;
        assert!(matches!(told, Err(Refusal::TokenNeeded { one_came: true, .. })), "{token}: {told:?}");
    }
    assert!(check(&tokens, &good).await.is_ok());
}

#[tokio::test]
async fn tokens_are_not_for_everybody_to_read_on_the_way() {
    let issuer = Issuer::new();
    let tokens = tokens_of(published(&issuer));
    let token = issuer.token(&json!({ "alg": "ES256" }), &claims());
    assert_eq!(check_from(&tokens, &token, "192.0.2.1", None).await, Err(Refusal::NotThisProtocol));
    assert_eq!(check_from(&tokens, &token, "::ffff:127.0.0.1", None).await, Err(Refusal::NotAuthenticated));
}

#[tokio::test]
async fn keys_that_cannot_be_had_leave_those_that_were_known() {
    let issuer = Issuer::new();
    let token = issuer.token(&json!({ "alg": "ES256", "kid": "ec" }), &claims());
    let source = published(&issuer);
    let tokens = tokens_of(source.clone());
    assert!(check(&tokens, &token).await.is_ok());
    for bad in [Err("it is away".to_owned()), Ok("no set".to_owned()), Ok(r#"{"keys":[]}"#.to_owned())] {
        *source.0.lock().unwrap() = bad;
        tokens.prepare().await;
        assert!(check(&tokens, &token).await.is_ok());
    }
    let other = Issuer::new().published().to_string();
    *source.0.lock().unwrap() = Ok(other);
    tokens.prepare().await;
    assert!(check(&tokens, &token).await.is_err(), "the key was taken back");
}
