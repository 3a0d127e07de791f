//! The start of a connection: encryption requests, cancel requests, the startup packet and its parameters.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{GssEncResponse, SslResponse};
use pgwire::messages::startup::NegotiateProtocolVersion;
use tablegate_sql::session::SessionOptions;
use tablegate_types::error::{ErrorKind, SqlError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::body::utf8;
use super::error::{Failure, Gravity};
use super::stream::Stream;
use super::tls::Tls;

/// Longest startup packet, as in PostgreSQL.
const MAX_PACKET: usize = 10_000;
/// Length and version.
const MIN_PACKET: usize = 8;
const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
/// The newest version of the protocol spoken here: 3.0.
const PROTOCOL: i32 = 3 << 16;
/// Names of protocol extensions begin so.
const EXTENSION_PREFIX: &str = "_pq_.";

/// What a new connection wants.
#[derive(Debug)]
pub(super) enum Request {
    Session(Startup),
    Cancel {
        pid: i32,
        secret: i32,
    },
    /// Nothing that is understood, or not any more.
    Nothing,
}

/// The startup packet.
#[derive(Debug)]
pub(super) struct Startup {
    pub options: SessionOptions,
    /// To be sent first when the client asked for more than is spoken here.
    pub negotiation: Option<PgWireBackendMessage>,
}

/// Reads up to the startup packet, and encrypts the connection on the way where the client wants it and it can be.
/// Where it cannot, the client decides whether it goes on without.
pub(super) async fn receive(stream: &mut Stream, tls: Option<&Tls>) -> io::Result<Request> {
    if let Some(tls) = tls
        && stream.begins_with_tls().await?
    {
        stream.encrypt(tls).await?;
        if !stream.agreed_on_protocol() {
            let message = "received direct SSL connection request without ALPN protocol negotiation extension";
            refuse(stream, &Failure::protocol(message)).await?;
            return Ok(Request::Nothing);
        }
    }
    let is_encrypted = stream.encryption().is_some();
    // Each is answered once; a second one is a version of the protocol that does not exist.
    let (mut ssl_answered, mut gss_answered) = (is_encrypted, is_encrypted);
    loop {
        let Some(mut packet) = read_packet(stream).await? else { return Ok(Request::Nothing) };
        match (packet.get_u32(), tls) {
            (SSL_REQUEST, Some(tls)) if !ssl_answered => {
                (ssl_answered, gss_answered) = (true, true);
                send(stream, &PgWireBackendMessage::SslResponse(SslResponse::Accept)).await?;
                stream.encrypt(tls).await?;
            }
            (SSL_REQUEST, None) if !ssl_answered => {
                ssl_answered = true;
                send(stream, &PgWireBackendMessage::SslResponse(SslResponse::Refuse)).await?;
            }
            (GSSENC_REQUEST, _) if !gss_answered => {
                gss_answered = true;
                send(stream, &PgWireBackendMessage::GssEncResponse(GssEncResponse::Refuse)).await?;
            }
            (CANCEL_REQUEST, _) => {
                return Ok(match (packet.try_get_i32(), packet.try_get_i32(), packet.is_empty()) {
                    (Ok(pid), Ok(secret), true) => Request::Cancel { pid, secret },
                    _ => Request::Nothing,
                });
            }
            (version, _) => match startup(version, packet) {
                Ok(startup) => return Ok(Request::Session(startup)),
                Err(failure) => {
                    refuse(stream, &failure).await?;
                    return Ok(Request::Nothing);
                }
            },
        }
    }
}

/// Tells a client why its connection ends before it began.
pub(super) async fn refuse(stream: &mut Stream, failure: &Failure) -> io::Result<()> {
    send(stream, &failure.message(Gravity::Fatal)).await?;
    stream.shutdown().await
}

/// The packet after its length; `None` when the length cannot be one. What follows it is left unread: a handshake may.
async fn read_packet(stream: &mut Stream) -> io::Result<Option<Bytes>> {
    let length = stream.read_u32().await?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if !(MIN_PACKET..=MAX_PACKET).contains(&length) {
        return Ok(None);
    }
    let mut packet = vec![0; length - 4];
    stream.read_exact(&mut packet).await?;
    Ok(Some(packet.into()))
}

/// Sends a message at once, outside a session.
pub(super) async fn send(stream: &mut Stream, message: &PgWireBackendMessage) -> io::Result<()> {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes).map_err(io::Error::other)?;
    stream.write_all(&bytes).await?;
    stream.flush().await
}

fn startup(version: u32, packet: Bytes) -> Result<Startup, Failure> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != 3 {
        let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
        return Err(Failure::sql(ErrorKind::FeatureNotSupported, message));
    }
    let mut options = SessionOptions::default();
    let mut command_line = Vec::new();
    let mut settings = Vec::new();
    let mut extensions = Vec::new();
    for (name, value) in parameters(packet)? {
        match name.as_str() {
            "user" => options.user = value,
            "database" => options.database = value,
            "options" => command_line = command_line_settings(&value)?,
            "replication" if is_false(&value) => {}
            "replication" => return Err(SqlError::not_supported("replication").into()),
            _ if name.starts_with(EXTENSION_PREFIX) => extensions.push(name),
            _ => settings.push((name, value)),
        }
    }
    if options.user.is_empty() {
        return Err(Failure::NoUser);
    }
    if options.database.is_empty() {
        options.database.clone_from(&options.user);
    }
    options.settings = command_line;
    options.settings.append(&mut settings);
    let negotiation = (minor > 0 || !extensions.is_empty())
        .then(|| PgWireBackendMessage::NegotiateProtocolVersion(NegotiateProtocolVersion::new(PROTOCOL, extensions)));
    Ok(Startup { options, negotiation })
}

/// Names and values, each ended by a NUL; an empty name ends them.
fn parameters(packet: Bytes) -> Result<Vec<(String, String)>, Failure> {
    let malformed = || Failure::protocol("invalid startup packet layout: expected terminator as last byte");
    let body = packet.strip_suffix(b"\0").ok_or_else(malformed)?;
    let mut parameters = Vec::new();
    // Every string ends with its NUL, so the last piece is what follows the last of them: nothing.
    let mut strings = body.split(|byte| *byte == 0);
    loop {
        let (Some(name), value) = (strings.next(), strings.next()) else { return Err(malformed()) };
        match value {
            None if name.is_empty() => return Ok(parameters),
            Some(value) if !name.is_empty() => parameters.push((utf8(name)?.to_owned(), utf8(value)?.to_owned())),
            _ => return Err(malformed()),
        }
    }
}

/// The settings in `-c name=value` and `--name=value`, which are the only options a client may give.
fn command_line_settings(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut settings = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let assignment = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(long), _) => Some(long.to_owned()),
            (None, Some("")) => words.next(),
            (None, Some(attached)) => Some(attached.to_owned()),
            (None, None) => None,
        };
        let setting = assignment.as_deref().and_then(|assignment| assignment.split_once('='));
        let Some((name, value)) = setting else {
            let message = format!("invalid command-line argument for server process: {word}");
            return Err(Failure::sql(ErrorKind::Syntax, message));
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// Splits at white space; a backslash keeps the character after it.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn is_false(value: &str) -> bool {
    ["false", "off", "no", "0"].iter().any(|no| no.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(packet: &'static [u8]) -> Result<Startup, Failure> {
        startup(3 << 16, Bytes::from_static(packet))
    }

    #[test]
    fn parameters_become_settings_in_order() {
        let got = read(b"user\0u\0options\0-c a=1 --b-c=x\\ y -cd=2\0application_name\0app\0\0").unwrap();
        assert_eq!((got.options.user.as_str(), got.options.database.as_str()), ("u", "u"));
        let settings: Vec<(&str, &str)> =
            got.options.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(settings, [("a", "1"), ("b_c", "x y"), ("d", "2"), ("application_name", "app")]);
        assert!(got.negotiation.is_none());
    }

    #[test]
    fn an_empty_value_is_a_value() {
        let got = read(b"user\0u\0application_name\0\0database\0d\0\0").unwrap();
        assert_eq!(got.options.database, "d");
        assert_eq!(got.options.settings, [("application_name".to_owned(), String::new())]);
    }

    #[test]
    fn a_broken_packet_is_refused() {
        assert!(matches!(read(b"\0"), Err(Failure::NoUser)));
        for packet in [&b""[..], b"user", b"user\0", b"user\0u", b"user\0u\0", b"user\0u\0\0x", b"user\0\xff\0\0"] {
            assert!(read(packet).is_err(), "{packet:?}");
        }
        assert!(read(b"user\0u\0options\0-x\0\0").is_err());
        assert!(read(b"user\0u\0replication\0database\0\0").is_err());
        assert!(startup(2 << 16, Bytes::from_static(b"user\0u\0\0")).is_err());
    }

    #[test]
    fn newer_protocols_are_negotiated_down() {
        let packet = Bytes::from_static(b"user\0u\0_pq_.x\0y\0\0");
        let got = startup((3 << 16) + 2, packet).unwrap();
        let Some(PgWireBackendMessage::NegotiateProtocolVersion(message)) = got.negotiation else { panic!() };
        assert_eq!((message.newest_minor_protocol, message.unsupported_options.len()), (PROTOCOL, 1));
    }

    proptest! {
        #[test]
        fn no_packet_makes_it_panic(version: u32, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = startup(version, Bytes::from(bytes));
        }
    }
}
