//! The operators of jsonb that test: `@>`, `<@`, `?`, `?|`, `?&`.

use arrow::array::{ArrayRef, AsArray, StringArray};

use super::cursor::{Json, Kind};
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bool, Jsonb, Text};
use crate::stack::deeper;

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("jsonb_contains", &[Jsonb, Jsonb], Bool, |call| {
        let (outer, inner) = (call.text(0)?, call.text(1)?);
        call.booleans(|row| Ok(contains(Json::new(outer.at(row)), Json::new(inner.at(row)), true)))
    }),
    Overload::new("jsonb_contained", &[Jsonb, Jsonb], Bool, |call| {
        let (inner, outer) = (call.text(0)?, call.text(1)?);
        call.booleans(|row| Ok(contains(Json::new(outer.at(row)), Json::new(inner.at(row)), true)))
    }),
    Overload::new("jsonb_exists", &[Jsonb, Text], Bool, |call| {
        let (values, keys) = (call.text(0)?, call.text(1)?);
        call.booleans(|row| Ok(exists(Json::new(values.at(row)), keys.at(row))))
    }),
    Overload::new("jsonb_exists_any", &[Jsonb, TEXTS], Bool, |call| {
        keys(call, |json, keys| keys.iter().flatten().any(|key| exists(json, key)))
    }),
    Overload::new("jsonb_exists_all", &[Jsonb, TEXTS], Bool, |call| {
        keys(call, |json, keys| keys.iter().flatten().all(|key| exists(json, key)))
    }),
];

fn keys(call: &Call, holds: fn(Json<'_>, &StringArray) -> bool) -> SqlResult<ArrayRef> {
    let (values, lists) = (call.text(0)?, call.lists(1)?);
    call.booleans(|row| {
        let keys = lists.at(row);
        Ok(holds(Json::new(values.at(row)), keys.as_string::<i32>()))
    })
}

/// Whether a text is a key of an object, a string of an array, or the string itself.
fn exists(json: Json<'_>, key: &str) -> bool {
    let is_string = |item: Json<'_>| item.kind() == Kind::String && item.content() == key;
    match json.kind() {
        Kind::Object => json.members().any(|(name, _)| name.content() == key),
        Kind::Array => json.items().any(is_string),
        _ => is_string(json),
    }
}

/// Whether all of `inner` is found in `outer` at the same places; those of arrays do not count.
fn contains(outer: Json<'_>, inner: Json<'_>, is_top: bool) -> bool {
    deeper(|| contains_parts(outer, inner, is_top))
}

fn contains_parts(outer: Json<'_>, inner: Json<'_>, is_top: bool) -> bool {
    match (outer.kind(), inner.kind()) {
        (Kind::Object, Kind::Object) => inner.members().all(|(key, value)| {
            let found = outer.member(&key.content());
            found.is_some_and(|found| contains(found, value, false))
        }),
        (Kind::Array, Kind::Array) => inner.items().all(|item| outer.items().any(|other| contains(other, item, false))),
        // The one exception: an array contains a bare value.
        (Kind::Array, _) if is_top && inner.is_scalar() => outer.items().any(|other| is_equal(other, inner)),
        _ => is_equal(outer, inner),
    }
}

/// Whether two plain values are one.
fn is_equal(a: Json<'_>, b: Json<'_>) -> bool {
    if a.kind() != b.kind() || !a.is_scalar() {
        return false;
    }
    if a.kind() == Kind::Number { significant(a.text()) == significant(b.text()) } else { a.content() == b.content() }
}

/// Without the zeros at the end: jsonb keeps them, but they do not count.
fn significant(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containment_is_postgresqls() {
        for (outer, inner, expected) in [
            ("{\"a\": 1, \"b\": {\"c\": 2}}", "{\"b\": {}}", true),
            ("[1, 2, [1, 3]]", "[1, 3]", false),
            ("[1, 2, [1, 3]]", "[[1, 3]]", true),
            ("[\"foo\", \"bar\"]", "\"bar\"", true),
            ("\"bar\"", "[\"bar\"]", false),
            ("[1, 2, 2]", "[2, 2, 1]", true),
            ("1.0", "1", true),
            ("[[1]]", "1", false),
        ] {
            assert_eq!(contains(Json::new(outer), Json::new(inner), true), expected, "{outer} {inner}");
        }
    }
}
