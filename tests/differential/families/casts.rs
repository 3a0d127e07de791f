//! Casts between every pair of types, and from texts that are values, nearly are, or are not.

use std::borrow::Cow;

use super::{Makes, Template};
use crate::differential::types::{ALL, NUMBERS, Ty};

/// Texts that only some types read.
const TEXTS: &[(&str, &[&str])] = &[
    ("boolean", &["t", "yes", "ON", "0", " true ", "tru", "maybe", ""]),
    ("smallint", &["12", " -7 ", "32768", "1.5", "", "abc", "+5", "0x1F"]),
    ("integer", &["2147483648", "-2147483648", "1e3", "1_000", " 42", "--1"]),
    ("bigint", &["9223372036854775808", "-9223372036854775808", "5.", "NaN"]),
    ("numeric", &["1e5", ".5", "5.", "-Infinity", "nan", "1e-20", "1,000", "+.5e1", "e5"]),
    ("numeric(5,2)", &["123.455", "999.995", "1000", "NaN", "-0.005"]),
    ("real", &["1e40", "1e-50", "inf", "-0", "16777217", "0.1"]),
    ("float8", &["1e309", "1e-400", "infinity", "-inf", "NaN", "0x10", "1e", " 7 "]),
    ("varchar(3)", &["abcd", "abc   ", "éàü€"]),
    ("char(4)", &["ab", "abcdef", ""]),
    (
        "date",
        &[
            "2014-08-22",
            "20140822",
            "08/22/2014",
            "22 Aug 2014",
            "Aug 22, 2014",
            "2014-02-30",
            "2014-13-01",
            "epoch?",
            "2014-234",
            "10000-01-01",
            "2014-08-22 10:00",
            "",
            "J2456892",
            "0001-01-01 BC",
            "infinity",
        ],
    ),
    (
        "timestamp",
        &[
            "2014-08-22T10:11:12",
            "2014-08-22 10:11:12.1234567",
            "2014-08-22 25:00",
            "2014-08-22 10:11 PM",
            "2014-08-22 10:11:60",
            "2014-08-22 24:00:00",
            "2014-08-22 10:11:12+02",
            "Fri Aug 22 10:11:12 2014",
            "epoch?",
        ],
    ),
    (
        "timestamptz",
        &[
            "2014-08-22 10:11:12+02",
            "2014-08-22 10:11:12 America/New_York",
            "2014-08-22 10:11:12 EST",
            "2014-08-22 10:11:12Z",
            "2014-08-22 10:11:12+25",
            "2014-08-22 10:11:12 Nowhere/Land",
        ],
    ),
    ("time", &["10:11", "101112", "10:11:12 PM", "24:00:01", "10:11:12.3456789", "25:00", "04:05 am"]),
    (
        "interval",
        &[
            "1 year 2 months",
            "1-2",
            "3 4:05:06",
            "1 fortnight",
            "2 weeks ago",
            "PT36H",
            "1.5 days",
            "1 decade",
            "-1:30",
            "1.5 mons",
            "@ 1 day",
            "1h 5m",
            "P0001-02-03T04:05:06",
        ],
    ),
    ("uuid", &["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "a0eebc99", ""]),
    ("bytea", &["\\xDEAD", "\\xABC", "a\\\\b", "\\001", "\\x zz"]),
    ("jsonb", &["{\"b\":1,\"a\":1.0}", "[1,]", "{\"a\":1,\"a\":2}", "tru", " [ ] ", "1e2"]),
    ("json", &["{\"b\":1,  \"a\":1.0}", "{a:1}", "\"\\u00e9\"", ""]),
    ("int[]", &["{1,2", "{{1,2},{3,4}}", "{ 1 , NULL }", "1,2", "{a}"]),
    ("text[]", &["{a,\"b,c\"}", "{ x y , null }", "{\"\"}", "{{a},{b}}"]),
];

pub(crate) fn templates() -> Vec<Template> {
    let mut templates = Vec::new();
    for to in ALL {
        for (i, from) in ALL.iter().enumerate() {
            // Most pairs have no cast, and are refused alike: some of them are enough.
            if is_cast(*from, *to) || (i + to.sql().len()) % 7 == 0 {
                let from = placeholder(*from);
                templates.push(template(*to, format!("CAST({{{from}}} AS {})", to.sql())));
            }
        }
        templates.push(template(*to, format!("({{t}})::{}", to.sql())));
        templates.push(template(Ty::Text, format!("({{{}}})::text", placeholder(*to))));
    }
    for (name, texts) in TEXTS {
        let to = ALL.iter().find(|ty| ty.sql() == *name).copied().unwrap_or(match *name {
            "numeric(5,2)" => Ty::Numeric,
            _ => Ty::Text,
        });
        templates.extend(texts.iter().map(|text| template(to, format!("'{text}'::{name}").replace('{', "{{"))));
    }
    for (to, text) in [
        (Ty::Numeric, "({n})::numeric(6,2)"),
        (Ty::Numeric, "({f8})::numeric(10,3)"),
        (Ty::Numeric, "({i8})::numeric(4,0)"),
        (Ty::Varchar, "({t})::varchar(3)"),
        (Ty::Text, "({t})::char(4)"),
        (Ty::Text, "({num})::varchar(5)"),
        (Ty::Timestamp, "({ts})::timestamp(0)"),
        (Ty::Timestamptz, "({tz})::timestamptz(3)"),
        (Ty::Time, "({tm})::time(1)"),
        (Ty::Interval, "({iv})::interval(0)"),
        (Ty::Int4, "(({t})::text)::int"),
        (Ty::Date, "date '2014-08-22'"),
        (Ty::Interval, "interval '1 day 2 hours'"),
        (Ty::Timestamp, "timestamp '2014-08-22 10:11:12'"),
        (Ty::Numeric, "numeric '1.50'"),
        (Ty::Int4, "int4({f8})"),
        (Ty::Text, "text({i4})"),
        (Ty::Float8, "float8({n})"),
    ] {
        templates.push(Template { makes: Makes::Type(to), text: Cow::Borrowed(text) });
    }
    templates
}

/// Whether PostgreSQL has the cast.
fn is_cast(from: Ty, to: Ty) -> bool {
    const TEXTS: &[Ty] = &[Ty::Text, Ty::Varchar];
    const MOMENTS: &[Ty] = &[Ty::Date, Ty::Timestamp, Ty::Timestamptz];
    let both = |class: &[Ty]| class.contains(&from) && class.contains(&to);
    both(NUMBERS)
        || both(MOMENTS)
        || both(&[Ty::Bool, Ty::Int4])
        || both(&[Ty::Time, Ty::Interval])
        || both(&[Ty::Json, Ty::Jsonb])
        || both(&[Ty::IntArray, Ty::TextArray])
        || TEXTS.contains(&from)
        || TEXTS.contains(&to)
        || from == to
        || (from == Ty::Jsonb && (to == Ty::Bool || NUMBERS.contains(&to)))
        || (to == Ty::Time && MOMENTS.contains(&from))
}

fn template(makes: Ty, text: String) -> Template {
    Template { makes: Makes::Type(makes), text: Cow::Owned(text) }
}

fn placeholder(ty: Ty) -> &'static str {
    const NAMES: &[&str] = &[
        "b", "i2", "i4", "i8", "n", "f4", "f8", "t", "vc", "d", "ts", "tz", "tm", "iv", "u", "by", "j", "jb", "ai",
        "at",
    ];
    NAMES.iter().find(|name| Ty::of_placeholder(name) == Some(ty)).expect("every type has a placeholder")
}
