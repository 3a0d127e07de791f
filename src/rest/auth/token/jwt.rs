//! JSON Web Tokens (RFC 7519), as they are sent: three parts in Base64, the last one a signature of the first two.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

/// How a token can be signed. There is no `none`, and nothing with a shared secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
}

impl Algorithm {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Algorithm::Rs256),
            "ES256" => Some(Algorithm::Es256),
            _ => None,
        }
    }
}

/// A token that nobody has checked yet.
pub(super) struct Jwt<'a> {
    pub algorithm: Algorithm,
    /// The name of its key.
    pub key: Option<String>,
    /// What is signed.
    pub signed: &'a str,
    pub signature: Vec<u8>,
    claims: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood; none are.
    crit: Option<Value>,
}

/// What a token says.
pub(super) struct Claims {
    pub issuer: String,
    pub audience: Vec<String>,
    /// In seconds since 1970.
    pub ends: i64,
    pub begins: i64,
    pub roles: Vec<String>,
}

impl<'a> Jwt<'a> {
    /// `None` for what is no token, or one that is signed in another way.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
        if header.crit.is_some() {
            return None;
        }
        Some(Self {
            algorithm: Algorithm::of(&header.alg)?,
            key: header.kid,
            signed,
            signature: decoded(signature)?,
            claims: decoded(claims)?,
        })
    }

    /// What it says; it must say when it ends.
    pub(super) fn claims(&self) -> Option<Claims> {
        let claims: Map<String, Value> = serde_json::from_slice(&self.claims).ok()?;
        Some(Claims {
            issuer: claims.get("iss")?.as_str()?.to_owned(),
            audience: texts(claims.get("aud"))?,
            ends: seconds(claims.get("exp")?)?,
            begins: claims.get("nbf").map_or(Some(i64::MIN), seconds)?,
            roles: texts(claims.get("roles")).unwrap_or_default(),
        })
    }
}

/// One text, or several.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// Whole seconds: a fraction is cut off.
fn seconds(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a number beyond is the nearest one, and no time")]
    value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64))
}
