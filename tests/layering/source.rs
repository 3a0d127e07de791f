//! Rust source reduced to what imports: no comments, no literals, no test code.
//!
//! Not a parser: it knows just enough of the language's lexical rules that a path in a comment or a string is never
//! taken for an import, and that an import is never lost.

use std::collections::BTreeSet;

/// Code whose paths can be looked at.
pub(super) struct Source {
    code: String,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        Self { code: without_tests(&without_comments_and_literals(text)) }
    }

    /// The modules right below the crate's root that are named: by `crate::`, `tablegate::`, or a climb of `super::`
    /// from a file at `path` (below `src/`).
    pub(super) fn crate_paths(&self, path: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for root in ["crate", "tablegate"] {
            for at in self.starts_of(root) {
                found.extend(heads(&self.code[at + root.len() + 2..]));
            }
        }
        let depth = module_depth(path);
        for at in self.starts_of("super") {
            let mut rest = &self.code[at..];
            let mut climbed = 0;
            while let Some(next) = rest.strip_prefix("super::") {
                climbed += 1;
                rest = next;
            }
            if climbed == depth {
                found.extend(heads(rest));
            }
        }
        found
    }

    /// Whether a method of one of these names is called.
    pub(super) fn calls(&self, methods: &[&str]) -> bool {
        methods.iter().any(|method| self.code.contains(&format!(".{method}()")))
    }

    /// The first segment of every path: crates, modules and types alike.
    pub(super) fn path_starts(&self) -> BTreeSet<&str> {
        let bytes = self.code.as_bytes();
        let separators = self.code.match_indices("::").map(|(at, _)| at);
        separators
            .filter_map(|end| {
                let length = bytes[..end].iter().rev().take_while(|b| is_word(**b)).count();
                let start = end - length;
                // `a::b::c`: b is no start. `::b::c` is: an absolute path names a crate.
                let is_inner = start >= 3 && &self.code[start - 2..start] == "::" && is_path_end(bytes[start - 3]);
                (length > 0 && !is_inner).then(|| &self.code[start..end])
            })
            .collect()
    }

    /// Where `word::` starts a path.
    fn starts_of<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.match_indices(word).map(|(at, _)| at).filter(move |at| {
            let before = self.code[..*at].bytes().next_back();
            !before.is_some_and(|b| is_word(b) || b == b':') && self.code[*at + word.len()..].starts_with("::")
        })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_path_end(byte: u8) -> bool {
    is_word(byte) || byte == b'>' || byte == b'}'
}

/// How many `super::` lead from the file's module to the crate's root.
fn module_depth(path: &str) -> usize {
    let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    match parts.last() {
        Some(&"mod") => parts.len() - 1,
        _ => parts.len(),
    }
}

/// The first segments after a path's root: one, or each of a `{...}` group.
fn heads(rest: &str) -> Vec<String> {
    let rest = rest.trim_start();
    let Some(group) = rest.strip_prefix('{') else {
        return vec![rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()];
    };
    let mut heads = vec![String::new()];
    let mut depth = 0;
    let mut in_head = true;
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                heads.push(String::new());
                in_head = true;
            }
            c if depth == 0 && in_head && (c.is_alphanumeric() || c == '_') => {
                heads.last_mut().expect("it starts with one").push(c);
            }
            c if c.is_whitespace() && heads.last().is_some_and(String::is_empty) => {}
            _ => in_head = false,
        }
    }
    heads
}

/// Comments and the content of literals become blanks.
fn without_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let skip = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string_literal(rest),
            'r' if !is_word_char(previous) || previous == 'b' => raw_string(rest),
            '\'' => char_literal(rest),
            _ => 0,
        };
        if skip > 0 {
            code.push(' ');
            rest = &rest[skip..];
            previous = ' ';
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            previous = c;
        }
    }
    code
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn string_literal(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `r"..."`, `r#"..."#`; 0 for a word or a raw identifier.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|b| *b == b'#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let start = hashes + 2;
    let end = format!("\"{}", "#".repeat(hashes));
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// `'x'` and `'\n'`; 0 for a lifetime.
fn char_literal(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |at| at + 4),
        Some((at, c)) if text[at + c.len_utf8()..].starts_with('\'') => at + c.len_utf8() + 1,
        _ => 0,
    }
}

/// Removes each item under `#[cfg(test)]`: up to its semicolon or its closing brace.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        rest = &rest[at + item_length(&rest[at..])..];
    }
    kept.push_str(rest);
    kept
}

fn item_length(item: &str) -> usize {
    let mut depth = 0;
    for (at, c) in item.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, path: &str) -> Vec<String> {
        Source::new(text).crate_paths(path).into_iter().collect()
    }

    #[test]
    fn imports_are_found_in_every_form() {
        assert_eq!(paths("use crate::sql::x;", "pg/mod.rs"), ["sql"]);
        assert_eq!(paths("use crate::{model::{A, B}, table, sql::c};", "pg/mod.rs"), ["model", "sql", "table"]);
        assert_eq!(paths("let x = crate::backend::memory::f();", "pg/mod.rs"), ["backend"]);
        assert_eq!(paths("use super::super::pg::x;", "sql/engine.rs"), ["pg"]);
        assert_eq!(paths("use super::pg::x;", "sql/mod.rs"), ["pg"]);
        assert_eq!(paths("use super::pg::x;", "sql/engine.rs"), [""; 0]);
    }

    #[test]
    fn comments_strings_and_tests_do_not_import() {
        let text = r##"
            // crate::a::x
            /* crate::b::x /* crate::c::x */ crate::d::x */
            let s = "crate::e::x \" crate::f::x"; let r = r#"crate::g::x " crate::h::x"#;
            let c = '"'; let l: &'static str = crate::z::x;
            #[cfg(test)]
            mod tests { use crate::i::x; fn f() { crate::j::x(); } }
            #[cfg(test)]
            use crate::k::x;
        "##;
        assert_eq!(paths(text, "pg/mod.rs"), ["z"]);
    }

    #[test]
    fn crates_are_found_at_the_start_of_paths_only() {
        let source = Source::new("use datafusion::sql::x; ::fjall::open(); super::tokio::x(); Vec::<u8>::new();");
        let starts = source.path_starts();
        assert!(starts.contains("datafusion") && starts.contains("fjall") && starts.contains("Vec"));
        assert!(!starts.contains("sql") && !starts.contains("tokio"));
    }
}
