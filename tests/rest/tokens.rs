//! Bearer tokens, as the SDK sends them: of an issuer that is made here, whose keys are in a file or behind a URL.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use super::server;
use crate::support::installed::Installed;
use crate::support::tables::Target;

const ISSUER: &str = "https://issuer.example/tenant/v2.0";

/// Reads with one token and writes with another; what is refused is told by its status and code.
const APPLICATION: &str = r#"
import os, time
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

class Static:
    def __init__(self, token):
        self.token = token

    def get_token(self, *scopes, **options):
        return AccessToken(self.token, int(time.time()) + 3600)

def service(name):
    return TableServiceClient(os.environ["ENDPOINT"], credential=Static(os.environ[name]), connection_verify=os.environ["CA"])

def told(run):
    try:
        return run()
    except HttpResponseError as error:
        return f"{error.status_code} {getattr(error.error_code, 'value', error.error_code)}"

writer, reader = service("WRITER"), service("READER")
writer.create_table("orders")
writer.get_table_client("orders").create_entity({"PartitionKey": "p", "RowKey": "r"})
print([entity["RowKey"] for entity in reader.get_table_client("orders").list_entities()])
print(told(lambda: reader.get_table_client("orders").delete_entity("p", "r")))
print(told(lambda: writer.get_table_client("orders").get_table_access_policy()))
print(told(lambda: list(service("NOBODY").list_tables())))
print(told(lambda: list(service("EXPIRED").list_tables())))
"#;

struct Issuer(EcdsaKeyPair);

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("it is random");
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).expect("it is a key"))
    }

    fn published(&self) -> String {
        let point = self.0.public_key().as_ref();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let key = json!({ "kty": "EC", "crv": "P-256", "kid": "1", "x": text(&point[1..33]), "y": text(&point[33..]) });
        json!({ "keys": [key] }).to_string()
    }

    /// A token that ends in so many seconds.
    fn token(&self, role: &str, seconds: i64) -> String {
        let ends = chrono::Utc::now().timestamp() + seconds;
        let claims = json!({ "iss": ISSUER, "aud": "https://storage.azure.com/", "exp": ends, "roles": [role] });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&json!({ "alg": "ES256", "kid": "1", "typ": "JWT" })), part(&claims));
        let signature = self.0.sign(&SystemRandom::new(), text.as_bytes()).expect("it signs");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Answers every request with this, on an address of this machine.
fn publish(document: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(mut client) = client else { return };
            let _ = client.read(&mut [0; 4096]);
            let length = document.len();
            let _ =
                write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{document}");
        }
    });
    format!("http://{address}/keys")
}

#[test]
fn tokens_let_in_as_far_as_their_roles_say() {
    let issuer = Issuer::new();
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = folder.path().join("keys.json");
    std::fs::write(&file, issuer.published()).expect("the folder is writable");
    let tls = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls");
    let (certificate, key) = (format!("{tls}/server.crt"), format!("{tls}/server.key"));
    for keys in [file.to_string_lossy().into_owned(), publish(issuer.published())] {
        let tokens = ["--rest-token-issuer", ISSUER, "--rest-token-keys", &keys];
        let (server, address) = server(&[&["--tls-cert", &certificate, "--tls-key", &key][..], &tokens].concat());
        let mut client = Command::new(Installed::find().python());
        client.args(["-c", APPLICATION]).env("CA", format!("{tls}/ca.crt"));
        client.env("ENDPOINT", Target::of_emulator(address).base().replace("http:", "https:"));
        for (name, role, seconds) in [
            ("WRITER", "Storage Table Data Contributor", 600),
            ("READER", "Storage Table Data Reader", 600),
            ("NOBODY", "Owner", 600),
            ("EXPIRED", "Storage Table Data Reader", -600),
        ] {
            client.env(name, issuer.token(role, seconds));
        }
        let ended = client.output().expect("python runs");
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        let expected = [
            "['r']",
            "403 AuthorizationPermissionMismatch",
            "403 AuthorizationFailure",
            "403 AuthorizationPermissionMismatch",
            "401 InvalidAuthenticationInfo",
        ];
        assert_eq!(out.lines().collect::<Vec<_>>(), expected, "{keys}: {err}\nserver: {}", server.log());
        // Nobody learns a token from the log.
        assert!(!server.log().contains("eyJ"), "{}", server.log());
    }
}
