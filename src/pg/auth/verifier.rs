//! What the server keeps of a password: PostgreSQL's own SCRAM-SHA-256 verifier, which does not suffice to log in.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::{SCRAM_ITERATIONS, ScramSecret, gen_salted_password};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::users::UsersError;

/// What the text of a verifier begins with.
const SCHEME: &str = "SCRAM-SHA-256";
const SALT_BYTES: usize = 16;
/// Both keys are SHA-256 hashes.
const KEY_BYTES: usize = 32;
/// More would let a users file keep clients busy for minutes.
const MAX_ITERATIONS: usize = 10_000_000;

/// `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: usize,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

/// A text that is not a verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a verifier of the form SCRAM-SHA-256$4096:salt$StoredKey:ServerKey")]
pub struct NotAVerifier;

impl Verifier {
    /// Of a new password, with a salt of its own.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn of_password(password: &str) -> Result<Self, UsersError> {
        Ok(Self::with_salt(password, random_bytes::<SALT_BYTES>()?.to_vec()))
    }

    /// A verifier that no password matches, for a name that is not a user's. It is the same at every attempt, as a
    /// user's is, so that the exchange does not tell which names exist.
    pub(super) fn decoy(secret: &[u8], name: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derive = |what: &str| hmac::sign(&key, format!("{what} {name}").as_bytes()).as_ref().to_vec();
        let mut salt = derive("salt");
        salt.truncate(SALT_BYTES);
        Self { iterations: SCRAM_ITERATIONS, salt, stored_key: derive("stored key"), server_key: derive("server key") }
    }

    fn with_salt(password: &str, salt: Vec<u8>) -> Self {
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
        let client_key = hmac::sign(&key, b"Client Key");
        let stored_key = ring::digest::digest(&ring::digest::SHA256, client_key.as_ref()).as_ref().to_vec();
        let server_key = hmac::sign(&key, b"Server Key").as_ref().to_vec();
        Self { iterations: SCRAM_ITERATIONS, salt, stored_key, server_key }
    }

    /// As the exchange wants it.
    pub(super) fn secret(&self) -> ScramSecret {
        ScramSecret::Verifier {
            salt: self.salt.clone(),
            iterations: self.iterations,
            stored_key: self.stored_key.clone(),
            server_key: self.server_key.clone(),
        }
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] = [&self.salt, &self.stored_key, &self.server_key].map(|b| STANDARD.encode(b));
        write!(f, "{SCHEME}${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl FromStr for Verifier {
    type Err = NotAVerifier;

    fn from_str(text: &str) -> Result<Self, NotAVerifier> {
        let parts: Vec<&str> = text.split('$').collect();
        let [SCHEME, salted, keys] = parts.as_slice() else { return Err(NotAVerifier) };
        let (iterations, salt) = salted.split_once(':').ok_or(NotAVerifier)?;
        let (stored, server) = keys.split_once(':').ok_or(NotAVerifier)?;
        let iterations = iterations.parse().ok().filter(|n| (1..=MAX_ITERATIONS).contains(n)).ok_or(NotAVerifier)?;
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| NotAVerifier);
        let (salt, stored_key, server_key) = (bytes(salt)?, bytes(stored)?, bytes(server)?);
        if salt.is_empty() || stored_key.len() != KEY_BYTES || server_key.len() != KEY_BYTES {
            return Err(NotAVerifier);
        }
        Ok(Self { iterations, salt, stored_key, server_key })
    }
}

impl fmt::Debug for Verifier {
    /// Without the keys: what is debugged is logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(..)")
    }
}

/// # Errors
/// When the system has none.
pub(super) fn random_bytes<const N: usize>() -> Result<[u8; N], UsersError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| UsersError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC_7677_SALT: &str = "W22ZaJ0SNY7soEsUEjb6gQ==";

    fn rfc_7677() -> Verifier {
        Verifier::with_salt("pencil", STANDARD.decode(RFC_7677_SALT).unwrap())
    }

    #[test]
    fn keys_are_those_of_rfc_7677() {
        let auth_message = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
            r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
            c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let verifier = rfc_7677();
        let sign = |key: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), auth_message.as_bytes());
        let server_signature = STANDARD.encode(sign(&verifier.server_key));
        assert_eq!(server_signature, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        let proof = STANDARD.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").unwrap();
        let client_key: Vec<u8> = proof.iter().zip(sign(&verifier.stored_key).as_ref()).map(|(a, b)| a ^ b).collect();
        assert_eq!(ring::digest::digest(&ring::digest::SHA256, &client_key).as_ref(), verifier.stored_key);
    }

    #[test]
    fn its_text_is_postgresql_s() {
        // The password and salt of RFC 7677's example, as pg_authid would hold them.
        let made = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
            wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        assert_eq!(rfc_7677().to_string(), made);
        assert_eq!(made.parse(), Ok(rfc_7677()));
    }

    #[test]
    fn passwords_are_prepared_as_clients_prepare_them() {
        let salt = || vec![7; SALT_BYTES];
        // A compatibility character (Roman numeral nine) is its plain letters.
        assert_eq!(Verifier::with_salt("\u{2168}", salt()), Verifier::with_salt("IX", salt()));
        assert_ne!(Verifier::with_salt("ix", salt()), Verifier::with_salt("IX", salt()));
    }

    #[test]
    fn other_texts_are_refused() {
        let good = rfc_7677().to_string();
        let wrong = [
            String::new(),
            "secret".to_owned(),
            good.replace("256", "1"),
            good.replace("4096", "0"),
            good.replace("4096", "99999999999"),
            good.replace("W22ZaJ0SNY7soEsUEjb6gQ==", ""),
            good.replace("WG5d", "*"),
            good.replace("wfPLwcE6", ""),
            format!("{good}$"),
        ];
        for text in wrong {
            assert_eq!(text.parse::<Verifier>(), Err(NotAVerifier), "{text}");
        }
    }

    #[test]
    fn a_decoy_is_the_same_at_every_attempt() {
        let decoy = |name: &str| Verifier::decoy(b"secret", name);
        assert_eq!(decoy("eve"), decoy("eve"));
        assert_ne!(decoy("eve").salt, decoy("eva").salt);
        assert_ne!(decoy("eve").salt, Verifier::decoy(b"other", "eve").salt);
        assert_eq!(decoy("eve").to_string().len(), rfc_7677().to_string().len());
    }

    #[test]
    fn nothing_of_it_is_debugged() {
        assert_eq!(format!("{:?}", rfc_7677()), "Verifier(..)");
    }
}
