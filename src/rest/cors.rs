//! Rules for scripts of other sites (CORS): read, and looked up for requests of browsers.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderName, VARY,
};
use hyper::{HeaderMap, StatusCode};

use crate::answer::Answer;
use crate::error::{Refusal, RestResult};
use crate::head::Head;
use crate::xml::Element;

const RULES_MAX: usize = 5;
/// All rules together.
const BYTES_MAX: usize = 2048;
const METHODS: [&str; 8] = ["DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH"];

/// Which scripts may do what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CorsRule {
    origins: Vec<String>,
    methods: Vec<String>,
    max_age: u32,
    exposed: String,
    allowed_headers: Vec<String>,
}

/// Reads the rules out of their element.
///
/// # Errors
/// For what is none, and too much of it.
pub(crate) fn read(element: &Element) -> RestResult<Vec<CorsRule>> {
    let rules: Vec<CorsRule> = element.children.iter().map(rule).collect::<RestResult<_>>()?;
    let bytes: usize = element.children.iter().flat_map(|rule| &rule.children).map(|part| part.text.len()).sum();
    if rules.len() > RULES_MAX || bytes > BYTES_MAX { Err(Refusal::InvalidXml) } else { Ok(rules) }
}

fn rule(element: &Element) -> RestResult<CorsRule> {
    let list = |name| {
        let text = element.text_of(name).ok_or(Refusal::InvalidXml)?;
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        RestResult::Ok(parts.map(str::to_owned).collect::<Vec<_>>())
    };
    let (origins, methods) = (list("AllowedOrigins")?, list("AllowedMethods")?);
    let are_methods = methods.iter().all(|method| METHODS.contains(&method.as_str()));
    if element.name != "CorsRule" || origins.is_empty() || methods.is_empty() || !are_methods {
        return Err(Refusal::InvalidXml);
    }
    Ok(CorsRule {
        origins,
        methods,
        max_age: element.text_of("MaxAgeInSeconds").and_then(|text| text.parse().ok()).ok_or(Refusal::InvalidXml)?,
        exposed: list("ExposedHeaders")?.join(","),
        allowed_headers: list("AllowedHeaders")?,
    })
}

impl CorsRule {
    fn takes(&self, origin: &str, method: &str, headers: &[&str]) -> bool {
        let is_allowed = |header: &&str| {
            self.allowed_headers.iter().any(|allowed| match allowed.strip_suffix('*') {
                Some(prefix) => header.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
                None => allowed.eq_ignore_ascii_case(header),
            })
        };
        self.takes_origin(origin) && self.methods.iter().any(|known| known == method) && headers.iter().all(is_allowed)
    }

    fn takes_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == "*" || known == origin)
    }

    fn is_for_all(&self) -> bool {
        self.origins.iter().any(|origin| origin == "*")
    }
}

/// Answers a browser that asks before it sends a script's request.
///
/// # Errors
/// When no rule lets it, or something is not said.
pub(crate) fn preflight(rules: &[CorsRule], head: &Head) -> RestResult<Answer> {
    let (origin, method) = (head.header("origin"), head.header("access-control-request-method"));
    let (Some(origin), Some(method)) = (origin, method) else { return Err(Refusal::MissingHeader) };
    let asked = head.header("access-control-request-headers").unwrap_or_default();
    let headers: Vec<&str> = asked.split(',').map(str::trim).filter(|header| !header.is_empty()).collect();
    let rule = rules.iter().find(|rule| rule.takes(origin, method, &headers)).ok_or(Refusal::NoCorsRule)?;
    let answer = Answer::new(StatusCode::OK)
        .with(ACCESS_CONTROL_ALLOW_ORIGIN, origin)
        .with(ACCESS_CONTROL_ALLOW_METHODS, method)
        .with(ACCESS_CONTROL_MAX_AGE, &rule.max_age.to_string())
        .with(ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    Ok(if headers.is_empty() { answer } else { answer.with(ACCESS_CONTROL_ALLOW_HEADERS, asked) })
}

/// Tells the browser of a script that it may see the answer.
pub(crate) fn allow(headers: &mut HeaderMap, rules: &[CorsRule], origin: &str, method: &str) {
    let Some(rule) = rules.iter().find(|rule| rule.takes(origin, method, &[])) else {
        if !rules.is_empty() {
            set(headers, VARY, "Origin");
        }
        return;
    };
    if rule.is_for_all() {
        set(headers, ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    } else {
        set(headers, ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        set(headers, ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
        set(headers, VARY, "Origin");
    }
    if !rule.exposed.is_empty() {
        set(headers, ACCESS_CONTROL_EXPOSE_HEADERS, &rule.exposed);
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> RestResult<Vec<CorsRule>> {
        read(&Element::parse(format!("<Cors>{text}</Cors>").as_bytes()).unwrap())
    }

    fn one(origins: &str, methods: &str, headers: &str) -> String {
        format!(
            "<CorsRule><AllowedOrigins>{origins}</AllowedOrigins><AllowedMethods>{methods}</AllowedMethods>\
             <MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders>x-a</ExposedHeaders><AllowedHeaders>{headers}</AllowedHeaders></CorsRule>"
        )
    }

    #[test]
    fn the_first_rule_that_takes_a_request_counts() {
        let rules = rules(&[one("http://a", "GET", "x-ms-*,accept"), one("*", "PUT", "*")].concat()).unwrap();
        let taking =
            |origin, method, headers: &[&str]| rules.iter().position(|rule| rule.takes(origin, method, headers));
        assert_eq!(taking("http://a", "GET", &["X-MS-Date", "Accept"]), Some(0));
        assert_eq!(taking("http://a", "GET", &["y"]), None);
        assert_eq!(taking("http://b", "GET", &[]), None);
        assert_eq!(taking("http://b", "PUT", &["anything"]), Some(1));
    }

    #[test]
    fn there_are_five_rules_at_most() {
        assert!(rules(&one("*", "GET", "").repeat(5)).is_ok());
        for wrong in [
            one("*", "GET", "").repeat(6),
            one("", "GET", ""),
            one("*", "BREW", ""),
            one(&"x".repeat(2100), "GET", ""),
            "<X/>".into(),
        ] {
            assert_eq!(rules(&wrong), Err(Refusal::InvalidXml));
        }
    }
}
