//! TLS 1.2 and 1.3: the server's certificate and key, the handshake and its outcome.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pgwire::api::auth::sasl::scram::ScramServerAuth;
use tablegate_sql::session::Encryption;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ProtocolVersion, ServerConfig, ServerConnection, crypto};
use tokio_rustls::server::TlsStream;

/// PostgreSQL's name among the protocols that TLS clients may ask for (ALPN).
pub(super) const PROTOCOL: &[u8] = b"postgresql";

/// The server's side of TLS, made once.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    scram: Option<ScramServerAuth>,
}

/// Why a certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {reason}", file.display())]
    File { file: PathBuf, reason: String },
    #[error("{} holds no certificate; it must be PEM, the server's own certificate first", .0.display())]
    NoCertificate(PathBuf),
    #[error("the certificate in {} and the key in {} cannot be used: {reason}", certificate.display(), key.display())]
    Unusable { certificate: PathBuf, key: PathBuf, reason: String },
}

impl Tls {
    /// Reads the certificate with its chain, and its private key, both PEM.
    ///
    /// # Errors
    /// Names the file that cannot be used.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let (config, pem) = server_config(certificate, key, PROTOCOL)?;
        // A certificate signed in a way that has no hash to bind to is served without channel binding.
        let mut scram = ScramServerAuth::new();
        let scram = scram.configure_certificate(&pem).is_ok().then_some(scram);
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), scram })
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }

    /// SCRAM that is bound to the certificate, where it can be.
    pub(super) fn bound_scram(&self) -> Option<&ScramServerAuth> {
        self.scram.as_ref()
    }
}

/// The server's side of TLS for one protocol (its name in ALPN), and the text of the certificate.
///
/// # Errors
/// Names the file that cannot be used.
pub fn server_config(certificate: &Path, key: &Path, protocol: &[u8]) -> Result<(ServerConfig, Vec<u8>), TlsError> {
    let unreadable =
        |file: &Path, reason: &dyn fmt::Display| TlsError::File { file: file.to_owned(), reason: reason.to_string() };
    let pem = std::fs::read(certificate).map_err(|error| unreadable(certificate, &error))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(certificate, &error))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(certificate.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| TlsError::Unusable {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            reason: error.to_string(),
        })?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok((config, pem))
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// What a handshake came to, in OpenSSL's words where it has some for TLS 1.3.
pub(super) fn encryption(connection: &ServerConnection) -> Encryption {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "TLSv1.3",
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    let cipher = suite.and_then(|suite| suite.as_str()).unwrap_or_default().replace("TLS13_", "TLS_");
    let bits = if cipher.contains("AES_128") { 128 } else { 256 };
    Encryption { version, cipher, bits }
}
