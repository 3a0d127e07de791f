//! The rules of the Table service's protocol, one by one as data: `rules/*.txt` hold requests and what is answered.
//!
//! Each file begins on an empty store. A block is a line that says what it shows, a request (method and path, headers, a
//! body in one line), then `->` with the status and, for refusals, the code, then what else holds of the answer:
//!
//! ```text
//! # An entity is inserted once.
//! POST /orders
//! Prefer: return-no-content
//! {"PartitionKey":"p","RowKey":"1"}
//! -> 204
//! ETag: *
//! Preference-Applied: return-no-content
//! body =
//! ```
//!
//! A header is compared whole; `*` says that it is there, `-` that it is not. `body ~ text` says what the body holds, `body =`
//! all of it. `$ETAG` is the ETag of the last answer that had one, `$BASE` the address of the account. Bodies that begin with
//! `--` are multipart: their lines are the following ones, to one that is `.`, and end in CRLF.

mod client;

use std::path::{Path, PathBuf};

use self::client::Asked;
use crate::support::tables::{Answer, Request};

struct Rule {
    line: usize,
    shows: String,
    request: Request,
    status: u16,
    code: Option<String>,
    holds: Vec<String>,
}

fn rules(text: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].is_empty() {
            at += 1;
            continue;
        }
        let (line, mut shows) = (at + 1, String::new());
        while let Some(comment) = lines[at].strip_prefix('#') {
            shows.push_str(comment);
            at += 1;
        }
        let (method, path) = lines[at].split_once(' ').unwrap_or_else(|| panic!("line {}: no request", at + 1));
        let mut request = Request::new(method, path);
        at += 1;
        while !lines[at].starts_with("->") {
            let text = lines[at];
            at += 1;
            if text.starts_with("--") {
                request.body = format!("{text}\r\n");
                while lines[at] != "." {
                    request.body.push_str(lines[at]);
                    request.body.push_str("\r\n");
                    at += 1;
                }
                at += 1;
            } else if text.starts_with(['{', '<', '[', '!']) {
                request.body = text.trim_start_matches('!').to_owned();
            } else {
                let (name, value) = text.split_once(": ").unwrap_or_else(|| panic!("line {at}: no header: {text}"));
                request.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        let mut words = lines[at].trim_start_matches("->").split_whitespace();
        let status =
            words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("line {}: no status", at + 1));
        let code = words.next().map(str::to_owned);
        at += 1;
        let mut holds = Vec::new();
        while at < lines.len() && !lines[at].is_empty() {
            holds.push(lines[at].to_owned());
            at += 1;
        }
        rules.push(Rule { line, shows, request, status, code, holds });
    }
    rules
}

impl Rule {
    /// What does not hold of the answer.
    fn wrong(&self, answer: &Answer, base: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        if answer.status != self.status {
            wrong.push(format!("status {} instead of {}", answer.status, self.status));
        }
        if let Some(code) = &self.code
            && answer.code().as_deref() != Some(code)
        {
            wrong.push(format!("code {:?} instead of {code}", answer.code()));
        }
        for expected in &self.holds {
            let expected = expected.replace("$BASE", base);
            let holds = if let Some(text) = expected.strip_prefix("body ~ ") {
                answer.body.contains(text)
            } else if let Some(text) = expected.strip_prefix("body !~ ") {
                !answer.body.contains(text)
            } else if let Some(text) = expected.strip_prefix("body =") {
                answer.body == text.trim_start()
            } else {
                let (name, value) = expected.split_once(": ").unwrap_or((&expected, ""));
                match (answer.header(name), value) {
                    (found, "*") => found.is_some(),
                    (found, "-") => found.is_none(),
                    (found, value) => found == Some(value),
                }
            };
            if !holds {
                wrong.push(format!("not so: {expected}"));
            }
        }
        wrong
    }
}

/// The rules of a file that somebody does not follow, with what is wrong.
async fn broken(file: &Path, asked: &Asked) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let (target, mut etag, mut broken) = (&asked.target, String::new(), Vec::new());
    let text = text.replace("devstoreaccount1", &target.account);
    for rule in rules(&text) {
        let answer = target.send(&rule.request.with("$ETAG", &etag)).await;
        if let Some(known) = answer.header("etag") {
            known.clone_into(&mut etag);
        }
        let wrong = rule.wrong(&answer, &target.base());
        if !wrong.is_empty() {
            let place = format!("{}:{}", file.display(), rule.line);
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let told = format!("{place}:{}\n  {}\n  {answer:?}", rule.shows, wrong.join("\n  "));
            broken.push((format!("{name}: {}", rule.shows.trim()), told));
        }
    }
    broken
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rest_rules/rules");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rule_holds() {
    let mut wrong = Vec::new();
    for file in files() {
        wrong.extend(broken(&file, &Asked::our_door().await).await.into_iter().map(|(_, told)| told));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `azurite.txt` lists the rules that Azurite does not follow: there the documentation of the service, and what was recorded of
/// it, is what ours follows. `BLESS=1` writes the list anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn azurite_differs_where_it_is_known_to() {
    let mut differs = String::new();
    for file in files() {
        for (rule, _) in broken(&file, &Asked::azurite()).await {
            differs.push_str(&rule);
            differs.push('\n');
        }
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rest_rules/azurite.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&list, &differs).expect("the list can be written");
    }
    let known = std::fs::read_to_string(&list).expect("the list is there");
    assert_eq!(differs, known);
}
