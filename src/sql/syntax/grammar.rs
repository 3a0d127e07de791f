//! Whatever PostgreSQL 15's grammar takes is no syntax error here: it is read, or refused by name.
//!
//! `grammar/` has statements that PostgreSQL 15 reads, one a line, gathered along its grammar's rules.

use tablegate_types::built_in::KEYWORDS;
use tablegate_types::error::ErrorKind;

use super::parse;

/// Statements that are still syntax errors.
const NOT_READ: &[&str] = &[];

fn syntax_errors<'s>(statements: impl IntoIterator<Item = &'s str>) -> Vec<String> {
    let error = |sql: &str| parse(sql).err().filter(|error| error.kind == ErrorKind::Syntax);
    statements.into_iter().filter_map(|sql| error(sql).map(|error| format!("{sql}\n    {}", error.message))).collect()
}

#[test]
fn statements_of_the_grammar_are_no_syntax_errors() {
    let statements = include_str!("grammar/ddl.sql").lines().chain(include_str!("grammar/dml.sql").lines());
    let wrong = syntax_errors(statements.filter(|sql| !NOT_READ.contains(sql)));
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn words_are_names_where_postgresql_reads_them_so() {
    let words = || KEYWORDS.lines().filter_map(|line| line.split_once(' '));
    let mut wrong = Vec::new();
    for (word, code) in words() {
        let mut forms = vec![format!("SELECT 1 AS {word}"), format!("SELECT a AS {word} FROM t")];
        if !code.ends_with('-') {
            forms.extend([format!("SELECT a {word} FROM t"), format!("SELECT a {word}, b FROM t")]);
        }
        if !code.starts_with(['R', 'T']) {
            forms.extend([format!("SELECT a FROM t AS {word}"), format!("SELECT a FROM t {word} WHERE true")]);
            forms.push(format!("SELECT x.{word} FROM t x"));
        }
        wrong.extend(syntax_errors(forms.iter().map(String::as_str)));
    }
    // No words of PostgreSQL's, but of other dialects.
    for word in ["top", "sort", "minus", "pivot", "qualify", "sample", "settings", "format", "asof", "semi", "anti"] {
        let forms =
            [format!("SELECT a {word} FROM t {word}"), format!("SELECT {word}.a AS {word} FROM t AS {word}, u")];
        wrong.extend(syntax_errors(forms.iter().map(String::as_str)));
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_postgresql_refuses_is_refused() {
    for sql in [
        "SELECT a FROM t select",
        "SELECT a FROM t left",
        "CREATE TABLE t (a int primary)",
        "UPDATE t a = 1",
        "SELECT FROM t GROUP a",
        "DELETE t",
    ] {
        assert_eq!(parse(sql).err().map(|error| error.kind), Some(ErrorKind::Syntax), "{sql}");
    }
}
