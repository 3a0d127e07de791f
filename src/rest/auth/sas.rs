//! Shared access signatures: of an account, and of a table, with the policies that a table keeps for them.

use std::net::{IpAddr, Ipv4Addr};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tablegate_store::model::{EdmDateTime, TableName};

use super::access::{Grant, KeyBounds, Scope};
use super::{Circumstances, is_signed};
use crate::edm::datetime;
use crate::error::{Refusal, RestResult};
use crate::head::{Head, Query};

/// From this version on a table's signature says its protocol and addresses.
const WITH_ADDRESSES: &str = "2015-04-05";
/// From this one on it names the service.
const WITH_SERVICE: &str = "2015-02-21";
/// From this one on an account's signature has a line for encryption scopes.
const WITH_SCOPES: &str = "2020-12-06";
/// Older signatures have other forms still.
const OLDEST: &str = "2012-02-12";

/// What a table keeps under a name for signatures that refer to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    pub start: Option<String>,
    pub expiry: Option<String>,
    pub permissions: Option<String>,
}

/// Where the policies of tables are.
#[async_trait]
pub(crate) trait StoredPolicies: Send + Sync {
    async fn policy(&self, table: &TableName, id: &str) -> RestResult<Option<Policy>>;
}

/// Checks the signature in a request's query.
///
/// # Errors
/// When it does not hold, or not for this client at this time.
pub(super) async fn check(head: &Head, circumstances: &Circumstances<'_>) -> RestResult<Grant> {
    let query = &head.query;
    let version = query.get("sv").ok_or(Refusal::NotAuthenticated)?;
    let signature = query.get("sig").and_then(|text| STANDARD.decode(text).ok()).ok_or(Refusal::NotAuthenticated)?;
    let is_of_account = query.get("ss").is_some() || query.get("srt").is_some();
    let text = if is_of_account {
        account_text(&head.account, query, version)
    } else {
        table_text(&head.account, query, version)
    };
    let is_signed = is_signed(circumstances.keys, &text, &signature);
    let is_version = chrono::NaiveDate::parse_from_str(version, "%Y-%m-%d").is_ok();
    if !is_signed || !is_version || version < OLDEST {
        return Err(Refusal::NotAuthenticated);
    }
    let grant = if is_of_account { of_account(query)? } else { of_table(query, circumstances).await? };
    let Signed { start, expiry, permissions, scope } = grant;
    is_in_time(start.as_deref(), expiry.as_deref(), circumstances.now)?;
    check_way(query, circumstances)?;
    Ok(Grant { scope, permissions })
}

struct Signed {
    start: Option<String>,
    expiry: Option<String>,
    permissions: String,
    scope: Scope,
}

fn account_text(account: &str, query: &Query, version: &str) -> String {
    let fields = ["sp", "ss", "srt", "st", "se", "sip", "spr", "sv"].map(|name| query.get(name).unwrap_or_default());
    let mut text = format!("{account}\n{}\n", fields.join("\n"));
    if version >= WITH_SCOPES {
        text.push_str(query.get("ses").unwrap_or_default());
        text.push('\n');
    }
    text
}

fn table_text(account: &str, query: &Query, version: &str) -> String {
    let table = query.get("tn").unwrap_or_default().to_ascii_lowercase();
    let service = if version >= WITH_SERVICE { "/table" } else { "" };
    let resource = format!("{service}/{account}/{table}");
    let field = |name| query.get(name).unwrap_or_default();
    let mut lines = vec![field("sp"), field("st"), field("se"), &resource, field("si")];
    if version >= WITH_ADDRESSES {
        lines.extend([field("sip"), field("spr")]);
    }
    lines.extend([field("sv"), field("spk"), field("srk"), field("epk"), field("erk")]);
    lines.join("\n")
}

fn of_account(query: &Query) -> RestResult<Signed> {
    let field = |name| query.get(name).map(str::to_owned);
    if !field("ss").is_some_and(|services| services.contains('t')) {
        return Err(Refusal::NotThisService);
    }
    let resource_types = field("srt").unwrap_or_default();
    let permissions = field("sp").ok_or(Refusal::NotAuthenticated)?;
    Ok(Signed { start: field("st"), expiry: field("se"), permissions, scope: Scope::Account { resource_types } })
}

async fn of_table(query: &Query, circumstances: &Circumstances<'_>) -> RestResult<Signed> {
    let field = |name| query.get(name).map(str::to_owned);
    let table = field("tn").and_then(|name| TableName::parse(&name).ok()).ok_or(Refusal::NotAuthenticated)?;
    let policy = match query.get("si") {
        None => Policy::default(),
        Some(id) => circumstances.policies.policy(&table, id).await?.ok_or(Refusal::NotAuthenticated)?,
    };
    let bound = |partition, row| match (field(partition), field(row)) {
        (Some(partition), row) => Ok(Some((partition, row))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Refusal::NotAuthenticated),
    };
    let keys = KeyBounds { start: bound("spk", "srk")?, end: bound("epk", "erk")? };
    Ok(Signed {
        start: one(field("st"), policy.start)?,
        expiry: one(field("se"), policy.expiry)?,
        permissions: one(field("sp"), policy.permissions)?.ok_or(Refusal::NotAuthenticated)?,
        scope: Scope::Table { table, keys },
    })
}

/// What the signature says or the policy, never both.
fn one(signed: Option<String>, kept: Option<String>) -> RestResult<Option<String>> {
    match (signed, kept) {
        (Some(_), Some(_)) => Err(Refusal::NotAuthenticated),
        (signed, kept) => Ok(signed.or(kept)),
    }
}

fn is_in_time(start: Option<&str>, expiry: Option<&str>, now: EdmDateTime) -> RestResult<()> {
    let instant = |text: &str| datetime::parse(text).ok_or(Refusal::NotAuthenticated);
    let has_begun = start.map(instant).transpose()?.is_none_or(|start| start <= now);
    let expiry = expiry.map(instant).transpose()?.ok_or(Refusal::NotAuthenticated)?;
    if has_begun && now < expiry { Ok(()) } else { Err(Refusal::NotAuthenticated) }
}

/// Whether the client may come from where it does, in the way it does.
fn check_way(query: &Query, circumstances: &Circumstances<'_>) -> RestResult<()> {
    match query.get("spr") {
        None | Some("https,http" | "http,https") => {}
        Some("https") if circumstances.is_encrypted => {}
        Some("https") => return Err(Refusal::NotThisProtocol),
        Some(_) => return Err(Refusal::NotAuthenticated),
    }
    let Some(allowed) = query.get("sip") else { return Ok(()) };
    let (first, last) = allowed.split_once('-').unwrap_or((allowed, allowed));
    let address = |text: &str| text.parse::<Ipv4Addr>().map_err(|_| Refusal::NotAuthenticated);
    let (first, last) = (address(first)?, address(last)?);
    match circumstances.peer.ip().to_canonical() {
        IpAddr::V4(peer) if first <= peer && peer <= last => Ok(()),
        _ => Err(Refusal::NotThisAddress),
    }
}
