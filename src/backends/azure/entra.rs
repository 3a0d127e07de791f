//! Tokens of Entra ID, had as the environment says: the identity of the machine, of the workload, of an application, or of
//! the developer at the keyboard.
//!
//! The variables are those of all Azure libraries. Requests for tokens go the way of all others: over this program's one
//! HTTP client and its certificates.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use azure_core::credentials::TokenCredential;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::{HeaderName, HeaderValue, Headers};
use azure_core::http::{AsyncRawResponse, Body, ClientOptions, HttpClient, Request, Transport};
use azure_identity::{
    ClientAssertionCredentialOptions, ClientSecretCredential, ClientSecretCredentialOptions, DeveloperToolsCredential,
    ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId, WorkloadIdentityCredential,
    WorkloadIdentityCredentialOptions,
};
use chrono::DateTime;

use super::client::{IDLE_TIMEOUT, http, without_url};
use super::secret::Secret;
use super::token::{Token, TokenSource};

/// Tokens are small and near.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Who this program is to Entra ID.
pub struct Entra {
    credential: Arc<dyn TokenCredential>,
    /// Which kind of identity, for people.
    kind: &'static str,
}

impl std::fmt::Debug for Entra {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entra").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Entra {
    /// As the environment says. `AZURE_TOKEN_CREDENTIALS=dev` asks the tools of a developer (`az login`),
    /// `AZURE_FEDERATED_TOKEN_FILE` means a workload of Kubernetes, `AZURE_CLIENT_SECRET` an application; without these it
    /// is the machine's own identity, or the one that `AZURE_CLIENT_ID` names.
    ///
    /// # Errors
    /// What is missing in the environment.
    pub fn of_environment() -> Result<Self, String> {
        Self::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let client_options = || -> Result<ClientOptions, String> {
            let client = http(TIMEOUT, IDLE_TIMEOUT).map_err(|error| error.to_string())?;
            Ok(ClientOptions { transport: Some(Transport::new(Arc::new(Sender(client)))), ..ClientOptions::default() })
        };
        let needed = |name: &str| variable(name).ok_or_else(|| format!("the environment variable {name} is not set"));
        let told = |error: Error| error.to_string();
        let client_id = variable("AZURE_CLIENT_ID");
        if variable("AZURE_TOKEN_CREDENTIALS").is_some_and(|which| which.eq_ignore_ascii_case("dev")) {
            let credential = DeveloperToolsCredential::new(None).map_err(told)?;
            return Ok(Self { credential, kind: "developer tools" });
        }
        if variable("AZURE_FEDERATED_TOKEN_FILE").is_some() {
            let credential_options = ClientAssertionCredentialOptions { client_options: client_options()? };
            let options = WorkloadIdentityCredentialOptions {
                credential_options,
                client_id: Some(needed("AZURE_CLIENT_ID")?),
                tenant_id: Some(needed("AZURE_TENANT_ID")?),
                token_file_path: Some(needed("AZURE_FEDERATED_TOKEN_FILE")?.into()),
            };
            let credential = WorkloadIdentityCredential::new(Some(options)).map_err(told)?;
            return Ok(Self { credential, kind: "workload identity" });
        }
        if let Some(secret) = variable("AZURE_CLIENT_SECRET") {
            let (tenant, client) = (needed("AZURE_TENANT_ID")?, needed("AZURE_CLIENT_ID")?);
            let options = ClientSecretCredentialOptions { client_options: client_options()? };
            let credential =
                ClientSecretCredential::new(&tenant, client, secret.into(), Some(options)).map_err(told)?;
            return Ok(Self { credential, kind: "client secret" });
        }
        let options = ManagedIdentityCredentialOptions {
            user_assigned_id: client_id.map(UserAssignedId::ClientId),
            client_options: client_options()?,
        };
        let credential = ManagedIdentityCredential::new(Some(options)).map_err(told)?;
        Ok(Self { credential, kind: "managed identity" })
    }
}

#[async_trait]
impl TokenSource for Entra {
    async fn token(&self, scope: &str) -> Result<Token, String> {
        let had = self.credential.get_token(&[scope], None).await;
        let had = had.map_err(|error| format!("{}: {error}", self.kind))?;
        let ends = DateTime::from_timestamp(had.expires_on.unix_timestamp(), 0).unwrap_or_default();
        Ok(Token { secret: Secret::new(had.token.secret()), ends })
    }
}

/// Sends what the library asks for.
#[derive(Debug)]
struct Sender(reqwest::Client);

#[async_trait]
impl HttpClient for Sender {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let other = |text: &'static str| Error::with_message(ErrorKind::Other, text);
        let method = reqwest::Method::from_bytes(request.method().as_ref().as_bytes());
        let mut sent = self.0.request(method.map_err(|_| other("a method that is none"))?, request.url().clone());
        for (name, value) in request.headers().iter() {
            sent = sent.header(name.as_str(), value.as_str());
        }
        sent = match request.body() {
            Body::Bytes(bytes) => sent.body(bytes.clone()),
            Body::SeekableStream(_) => return Err(other("a request for a token has a small body")),
        };
        let failed = |error: reqwest::Error| {
            let kind = if error.is_connect() { ErrorKind::Connection } else { ErrorKind::Io };
            Error::with_message(kind, without_url(error))
        };
        let answer = sent.send().await.map_err(failed)?;
        let status = answer.status().as_u16().into();
        let mut headers = Headers::new();
        for (name, value) in answer.headers() {
            if let Ok(value) = value.to_str() {
                headers.insert(HeaderName::from(name.as_str().to_owned()), HeaderValue::from(value.to_owned()));
            }
        }
        let body = answer.bytes().await.map_err(failed)?;
        Ok(AsyncRawResponse::from_bytes(status, headers, body))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Entra, String> {
        Entra::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_environment_says_who_it_is() {
        let kind = |variables: &[(&str, &str)]| of(variables).map(|entra| entra.kind);
        assert_eq!(kind(&[]), Ok("managed identity"));
        assert_eq!(kind(&[("AZURE_CLIENT_ID", "c")]), Ok("managed identity"));
        assert_eq!(kind(&[("AZURE_TOKEN_CREDENTIALS", "dev")]), Ok("developer tools"));
        let application = [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_SECRET", "s3cret")];
        assert_eq!(kind(&application), Ok("client secret"));
        assert!(!format!("{:?}", of(&application).unwrap()).contains("s3cret"));
        let missing = kind(&[("AZURE_CLIENT_SECRET", "s3cret"), ("AZURE_CLIENT_ID", "c")]).unwrap_err();
        assert!(missing.contains("AZURE_TENANT_ID") && !missing.contains("s3cret"), "{missing}");
    }

    #[tokio::test]
    async fn the_library_sends_over_this_programs_client() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = client.read(&mut request).await.unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\nX-Kind: test\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let url = format!("http://{address}/token?api-version=1").parse().unwrap();
        let mut request = Request::new(url, azure_core::http::Method::Get);
        request.insert_header("metadata", "true");
        let answered = Sender(http(TIMEOUT, IDLE_TIMEOUT).unwrap()).execute_request(&request).await.unwrap();
        assert_eq!(u16::from(answered.status()), 200);
        assert_eq!(answered.headers().get_optional_str(&HeaderName::from("x-kind")), Some("test"));
        let request = answer.await.unwrap();
        assert!(request.starts_with("GET /token?api-version=1 ") && request.contains("metadata: true"), "{request}");
    }
}
