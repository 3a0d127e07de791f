//! SharedKey and SharedKeyLite, in the forms that the Table service has of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use hyper::header::{CONTENT_TYPE, DATE};

use super::{CLOCK_SKEW_TICKS, Circumstances, is_signed};
use crate::error::{Refusal, RestResult};
use crate::head::Head;

const TICKS_PER_SECOND: i64 = 10_000_000;

/// Checks the value of an Authorization header.
///
/// # Errors
/// When it is none that is known, or does not hold.
pub(super) fn check(head: &Head, header: &str, circumstances: &Circumstances<'_>) -> RestResult<()> {
    let (scheme, credentials) = header.split_once(' ').ok_or(Refusal::InvalidAuthentication)?;
    let (account, signature) = credentials.trim().split_once(':').ok_or(Refusal::InvalidAuthentication)?;
    let date = head.header("x-ms-date").or_else(|| head.header(DATE.as_str())).ok_or(Refusal::NotAuthenticated)?;
    let text = match scheme {
        "SharedKey" => text_to_sign(head, date),
        "SharedKeyLite" => format!("{date}\n{}", canonical_resource(head)),
        _ => return Err(Refusal::InvalidAuthentication),
    };
    let signature = STANDARD.decode(signature).map_err(|_| Refusal::NotAuthenticated)?;
    let is_signed = is_signed(circumstances.keys, &text, &signature);
    if is_signed && account == head.account && is_in_time(date, circumstances) {
        Ok(())
    } else {
        Err(Refusal::NotAuthenticated)
    }
}

fn text_to_sign(head: &Head, date: &str) -> String {
    let header = |name| head.header(name).unwrap_or_default();
    let (md5, content_type) = (header("content-md5"), header(CONTENT_TYPE.as_str()));
    format!("{}\n{md5}\n{content_type}\n{date}\n{}", head.method, canonical_resource(head))
}

/// The account, the path as it was sent, and the `comp` parameter alone.
fn canonical_resource(head: &Head) -> String {
    let mut resource = format!("/{}{}", head.account, head.path);
    if let Some(component) = head.query.get("comp") {
        resource.push_str("?comp=");
        resource.push_str(component);
    }
    resource
}

fn is_in_time(date: &str, circumstances: &Circumstances<'_>) -> bool {
    let Ok(at) = DateTime::parse_from_rfc2822(date) else { return false };
    let ticks = at.timestamp().saturating_mul(TICKS_PER_SECOND);
    (ticks - circumstances.now.unix_ticks()).abs() <= CLOCK_SKEW_TICKS
}
