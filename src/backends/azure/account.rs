//! Which account is talked to, where, and what proves that we may.
//!
//! Settings that could send requests to the wrong server, or send a key unencrypted, are refused here. No error repeats
//! a value of a connection string.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use ring::hmac;
use thiserror::Error;

use super::secret::Secret;
use super::token::TokenSource;

/// The account of the emulator: where it is, and the key that its documentation publishes.
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const EMULATOR_ENDPOINT: &str = "http://127.0.0.1:10002/devstoreaccount1";

/// Parts of a connection string that are about other services.
const OTHER_PARTS: &[&str] = &[
    "BlobEndpoint",
    "BlobSecondaryEndpoint",
    "QueueEndpoint",
    "QueueSecondaryEndpoint",
    "FileEndpoint",
    "FileSecondaryEndpoint",
    "TableSecondaryEndpoint",
];

/// Why an account cannot be used. Values are never told: any of them may be the secret, put into the wrong place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AccountError {
    #[error("a connection string is made of Name=Value parts with ; between them")]
    NotParts,
    #[error("there is no part \"{0}\" in a connection string for tables")]
    UnknownPart(String),
    #[error("the connection string lacks {0}")]
    MissingPart(&'static str),
    #[error("the endpoint must be an http or https address without user, query and fragment")]
    BadEndpoint,
    #[error("the endpoint does not say which account it is of")]
    NoAccountName,
    #[error("the account key is not base64")]
    BadKey,
    #[error("a shared access signature has a part sig=")]
    BadSas,
    #[error("credentials are sent over plain HTTP to this machine only: use https")]
    PlainHttp,
}

/// Which of the two services that speak the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceKind {
    /// Azure Storage, and the emulator.
    Storage,
    /// Azure Cosmos DB for Table: results are not in key order.
    Cosmos,
}

impl ServiceKind {
    /// The service at this host. Cosmos has hosts of its own in every cloud: `a.table.cosmos.azure.com`, once
    /// `a.table.cosmosdb.azure.com`.
    fn of_host(host: &str) -> Self {
        let mut labels = host.split('.').skip(1);
        let is_table = labels.next() == Some("table");
        match labels.next() {
            Some("cosmos" | "cosmosdb") if is_table => ServiceKind::Cosmos,
            _ => ServiceKind::Storage,
        }
    }

    /// What a token of Entra ID must be for.
    pub fn scope(self) -> &'static str {
        match self {
            ServiceKind::Storage => "https://storage.azure.com/.default",
            ServiceKind::Cosmos => "https://cosmos.azure.com/.default",
        }
    }
}

/// What is sent along to be let in.
#[derive(Clone)]
pub enum Credential {
    /// Signs each request.
    Key(hmac::Key),
    /// Goes into each URL.
    Sas(Secret),
    /// Its tokens go along.
    Token(Arc<dyn TokenSource>),
}

impl Credential {
    /// # Errors
    /// [`AccountError::BadKey`].
    pub fn key(key: &Secret) -> Result<Self, AccountError> {
        let bytes = STANDARD.decode(key.expose().trim()).map_err(|_| AccountError::BadKey)?;
        Ok(Credential::Key(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// # Errors
    /// [`AccountError::BadSas`].
    pub fn sas(sas: &Secret) -> Result<Self, AccountError> {
        let text = sas.expose().trim().trim_start_matches('?');
        if text.split('&').any(|part| part.starts_with("sig=")) {
            Ok(Credential::Sas(Secret::new(text)))
        } else {
            Err(AccountError::BadSas)
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::Key(_) => "Key(***)",
            Credential::Sas(_) => "Sas(***)",
            Credential::Token(_) => "Token(***)",
        })
    }
}

/// An account and the way in.
#[derive(Debug, Clone)]
pub struct AzureAccount {
    name: String,
    /// Scheme, authority, and the account's path where it is not in the host name; no slash at the end.
    endpoint: String,
    kind: ServiceKind,
    credential: Credential,
}

impl AzureAccount {
    /// From a connection string as the portal shows it, one with a shared access signature, or
    /// `UseDevelopmentStorage=true`.
    ///
    /// # Errors
    /// [`AccountError`]
    pub fn of_connection_string(text: &Secret) -> Result<Self, AccountError> {
        let parts = Parts::of(text.expose())?;
        if parts.get("UseDevelopmentStorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Self::new(EMULATOR_ENDPOINT, Credential::key(&Secret::new(EMULATOR_KEY))?);
        }
        let credential = match (parts.get("AccountKey"), parts.get("SharedAccessSignature")) {
            (Some(key), _) => Credential::key(&Secret::new(key))?,
            (None, Some(sas)) => Credential::sas(&Secret::new(sas))?,
            (None, None) => return Err(AccountError::MissingPart("AccountKey or SharedAccessSignature")),
        };
        let name = parts.get("AccountName");
        let endpoint = match (parts.get("TableEndpoint"), name) {
            (Some(endpoint), _) => endpoint.to_owned(),
            (None, Some(name)) => {
                let protocol = parts.get("DefaultEndpointsProtocol").unwrap_or("https");
                let suffix = parts.get("EndpointSuffix").unwrap_or("core.windows.net");
                format!("{protocol}://{name}.table.{suffix}")
            }
            (None, None) => return Err(AccountError::MissingPart("AccountName or TableEndpoint")),
        };
        Self::named(&endpoint, name, credential)
    }

    /// # Errors
    /// [`AccountError`]
    pub fn new(endpoint: &str, credential: Credential) -> Result<Self, AccountError> {
        Self::named(endpoint, None, credential)
    }

    /// Of a name that the endpoint need not say: that of Cosmos' emulator does not.
    fn named(endpoint: &str, name: Option<&str>, credential: Credential) -> Result<Self, AccountError> {
        let url = Url::parse(endpoint.trim()).map_err(|_| AccountError::BadEndpoint)?;
        let host = url.host_str().unwrap_or_default();
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || host.is_empty() || !is_plain || url.fragment().is_some() {
            return Err(AccountError::BadEndpoint);
        }
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        let is_local = host.eq_ignore_ascii_case("localhost") || ip.is_some_and(|ip| ip.is_loopback());
        if url.scheme() == "http" && !is_local {
            return Err(AccountError::PlainHttp);
        }
        let path = url.path().trim_end_matches('/');
        let in_path = path.rsplit('/').next().filter(|name| !name.is_empty());
        let in_host = host.split('.').next().filter(|_| ip.is_none() && host.contains('.'));
        let name = name.or(in_path).or(in_host).ok_or(AccountError::NoAccountName)?.to_owned();
        let kind = ServiceKind::of_host(host);
        let endpoint = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { name, endpoint, kind, credential })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub fn kind(&self) -> ServiceKind {
        self.kind
    }

    /// Whether it is one of the emulator: the service has the account in the name of the host, never in the path.
    pub fn is_emulated(&self) -> bool {
        Url::parse(&self.endpoint).is_ok_and(|url| url.path() != "/")
    }

    pub(super) fn credential(&self) -> &Credential {
        &self.credential
    }
}

/// The parts of a connection string.
struct Parts<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Parts<'a> {
    const KNOWN: &'static [&'static str] = &[
        "DefaultEndpointsProtocol",
        "AccountName",
        "AccountKey",
        "EndpointSuffix",
        "TableEndpoint",
        "SharedAccessSignature",
        "UseDevelopmentStorage",
    ];

    fn of(text: &'a str) -> Result<Self, AccountError> {
        let mut parts = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or(AccountError::NotParts)?;
            let known = Self::KNOWN.iter().chain(OTHER_PARTS).find(|known| known.eq_ignore_ascii_case(name));
            let Some(known) = known else { return Err(unknown_part(name)) };
            parts.push((*known, value));
        }
        Ok(Self(parts))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// Only what looks like the name of a part is told.
fn unknown_part(name: &str) -> AccountError {
    if name.len() <= 32 && name.bytes().all(|b| b.is_ascii_alphabetic()) {
        AccountError::UnknownPart(name.to_owned())
    } else {
        AccountError::NotParts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<AzureAccount, AccountError> {
        AzureAccount::of_connection_string(&Secret::new(text))
    }

    #[test]
    fn connection_strings_name_the_account_and_its_endpoint() {
        let account =
            of("DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5;EndpointSuffix=core.windows.net");
        let account = account.unwrap();
        assert_eq!((account.name(), account.endpoint()), ("acct", "https://acct.table.core.windows.net"));
        let cosmos = of("AccountName=a;AccountKey=a2V5;TableEndpoint=https://a.table.cosmos.azure.com:443/;").unwrap();
        assert_eq!((cosmos.name(), cosmos.kind()), ("a", ServiceKind::Cosmos));
        let emulator = of("UseDevelopmentStorage=true").unwrap();
        assert_eq!((emulator.name(), emulator.endpoint()), ("devstoreaccount1", EMULATOR_ENDPOINT));
        assert!(emulator.is_emulated() && !cosmos.is_emulated());
        let sas =
            of("TableEndpoint=https://acct.table.core.windows.net/;SharedAccessSignature=sv=2019-02-02&sig=s3cret");
        assert_eq!(sas.unwrap().name(), "acct");
    }

    #[test]
    fn cosmos_is_known_by_its_host() {
        let kind =
            |host: &str| of(&format!("AccountName=a;AccountKey=a2V5;TableEndpoint=https://{host}/")).unwrap().kind();
        for host in [
            "a.table.cosmos.azure.com:443",
            "A.Table.Cosmos.Azure.com",
            "a.table.cosmosdb.azure.com",
            "a.table.cosmos.azure.us",
        ] {
            assert_eq!(kind(host), ServiceKind::Cosmos, "{host}");
        }
        for host in
            ["a.table.core.windows.net", "cosmos.table.core.windows.net", "a.mytable.cosmos.azure.com", "10.0.0.1"]
        {
            assert_eq!(kind(host), ServiceKind::Storage, "{host}");
        }
        assert_ne!(ServiceKind::Cosmos.scope(), ServiceKind::Storage.scope());
        let emulator = of("AccountName=localhost;AccountKey=a2V5;TableEndpoint=http://localhost:8902/").unwrap();
        assert_eq!((emulator.name(), emulator.endpoint()), ("localhost", "http://localhost:8902"));
    }

    #[derive(Debug)]
    struct Nobody;

    #[async_trait::async_trait]
    impl TokenSource for Nobody {
        async fn token(&self, _: &str) -> Result<super::super::token::Token, String> {
            Err("nobody is here".to_owned())
        }
    }

    #[test]
    fn a_secret_goes_over_plain_http_to_this_machine_only() {
        let plain = "AccountKey=a2V5;AccountName=acct;TableEndpoint=http://";
        assert!(of(&format!("{plain}127.0.0.1:10002/acct")).is_ok());
        assert!(of(&format!("{plain}[::1]:10002/acct")).is_ok());
        assert_eq!(of(&format!("{plain}10.0.0.1:10002/acct")).unwrap_err(), AccountError::PlainHttp);
        assert_eq!(of(&format!("{plain}acct.table.core.windows.net")).unwrap_err(), AccountError::PlainHttp);
        let with_sas = of("SharedAccessSignature=sig=x;TableEndpoint=http://acct.table.core.windows.net");
        assert_eq!(with_sas.unwrap_err(), AccountError::PlainHttp);
        let with_token = |endpoint: &str| AzureAccount::new(endpoint, Credential::Token(Arc::new(Nobody)));
        assert_eq!(with_token("http://acct.table.core.windows.net").unwrap_err(), AccountError::PlainHttp);
        assert!(
            with_token("https://acct.table.core.windows.net").is_ok() && with_token("http://127.0.0.1/acct").is_ok()
        );
    }

    #[test]
    fn no_error_and_no_debug_text_tells_a_secret() {
        let wrong = [
            "s3cret",
            "AccountName=acct;AccountKey=s3cret!",
            "s3cret/key==;AccountName=acct",
            "AccountName=acct;SharedAccessSignature=s3cret",
            "AccountKey=s3cr;TableEndpoint=https://u:s3cret@acct.table.core.windows.net",
            "AccountKey=s3cr;TableEndpoint=https://acct.table.core.windows.net?sig=s3cret",
        ];
        for text in wrong {
            let error = of(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
        let account = of("AccountName=acct;SharedAccessSignature=sv=1&sig=s3cret").unwrap();
        assert!(!format!("{account:?}").contains("s3cret"));
    }
}
