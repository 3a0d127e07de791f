//! Get Table ACL and Set Table ACL: the policies that a table keeps for shared access signatures.

use async_trait::async_trait;
use hyper::StatusCode;
use tablegate_store::model::TableName;

use crate::answer::Answer;
use crate::auth::{Policy, StoredPolicies};
use crate::edm::datetime;
use crate::error::{Refusal, RestResult};
use crate::own::{Document, Own};
use crate::xml::{Element, document, leaf};

/// Policies of one table.
const POLICIES_MAX: usize = 5;
const ID_MAX_CHARS: usize = 64;

pub(crate) async fn get(own: &Own, table: &TableName) -> RestResult<Answer> {
    let kept = own.read(Document::Acl(table)).await?;
    Ok(Answer::xml(StatusCode::OK, kept.unwrap_or_else(|| written(&[]))))
}

pub(crate) async fn set(own: &Own, table: &TableName, body: &[u8]) -> RestResult<Answer> {
    // No body takes all of them back.
    let policies = if body.trim_ascii().is_empty() { Vec::new() } else { read(&Element::parse(body)?)? };
    if policies.len() > POLICIES_MAX {
        return Err(Refusal::InvalidXml);
    }
    own.write(Document::Acl(table), written(&policies)).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

fn read(document: &Element) -> RestResult<Vec<(String, Policy)>> {
    if document.name != "SignedIdentifiers" {
        return Err(Refusal::InvalidXml);
    }
    let mut policies: Vec<(String, Policy)> = Vec::new();
    for element in &document.children {
        let id = element.text_of("Id").filter(|id| (1..=ID_MAX_CHARS).contains(&id.chars().count()));
        let (Some(id), "SignedIdentifier") = (id, element.name.as_str()) else { return Err(Refusal::InvalidXml) };
        if policies.iter().any(|(known, _)| known == id) {
            return Err(Refusal::InvalidXml);
        }
        let empty = Element::default();
        let policy = element.child("AccessPolicy").unwrap_or(&empty);
        let text = |name| policy.text_of(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let policy = Policy { start: text("Start"), expiry: text("Expiry"), permissions: text("Permission") };
        let is_instant = |text: &Option<String>| text.as_deref().is_none_or(|text| datetime::parse(text).is_some());
        let is_permissions = policy.permissions.as_deref().is_none_or(|text| text.chars().all(|c| "raud".contains(c)));
        if !is_instant(&policy.start) || !is_instant(&policy.expiry) || !is_permissions {
            return Err(Refusal::InvalidXml);
        }
        policies.push((id.to_owned(), policy));
    }
    Ok(policies)
}

fn written(policies: &[(String, Policy)]) -> String {
    let one = |(id, policy): &(String, Policy)| {
        let part = |name, text: &Option<String>| text.as_ref().map_or_else(String::new, |text| leaf(name, text));
        let Policy { start, expiry, permissions } = policy;
        let parts = [part("Start", start), part("Expiry", expiry), part("Permission", permissions)].concat();
        // Clients take an empty policy for one that says something.
        let policy = if parts.is_empty() { parts } else { format!("<AccessPolicy>{parts}</AccessPolicy>") };
        format!("<SignedIdentifier>{}{policy}</SignedIdentifier>", leaf("Id", id))
    };
    document("SignedIdentifiers", &policies.iter().map(one).collect::<String>())
}

#[async_trait]
impl StoredPolicies for Own {
    async fn policy(&self, table: &TableName, id: &str) -> RestResult<Option<Policy>> {
        let Some(kept) = self.read(Document::Acl(table)).await? else { return Ok(None) };
        let policies = read(&Element::parse(kept.as_bytes())?)?;
        Ok(policies.into_iter().find(|(known, _)| known == id).map(|(_, policy)| policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_kept_as_they_came() {
        let text = "<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy><Start>2024-01-01T00:00:00Z</Start>\
            <Permission>rau</Permission></AccessPolicy></SignedIdentifier><SignedIdentifier><Id>c</Id></SignedIdentifier>\
            </SignedIdentifiers>";
        let policies = read(&Element::parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(policies[0].0, "a&b");
        assert_eq!(policies[0].1.permissions.as_deref(), Some("rau"));
        assert_eq!(policies[1].1, Policy::default());
        assert_eq!(read(&Element::parse(written(&policies).as_bytes()).unwrap()), Ok(policies));
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for inner in [
            "<X/>",
            "<SignedIdentifier/>",
            "<SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rx</Permission></AccessPolicy></SignedIdentifier>",
            "<SignedIdentifier><Id>a</Id></SignedIdentifier><SignedIdentifier><Id>a</Id></SignedIdentifier>",
        ] {
            let text = format!("<SignedIdentifiers>{inner}</SignedIdentifiers>");
            assert_eq!(read(&Element::parse(text.as_bytes()).unwrap()), Err(Refusal::InvalidXml), "{inner}");
        }
    }
}
