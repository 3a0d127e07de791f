//! A client's bytes, plain or encrypted, so that the code behind the start-up need not know which.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tablegate_sql::session::Encryption;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::tls::{self, Tls};

/// What the first byte of a TLS client is; a startup packet's is 0.
const TLS_HANDSHAKE: u8 = 0x16;

/// A connection to a client.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// A handshake was begun and not finished: nothing can be said any more.
    Closed,
}

impl Stream {
    /// Whether the client begins with a handshake, without asking for it.
    pub(crate) async fn begins_with_tls(&self) -> io::Result<bool> {
        let Stream::Plain(tcp) = self else { return Ok(false) };
        let mut first = [0];
        Ok(tcp.peek(&mut first).await? > 0 && first[0] == TLS_HANDSHAKE)
    }

    /// The handshake. Nothing was read ahead of it: bytes that somebody slipped in before it break it, and are never
    /// taken for the client's.
    pub(crate) async fn encrypt(&mut self, tls: &Tls) -> io::Result<()> {
        let Stream::Plain(tcp) = std::mem::replace(self, Stream::Closed) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let peer = tcp.peer_addr().ok();
        let accepted = tls.accept(tcp).await;
        *self = Stream::Tls(Box::new(accepted.inspect_err(|error| tracing::info!(?peer, %error, "no TLS handshake"))?));
        Ok(())
    }

    /// The address of ours that it came to, as long as it is connected.
    pub(crate) fn server_address(&self) -> Option<SocketAddr> {
        match self {
            Stream::Plain(tcp) => tcp.local_addr().ok(),
            Stream::Tls(stream) => stream.get_ref().0.local_addr().ok(),
            Stream::Closed => None,
        }
    }

    /// How it is encrypted, if it is.
    pub(crate) fn encryption(&self) -> Option<Encryption> {
        match self {
            Stream::Tls(stream) => Some(tls::encryption(stream.get_ref().1)),
            Stream::Plain(_) | Stream::Closed => None,
        }
    }

    /// Whether the handshake agreed on PostgreSQL's protocol, as it must where no SSLRequest did.
    pub(crate) fn agreed_on_protocol(&self) -> bool {
        match self {
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(tls::PROTOCOL),
            Stream::Plain(_) | Stream::Closed => false,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}
