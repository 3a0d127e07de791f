//! The SASL exchange with a client: which mechanism, two messages each way, and whether it knows the password.

use bytes::Bytes;
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use pgwire::api::auth::sasl::{SCRAM_SHA_256_METHOD, SCRAM_SHA_256_PLUS_METHOD};
use pgwire::error::PgWireError;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::Authentication;
use tokio::io::AsyncReadExt;

use super::verifier::Verifier;
use crate::body;
use crate::error::Failure;
use crate::halt::Halt;
use crate::startup::send;
use crate::stream::Stream;

/// Longest message of an exchange, as in PostgreSQL: a client that is not known yet gets no memory.
const MAX_MESSAGE: usize = 1024;
/// A client's first message begins so when it binds the exchange to the server's certificate.
const BOUND: &[u8] = b"p=";

/// What the client's messages prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    Right,
    Wrong,
}

/// Asks the client to prove that it knows the password of a verifier. `bound` is for a connection that is encrypted
/// with a certificate that the exchange can be bound to.
///
/// # Errors
/// 08P01 for messages that are none; the client may also leave.
pub(super) async fn exchange(
    stream: &mut Stream,
    verifier: &Verifier,
    is_user: bool,
    bound: Option<&ScramServerAuth>,
) -> Result<Proof, Halt> {
    let mut mechanisms = vec![SCRAM_SHA_256_METHOD.to_owned()];
    if bound.is_some() {
        mechanisms.insert(0, SCRAM_SHA_256_PLUS_METHOD.to_owned());
    }
    ask(stream, Authentication::SASL(mechanisms.clone())).await?;
    let (mechanism, first) = body::sasl_initial_response(read_response(stream).await?).map_err(Halt::Fatal)?;
    if !mechanisms.contains(&mechanism) {
        let message = "client selected an invalid SASL authentication mechanism";
        return Err(Halt::Fatal(Failure::protocol(message)));
    }
    let first = match first {
        Some(first) => first,
        // The client wants to be asked for its first message.
        None => {
            ask(stream, Authentication::SASLContinue(Bytes::new())).await?;
            read_response(stream).await?
        }
    };
    if first.starts_with(BOUND) != (mechanism == SCRAM_SHA_256_PLUS_METHOD) {
        return Err(malformed());
    }
    let unbound = ScramServerAuth::new();
    let server = bound.unwrap_or(&unbound);
    let begun = server.on_client_first_message_with_secret(&first, verifier.secret());
    let (challenge, waiting) = begun.map_err(|_| malformed())?;
    ask(stream, Authentication::SASLContinue(challenge.into())).await?;
    let last = read_response(stream).await?;
    match waiting.on_client_final_message(&last) {
        Ok(signature) if is_user => {
            ask(stream, Authentication::SASLFinal(signature.into())).await?;
            Ok(Proof::Right)
        }
        // The verifier is made up when the user does not exist, so even a proof that matches it is wrong then.
        Ok(_) | Err(PgWireError::InvalidPassword(_)) => Ok(Proof::Wrong),
        Err(_) => Err(malformed()),
    }
}

async fn ask(stream: &mut Stream, message: Authentication) -> Result<(), Halt> {
    Ok(send(stream, &PgWireBackendMessage::Authentication(message)).await?)
}

/// The body of the client's next message. No more than it is read: what follows belongs to the session.
async fn read_response(stream: &mut Stream) -> Result<Bytes, Halt> {
    let tag = stream.read_u8().await?;
    if tag != b'p' {
        let message = format!("expected SASL response, got message type {tag}");
        return Err(Halt::Fatal(Failure::protocol(message)));
    }
    let length = usize::try_from(stream.read_u32().await?).unwrap_or(usize::MAX);
    if !(4..=MAX_MESSAGE).contains(&length) {
        return Err(Halt::Fatal(Failure::protocol("invalid message length")));
    }
    let mut body = vec![0; length - 4];
    stream.read_exact(&mut body).await?;
    Ok(body.into())
}

/// Says nothing of the message: it may be part of a password's proof.
fn malformed() -> Halt {
    Halt::Fatal(Failure::protocol("malformed SCRAM message"))
}
