//! Facts of PostgreSQL 15: what expressions are, what is wrong with them, and how they are printed.
//!
//! Each file in `facts/` has two lines per expression: what was asked, and the answer. `C` is a condition, asked as
//! `CHECK ((..) IS NOT NULL)`; `S` a member of a SELECT list and `P` one with parameters; `D` a DEFAULT. An answer begins
//! with `=` and has the type and the texts in full and pretty (of `P` the types of the parameters), or with `!` and has
//! SQLSTATE, position, message, DETAIL and HINT.

use sqlparser::ast::{BinaryOperator, Expr};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use tablegate_types::error::ErrorKind;

use crate::facts::{compare, compare_file, told, written};
use crate::*;

fn parse(text: &str) -> Option<Expr> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().ok()?;
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
    let expr = parser.parse_expr().ok()?;
    matches!(parser.peek_token().token, Token::EOF).then_some(expr)
}

/// The table that the expressions of the facts are over.
fn things() -> Vec<Entry> {
    let lookup = Lookup::new(&BuiltInOnly);
    let columns = [
        "a integer",
        "b smallint",
        "c bigint",
        "n numeric(10,2)",
        "t text",
        "v varchar(10)",
        "ch char(3)",
        "d date",
        "ts timestamp",
        "tz timestamptz",
        "f float8",
        "r float4",
        "bo bool",
        "u uuid",
        "j jsonb",
        "ar int[]",
        "ta text[]",
        "i interval",
        "by bytea",
        "nm name",
        "tm time",
        "jj json",
        "ir int4range",
        "vb varbit",
        "o oid",
        "ca \"char\"",
        "na numeric[]",
        "da date[]",
        "va varchar(5)[]",
        "pt point",
        "ip inet",
        "mo money",
        "nn numeric",
        "ts3 timestamp(3)",
        "i2 int2[]",
    ];
    let binder = Binder::new(lookup, Scope::default(), Usage::Check);
    let column = |declared: &&str| {
        let (name, type_name) = declared.split_once(' ').unwrap();
        let Some(Expr::Cast { data_type, .. }) = parse(&format!("x::{type_name}")) else { panic!("{declared}") };
        let (oid, typmod) = binder.type_of(&data_type).unwrap();
        ScopeColumn { name: name.to_owned(), ty: lookup.of_type(oid, typmod), is_hidden: false }
    };
    let columns = columns.iter().map(column).collect();
    vec![Entry { name: "things".to_owned(), schema: None, columns, row_type: 0, table: None }]
}

/// Messages whose DETAIL is said in other words.
const SAID_OTHERWISE: &[&str] = &["invalid input syntax for type json", "malformed array literal"];

fn printed(lookup: Lookup<'_>, scope: &Scope<'_>, expr: &BoundExpr, shows_casts: bool) -> [String; 2] {
    let print = |pretty| Printing { lookup, names: scope, pretty, shows_casts }.text(expr);
    [false, true].map(|pretty| written(&print(pretty)))
}

/// What is said of an expression; `None` of what the parser does not read.
fn answer(entries: &[Entry], asked: &str) -> Option<String> {
    let (kind, asked) = asked.split_once('\t').unwrap();
    let lookup = Lookup::new(&BuiltInOnly);
    let scope = Scope { entries, outer: None, namespace: None };
    match kind {
        "C" => {
            let text = format!("({asked}) IS NOT NULL");
            let syntax = parse(&text)?;
            let source = Source::new(&text);
            let bound = Binder::new(lookup, scope, Usage::Check).with_source(&source).bind(&syntax);
            Some(match bound {
                Err(error) => told(&error, 1, SAID_OTHERWISE),
                Ok(bound) => {
                    let ExprKind::Test { value, .. } = &bound.kind else { panic!("{asked}") };
                    let oid = if value.ty.oid == 705 { 25 } else { value.ty.oid };
                    let [full, pretty] = printed(lookup, &scope, &bound, false);
                    format!("=\t{}\t{full}\t{pretty}", lookup.type_with_modifier(oid, value.ty.typmod))
                }
            })
        }
        "S" | "P" => {
            let syntax = parse(asked)?;
            let source = Source::new(asked);
            let mut binder = Binder::new(lookup, scope, Usage::SelectList)
                .with_source(&source)
                .with_parameters(Parameters::variable(Vec::new()));
            let bound = binder.bind(&syntax).and_then(|bound| match bound.ty.oid {
                705 => binder.typing.coerce_to(bound, 25, "SELECT"),
                _ => Ok(bound),
            });
            let found = bound.and_then(|bound| Ok((bound, binder.typing.parameters.found()?.to_vec())));
            Some(match found {
                Err(error) => told(&error, 0, SAID_OTHERWISE),
                Ok((bound, parameters)) => {
                    let types: Vec<String> = parameters.iter().map(|oid| lookup.type_with_modifier(*oid, -1)).collect();
                    let of = lookup.type_with_modifier(bound.ty.oid, bound.ty.typmod);
                    format!("=\t{of}\t{}", types.join("\t"))
                }
            })
        }
        "D" => {
            let (type_name, asked) = asked.split_once('\t')?;
            let syntax = parse(asked)?;
            let source = Source::new(asked);
            let mut binder = Binder::new(lookup, Scope::default(), Usage::Default).with_source(&source);
            let Some(Expr::Cast { data_type, .. }) = parse(&format!("x::{type_name}")) else { panic!("{type_name}") };
            let declared = binder.type_of(&data_type).unwrap();
            let bound = binder.bind_default(&syntax, "c", declared);
            Some(match bound {
                Err(error) => told(&error, 0, SAID_OTHERWISE),
                Ok(bound) => {
                    let [full, pretty] = printed(lookup, &scope, &bound, false);
                    format!("=\t{full}\t{pretty}")
                }
            })
        }
        other => panic!("{other}"),
    }
}

fn compare_all(facts: &str, most_unread: usize) {
    let entries = things();
    compare(facts, most_unread, |asked| answer(&entries, asked));
}

/// Forms that the parser of this crate's dependency does not read, and the server respells before it.
const UNREAD: usize = 4;

#[test]
fn written_expressions_are_what_postgresql_says() {
    compare_all(include_str!("facts/written.txt"), UNREAD);
}

#[test]
fn generated_expressions_are_what_postgresql_says() {
    compare_all(include_str!("facts/generated.txt"), 0);
}

#[test]
fn facts_of_a_file() {
    let entries = things();
    compare_file("FACTS", |asked| answer(&entries, asked));
}

/// Rows of operands joined from the left are made without the parser, which goes down into them.
fn chain(symbol: BinaryOperator, operand: &str, count: usize) -> Expr {
    let one = parse(operand).unwrap();
    (1..count).fold(one.clone(), |left, _| Expr::BinaryOp {
        left: Box::new(left),
        op: symbol.clone(),
        right: Box::new(one.clone()),
    })
}

#[test]
fn long_rows_are_bound_without_depth() {
    let entries = things();
    let scope = Scope { entries: &entries, outer: None, namespace: None };
    let lookup = Lookup::new(&BuiltInOnly);
    for (symbol, operand) in [
        (BinaryOperator::Plus, "a"),
        (BinaryOperator::StringConcat, "v"),
        (BinaryOperator::And, "bo"),
        (BinaryOperator::Or, "a > 1"),
    ] {
        let mut syntax = chain(symbol, operand, 100_000);
        let bound = Binder::new(lookup, scope, Usage::Check).bind(&syntax).unwrap();
        assert!(bound.names_columns());
        let text = Printing { lookup, names: &scope, pretty: true, shows_casts: false }.text(&bound);
        assert!(text.len() > 200_000, "{}", text.len());
        // The parser's tree would be dropped by calls of itself.
        while let Expr::BinaryOp { left, .. } = syntax {
            syntax = *left;
        }
    }
}

#[test]
fn long_lists_are_bound() {
    let list = |item: &dyn Fn(usize) -> String| (0..10_000).map(item).collect::<Vec<_>>().join(", ");
    let texts = [
        format!("a IN ({})", list(&|n| n.to_string())),
        format!("v IN ({})", list(&|n| format!("'{n}'"))),
        format!("a IN (b, {})", list(&|n| format!("c + {n}"))),
        format!("(a, b) IN ({})", list(&|n| format!("({n}, {n})"))),
        format!("ARRAY[{}] = ar", list(&|n| n.to_string())),
        format!("jj{} IS NULL", " -> 'a'".repeat(500)),
    ];
    let entries = things();
    let scope = Scope { entries: &entries, outer: None, namespace: None };
    let lookup = Lookup::new(&BuiltInOnly);
    for text in texts {
        let bound = Binder::new(lookup, scope, Usage::Check).bind(&parse(&text).unwrap()).unwrap();
        let printed = Printing { lookup, names: &scope, pretty: false, shows_casts: false }.text(&bound);
        assert!(printed.len() > text.len(), "{}", &text[..40]);
    }
}

#[test]
fn what_is_too_deep_is_refused() {
    let deep = |depth: usize| (0..depth).fold(parse("a").unwrap(), |inner, _| Expr::Nested(Box::new(inner)));
    let entries = things();
    let scope = Scope { entries: &entries, outer: None, namespace: None };
    let bind = |depth| Binder::new(Lookup::new(&BuiltInOnly), scope, Usage::Check).bind(&deep(depth)).map(|_| ());
    assert_eq!((bind(5_000).is_ok(), bind(11_000).unwrap_err().kind), (true, ErrorKind::TooComplex));
}

#[test]
fn names_in_several_tables_are_ambiguous() {
    let mut entries = things();
    entries.push(Entry { name: "others".to_owned(), ..entries[0].clone() });
    let scope = Scope { entries: &entries, outer: None, namespace: None };
    let bind = |text| Binder::new(Lookup::new(&BuiltInOnly), scope, Usage::Where).bind(&parse(text).unwrap());
    assert_eq!(bind("a > 1").unwrap_err().message, "column reference \"a\" is ambiguous");
    let inner = Scope { entries: &[], outer: Some(&scope), namespace: None };
    let mut binder = Binder::new(Lookup::new(&BuiltInOnly), inner, Usage::Where);
    let outside = binder.bind(&parse("others.a").unwrap()).unwrap();
    assert!(matches!(outside.kind, ExprKind::Column { level: 1, entry: 1, column: 0 }), "{outside:?}");
    assert!(bind("things.a > 1").is_ok());
}
