//! Get and Set Service Properties, Get Service Stats: how the service is set, and whether its second place is there.

use hyper::StatusCode;
use tablegate_store::model::EdmDateTime;

use crate::answer::{Answer, http_date};
use crate::cors::{self, CorsRule};
use crate::error::{Refusal, RestResult};
use crate::own::{Document, Own};
use crate::xml::{Element, document, leaf};

/// The parts of the document, with what they are until somebody sets them. Nothing is logged or measured by them here:
/// they are kept for the clients that set and read them.
const LOGGING: &str = "<Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>\
    <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>";
const METRICS: &str =
    "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";

pub(crate) async fn get(own: &Own) -> RestResult<Answer> {
    let kept = kept(own).await?;
    Ok(Answer::xml(StatusCode::OK, written(&kept)))
}

/// Sets the parts that the body names; the others stay.
pub(crate) async fn set(own: &Own, body: &[u8]) -> RestResult<Answer> {
    let given = Element::parse(body)?;
    if given.name != "StorageServiceProperties" {
        return Err(Refusal::InvalidXml);
    }
    let _change = own.change().await;
    let mut now = kept(own).await?;
    for part in given.children {
        check(&part)?;
        now.children.retain(|known| known.name != part.name);
        now.children.push(part);
    }
    own.write(Document::Service, written(&now)).await?;
    Ok(Answer::new(StatusCode::ACCEPTED))
}

/// There is one place, so its copy is as new as itself.
pub(crate) fn stats(now: EdmDateTime) -> Answer {
    let copy = [leaf("Status", "live"), leaf("LastSyncTime", &http_date(now))].concat();
    let text = document("StorageServiceStats", &format!("<GeoReplication>{copy}</GeoReplication>"));
    Answer::xml(StatusCode::OK, text)
}

/// The rules for scripts of other sites.
pub(crate) async fn cors_rules(own: &Own) -> RestResult<Vec<CorsRule>> {
    let Some(text) = own.read(Document::Service).await? else { return Ok(Vec::new()) };
    let document = Element::parse(text.as_bytes())?;
    document.child("Cors").map_or_else(|| Ok(Vec::new()), cors::read)
}

async fn kept(own: &Own) -> RestResult<Element> {
    match own.read(Document::Service).await? {
        Some(text) => Element::parse(text.as_bytes()),
        None => {
            let parts = [
                LOGGING.to_owned(),
                format!("<HourMetrics>{METRICS}</HourMetrics>"),
                format!("<MinuteMetrics>{METRICS}</MinuteMetrics>"),
                "<Cors/>".to_owned(),
            ];
            Element::parse(document("StorageServiceProperties", &parts.concat()).as_bytes())
        }
    }
}

fn check(part: &Element) -> RestResult<()> {
    let is_boolean = |element: &Element, name: &str| matches!(element.text_of(name), Some("true" | "false"));
    let is_retention = |element: &Element| {
        element.child("RetentionPolicy").is_some_and(|retention| {
            let days =
                retention.text_of("Days").map(|days| days.parse::<u32>().ok().filter(|days| (1..=365).contains(days)));
            match retention.text_of("Enabled") {
                Some("true") => matches!(days, Some(Some(_))),
                Some("false") => days.is_none_or(|days| days.is_some()),
                _ => false,
            }
        })
    };
    let is_right = match part.name.as_str() {
        "Logging" => ["Delete", "Read", "Write"].iter().all(|name| is_boolean(part, name)) && is_retention(part),
        "HourMetrics" | "MinuteMetrics" => is_boolean(part, "Enabled") && is_retention(part),
        "Cors" => return cors::read(part).map(drop),
        "DefaultServiceVersion" => true,
        _ => false,
    };
    if is_right { Ok(()) } else { Err(Refusal::InvalidXml) }
}

/// In the order of the service, whatever order the parts came in.
fn written(properties: &Element) -> String {
    let order = ["Logging", "HourMetrics", "MinuteMetrics", "Cors", "DefaultServiceVersion"];
    let parts = order.iter().filter_map(|name| properties.child(name));
    document("StorageServiceProperties", &parts.map(element_text).collect::<String>())
}

fn element_text(element: &Element) -> String {
    if element.children.is_empty() {
        return leaf(&element.name, element.text.trim());
    }
    let inner: String = element.children.iter().map(element_text).collect();
    format!("<{0}>{inner}</{0}>", element.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> RestResult<()> {
        check(&Element::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn parts_are_checked() {
        assert_eq!(part(LOGGING), Ok(()));
        assert_eq!(part(&format!("<HourMetrics>{METRICS}</HourMetrics>")), Ok(()));
        let with_days = |days: &str| {
            let retention = format!("<RetentionPolicy><Enabled>true</Enabled>{days}</RetentionPolicy>");
            part(&format!("<MinuteMetrics><Enabled>true</Enabled>{retention}</MinuteMetrics>"))
        };
        assert_eq!(with_days("<Days>365</Days>"), Ok(()));
        for wrong in ["", "<Days>0</Days>", "<Days>366</Days>", "<Days>x</Days>"] {
            assert_eq!(with_days(wrong), Err(Refusal::InvalidXml), "{wrong}");
        }
        assert_eq!(part("<Foo/>"), Err(Refusal::InvalidXml));
    }
}
