//! A request before its body: the account, what it is of, its query and headers, as all handlers read them.

use hyper::header::HOST;
use hyper::{HeaderMap, Method, Uri};
use tablegate_store::model::TableName;

use crate::address::{Resource, decode};
use crate::edm::Metadata;
use crate::error::{Refusal, RestResult};

/// The oldest version that knows JSON.
const OLDEST_VERSION: &str = "2013-08-15";
/// What a query can ask.
const OPTIONS: [&str; 4] = ["$filter", "$format", "$select", "$top"];
/// What an account's second place is called behind its name.
const SECONDARY: &str = "-secondary";

/// The parameters of a request, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// # Errors
    /// For what is not encoded as it should be.
    pub(crate) fn parse(text: &str) -> RestResult<Self> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let decoded = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name, true)?, decode(value, true)?))
        });
        decoded.collect::<RestResult<_>>().map(Self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// # Errors
    /// For what a query of another service could ask, and this one does not know: order, say; and for what is asked twice.
    pub(crate) fn check_options(&self) -> RestResult<()> {
        let options: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).filter(|n| n.starts_with('$')).collect();
        if options.iter().any(|name| !OPTIONS.contains(name)) {
            return Err(Refusal::NotImplemented);
        }
        let is_asked_twice = options.iter().enumerate().any(|(at, name)| options[..at].contains(name));
        if is_asked_twice { Err(Refusal::InvalidInput) } else { Ok(()) }
    }
}

/// A request, without its body.
#[derive(Debug)]
pub(crate) struct Head {
    pub method: Method,
    /// As it was sent.
    pub path: String,
    pub query: Query,
    pub headers: HeaderMap,
    /// The account that it is sent to.
    pub account: String,
    /// Of its second place, which is only read.
    pub is_secondary: bool,
    /// What is behind the account in the path, decoded.
    pub below: String,
    /// A table stands where the account ends.
    pub is_below_a_table: bool,
    /// Scheme, host and account, without a slash at the end.
    pub base: String,
}

impl Head {
    /// Reads a request's head. `is_account` says whether an account has this name: a host is one of an account's
    /// own only where its first part is.
    ///
    /// # Errors
    /// For a path or a query that is not encoded as it should be.
    pub(crate) fn new(
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        is_encrypted: bool,
        is_account: impl Fn(&str) -> bool,
    ) -> RestResult<Self> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| uri.authority().map(|authority| authority.as_str())).unwrap_or_default();
        let path = uri.path();
        let mut signed_path = path.to_owned();
        let query = Query::parse(uri.query().unwrap_or_default())?;
        let scheme = if is_encrypted { "https" } else { "http" };
        let first_label = host.split(['.', ':']).next().unwrap_or_default();
        // An IP address is looked up nowhere.
        let is_name = host.contains('.') && !first_label.bytes().all(|byte| byte.is_ascii_digit());
        let is_of_account = is_name && is_account(without_secondary(first_label).0);
        let (named, below, base) = if is_of_account {
            (first_label, path.trim_start_matches('/'), format!("{scheme}://{host}"))
        } else {
            let (account, below) =
                path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
            (account, below, format!("{scheme}://{host}/{account}"))
        };
        let (account, is_secondary) = without_secondary(named);
        let account = account.to_owned();
        let mut below = below;
        // The Python SDK names the account again behind its second place, and signs the path that is without that place.
        if is_secondary && let Some(again) = below.strip_prefix(&account).and_then(|rest| rest.strip_prefix('/')) {
            below = again;
            signed_path = path.replacen(&format!("/{named}"), "", 1);
        }
        let below = below.strip_suffix('/').unwrap_or(below);
        let is_below_a_table = is_below_a_table(below);
        let below = decode(below, false)?;
        let path = signed_path;
        Ok(Self { method, path, query, headers, account, is_secondary, below, is_below_a_table, base })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What it is of.
    ///
    /// # Errors
    /// As [`Resource::parse`].
    pub(crate) fn resource(&self) -> RestResult<Resource> {
        match self.below.split_once('/').filter(|_| self.is_below_a_table) {
            None => Resource::parse(&self.below),
            Some((table, rest)) => {
                let table = TableName::parse(table).map_err(|_| Refusal::TableMissing)?;
                Ok(Resource::BelowTable { table, rest: rest.to_owned() })
            }
        }
    }

    /// What is to be done: a method, which a header can name behind POST.
    ///
    /// # Errors
    /// For a header that does so wrongly.
    pub(crate) fn verb(&self) -> RestResult<Verb> {
        Verb::of(&self.method, self.header("x-http-method"))
    }

    /// How much the answer is to say.
    ///
    /// # Errors
    /// For formats other than JSON.
    pub(crate) fn metadata(&self) -> RestResult<Metadata> {
        metadata(self.query.get("$format").or_else(|| self.header("accept")))
    }

    /// The version of the protocol, to be said again in the answer.
    ///
    /// # Errors
    /// When it is none, or one without JSON.
    pub(crate) fn version(&self) -> RestResult<Option<&str>> {
        let Some(version) = self.header("x-ms-version").or_else(|| self.query.get("api-version")) else {
            return Ok(None);
        };
        let shape = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
        let is_one = version.len() == 10 && version.bytes().enumerate().all(shape) && version >= OLDEST_VERSION;
        if is_one { Ok(Some(version)) } else { Err(Refusal::InvalidHeader) }
    }
}

/// Whether there is a slash in the place of a table's name: an address that has a table where an account ends. One that is encoded
/// is part of a name, which no table has.
fn is_below_a_table(below: &str) -> bool {
    let name = below.split('(').next().unwrap_or_default();
    name.split("%28").next().unwrap_or_default().contains('/')
}

fn without_secondary(name: &str) -> (&str, bool) {
    name.strip_suffix(SECONDARY).map_or((name, false), |name| (name, true))
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Merge,
    Delete,
    Options,
    Other,
}

impl Verb {
    /// # Errors
    /// For a header that names another method wrongly.
    pub(crate) fn of(method: &Method, header: Option<&str>) -> RestResult<Self> {
        let by_name = |name: &str| match name {
            "GET" => Verb::Get,
            "POST" => Verb::Post,
            "PUT" => Verb::Put,
            "MERGE" | "PATCH" => Verb::Merge,
            "DELETE" => Verb::Delete,
            "OPTIONS" => Verb::Options,
            _ => Verb::Other,
        };
        match header {
            None => Ok(by_name(method.as_str())),
            Some(_) if method != Method::POST => Err(Refusal::MethodNotOfPost),
            Some(named) => match by_name(&named.to_ascii_uppercase()) {
                verb @ (Verb::Put | Verb::Merge | Verb::Delete) => Ok(verb),
                _ => Err(Refusal::MethodUnknown),
            },
        }
    }
}

/// How much an answer is to say, by a header or parameter that lists formats.
///
/// # Errors
/// For formats other than JSON.
pub(crate) fn metadata(accept: Option<&str>) -> RestResult<Metadata> {
    let Some(accept) = accept else { return Ok(Metadata::Minimal) };
    let accept = accept.to_ascii_lowercase();
    for format in accept.split(',') {
        let mut parts = format.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        if !matches!(kind, "application/json" | "json" | "*/*" | "application/*") {
            continue;
        }
        let named = parts.find_map(|part| part.strip_prefix("odata=")).map(|named| named.trim_matches('"'));
        return match named {
            Some("nometadata") => Ok(Metadata::None),
            Some("minimalmetadata") | None => Ok(Metadata::Minimal),
            Some("fullmetadata") => Ok(Metadata::Full),
            Some(_) => Err(Refusal::MediaNotSupported),
        };
    }
    if accept.contains("xml") { Err(Refusal::AtomNotSupported) } else { Err(Refusal::MediaNotSupported) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(uri: &str, host: &str) -> Head {
        let headers = [(HOST, host.parse().unwrap())].into_iter().collect();
        Head::new(Method::GET, &uri.parse().unwrap(), headers, false, |name| name == "shop").unwrap()
    }

    #[test]
    fn an_account_stands_in_the_path_or_in_the_host() {
        let in_path = head("/shop/Orders(PartitionKey='a%20b',RowKey='')?x=1", "127.0.0.1:10002");
        assert_eq!((in_path.account.as_str(), in_path.base.as_str()), ("shop", "http://127.0.0.1:10002/shop"));
        assert_eq!(in_path.below, "Orders(PartitionKey='a b',RowKey='')");
        let in_host = head("/Orders", "shop.table.localhost:10002");
        assert_eq!((in_host.account.as_str(), in_host.below.as_str()), ("shop", "Orders"));
        assert_eq!(in_host.base, "http://shop.table.localhost:10002");
        let second = head("/shop-secondary?comp=stats", "localhost:1");
        assert_eq!((second.account.as_str(), second.is_secondary, second.below.as_str()), ("shop", true, ""));
        assert_eq!(second.query.get("comp"), Some("stats"));
        let below = Resource::BelowTable { table: TableName::parse("Orders").unwrap(), rest: "Tables".to_owned() };
        assert_eq!(head("/shop/Orders/Tables", "127.0.0.1:1").resource(), Ok(below));
        assert_eq!(head("/shop/no_table/Tables", "127.0.0.1:1").resource(), Err(Refusal::TableMissing));
        assert_eq!(head("/shop/Ord%2Fers", "127.0.0.1:1").resource(), Err(Refusal::InvalidResourceName));
    }

    #[test]
    fn formats_other_than_json_are_refused() {
        let cases = [
            (None, Ok(Metadata::Minimal)),
            (Some("application/json;odata=nometadata"), Ok(Metadata::None)),
            (Some("application/xml, application/json;odata=fullmetadata"), Ok(Metadata::Full)),
            (Some("application/atom+xml"), Err(Refusal::AtomNotSupported)),
            (Some("text/plain"), Err(Refusal::MediaNotSupported)),
            (Some("application/json;odata=verbose"), Err(Refusal::MediaNotSupported)),
        ];
        for (accept, expected) in cases {
            assert_eq!(metadata(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn a_header_names_the_method_behind_post_alone() {
        assert_eq!(Verb::of(&Method::POST, Some("MERGE")), Ok(Verb::Merge));
        assert_eq!(Verb::of(&Method::PUT, Some("MERGE")), Err(Refusal::MethodNotOfPost));
        assert_eq!(Verb::of(&Method::POST, Some("BREW")), Err(Refusal::MethodUnknown));
        assert_eq!(Verb::of(&Method::from_bytes(b"MERGE").unwrap(), None), Ok(Verb::Merge));
    }
}
