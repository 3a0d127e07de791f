//! Comparisons, three-valued logic, and the expressions that choose: CASE, COALESCE, NULLIF, GREATEST, LEAST.

use std::borrow::Cow;

use super::{Makes, Template};
use crate::differential::types::{COMPARABLE, Ty};

pub(crate) const TEMPLATES: &[(&str, &str)] = &[
    ("b", "({b} AND {b})"),
    ("b", "({b} OR {b})"),
    ("b", "(NOT {b})"),
    ("b", "(NOT {b} AND {b} OR {b})"),
    ("b", "({b} IS TRUE)"),
    ("b", "({b} IS NOT FALSE)"),
    ("b", "({b} IS UNKNOWN)"),
    ("b", "({any} IS NULL)"),
    ("b", "({any} IS NOT NULL)"),
    ("b", "({any} ISNULL)"),
    ("b", "({any} = {any})"),
    ("b", "({any} <> {any})"),
    ("b", "({any} < {any})"),
    ("b", "({any} >= {any})"),
    ("b", "({any} != {any} OR {b})"),
    ("b", "({any} IS DISTINCT FROM {any})"),
    ("b", "({any} IS NOT DISTINCT FROM {any})"),
    ("b", "({any} IS DISTINCT FROM {any} AND {b})"),
    ("b", "({any} IN ({any}, {any}, {any}))"),
    ("b", "({any} NOT IN ({any}, {any}))"),
    ("b", "({any} NOT IN ({any}, NULL))"),
    ("b", "({ord} BETWEEN {ord} AND {ord})"),
    ("b", "({ord} NOT BETWEEN {ord} AND {ord})"),
    ("b", "({ord} BETWEEN SYMMETRIC {ord} AND {ord})"),
    ("b", "(({i4}, {t}) < ({i4}, {t}))"),
    ("b", "(({i4}, {t}) = ({i4}, {t}))"),
    ("b", "(ROW({i4}, {n}) >= ROW({i8}, {i4}))"),
    ("b", "(({i4}, {t}) IN (({i4}, {t}), ({i4}, {t})))"),
    ("b", "({num} IN (1, 2.5, 3))"),
    ("b", "({t} = ANY (ARRAY[{t}, {t}]))"),
    ("b", "({i4} <> ALL (ARRAY[{i4}, {i4}, NULL]))"),
    ("b", "({ord} > SOME (ARRAY[{ord}, {ord}]))"),
    ("any", "CASE WHEN {b} THEN {any} ELSE {any} END"),
    ("any", "CASE WHEN {b} THEN {any} WHEN {b} THEN {any} END"),
    ("any", "CASE {i4} WHEN {i4} THEN {any} WHEN {i8} THEN {any} ELSE NULL END"),
    ("any", "CASE {t} WHEN 'abc' THEN {any} ELSE {any} END"),
    ("n", "CASE WHEN {b} THEN {i4} ELSE {n} END"),
    ("f8", "CASE WHEN {b} THEN {i4} ELSE {f8} END"),
    ("i8", "CASE WHEN {b} THEN {i8} ELSE {i2} END"),
    ("t", "CASE WHEN {b} THEN 'yes' ELSE 'no' END"),
    ("any", "coalesce({any}, {any})"),
    ("any", "coalesce(NULL, {any}, {any})"),
    ("n", "coalesce({n}, {i4})"),
    ("f8", "coalesce({i8}, {f8})"),
    ("t", "coalesce({t}, 'none')"),
    ("any", "nullif({any}, {any})"),
    ("i4", "nullif({i4}, {i8})"),
    ("ord", "greatest({ord}, {ord})"),
    ("ord", "least({ord}, NULL, {ord})"),
    ("n", "greatest({i4}, {n})"),
    ("i4", "num_nulls({any}, {i4}, {t})"),
    ("i4", "num_nonnulls({any}, NULL, {t})"),
    ("t", "pg_typeof({any})::text"),
    ("t", "pg_typeof({num} + 1)::text"),
    ("b", "(NOT {any} = {any})"),
    ("b", "({num} = '1')"),
    ("b", "({d} < '2014-08-22')"),
    ("b", "({b} = 't')"),
    ("b", "({num} IS DISTINCT FROM NULL)"),
    ("b", "(({i4}, {t}) IS NULL)"),
    ("b", "(({i4}, {t}) IS NOT NULL)"),
];

/// Pairs of different types that PostgreSQL compares, or refuses to.
pub(crate) fn comparisons() -> Vec<Template> {
    let mut templates = Vec::new();
    let mixed = [
        ("i2", "i8"),
        ("i4", "n"),
        ("i4", "f8"),
        ("i8", "f4"),
        ("n", "f8"),
        ("f4", "f8"),
        ("t", "vc"),
        ("d", "ts"),
        ("d", "tz"),
        ("ts", "tz"),
        ("tm", "iv"),
        ("i4", "t"),
        ("b", "i4"),
        ("d", "t"),
        ("u", "t"),
    ];
    for (left, right) in mixed {
        for operator in ["=", "<", ">=", "<>", "IS DISTINCT FROM"] {
            let text = Cow::Owned(format!("({{{left}}} {operator} {{{right}}})"));
            templates.push(Template { makes: Makes::Type(Ty::Bool), text });
        }
    }
    for ty in COMPARABLE {
        let value = ty.values()[0].replace('{', "{{");
        let text = Cow::Owned(format!("({{any}} = '{value}'::{})", ty.sql()));
        // Mostly of different types: PostgreSQL finds an operator for some of them only.
        templates.push(Template { makes: Makes::Type(Ty::Bool), text });
    }
    templates
}
