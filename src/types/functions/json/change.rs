//! jsonb with parts added, replaced or taken away: `jsonb_set`, `jsonb_set_lax`, `jsonb_insert`, `-`, `#-`, `||`, and
//! `SET j['a'] = ..`.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use arrow::datatypes::Int32Type;

use super::cursor::{Json, Kind};
use crate::allowance::Allowance;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bool, Int4, Jsonb, Text};
use crate::input::write_json_string;
use crate::stack::deeper;

const TEXTS: Type = Type::ArrayOf(&Text);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("jsonb_set", &[Jsonb, TEXTS, Jsonb], Jsonb, set),
    Overload::new("jsonb_set", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, set),
    Overload::new("jsonb_set_lax", &[Jsonb, TEXTS, Jsonb], Jsonb, set_lax).of_nulls(),
    Overload::new("jsonb_set_lax", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, set_lax).of_nulls(),
    Overload::new("jsonb_set_lax", &[Jsonb, TEXTS, Jsonb, Bool, Text], Jsonb, set_lax).of_nulls(),
    Overload::new("jsonb_insert", &[Jsonb, TEXTS, Jsonb], Jsonb, insert),
    Overload::new("jsonb_insert", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, insert),
    // SET j['a']['b'] = ..
    Overload::new("jsonb_item_set", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, assign).of_nulls(),
    // #-
    Overload::new("jsonb_delete_path", &[Jsonb, TEXTS], Jsonb, delete_path),
    // -
    Overload::new("jsonb_delete", &[Jsonb, Text], Jsonb, |call| {
        let keys = call.text(1)?;
        delete(call, |row, key| keys.at(row) == key)
    }),
    Overload::new("jsonb_delete", &[Jsonb, TEXTS], Jsonb, |call| {
        let lists = call.lists(1)?;
        delete(call, |row, key| lists.at(row).as_string::<i32>().iter().flatten().any(|other| other == key))
    }),
    Overload::new("jsonb_delete", &[Jsonb, Int4], Jsonb, delete_item),
    // ||
    Overload::new("jsonb_concat", &[Jsonb, Jsonb], Jsonb, concatenate),
];

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// What is done at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change<'a> {
    Replace(&'a str),
    /// Replaced, or added where it is missing.
    Set(&'a str),
    /// Replaced, or added with all of the path that is missing.
    Assign(&'a str),
    InsertBefore(&'a str),
    InsertAfter(&'a str),
    Delete,
}

impl<'a> Change<'a> {
    /// What is added where nothing is.
    fn added(self) -> Option<&'a str> {
        match self {
            Change::Set(new) | Change::InsertBefore(new) | Change::InsertAfter(new) => Some(new),
            Change::Replace(_) | Change::Assign(_) | Change::Delete => None,
        }
    }

    /// A step of a path.
    fn step(self, path: &StringArray, level: usize) -> SqlResult<&str> {
        if !path.is_null(level) {
            return Ok(path.value(level));
        }
        let message = match self {
            Change::Assign(_) => "jsonb subscript in assignment must not be null".to_owned(),
            _ => format!("path element at position {} is null", level + 1),
        };
        Err(SqlError::new(ErrorKind::NullValueNotAllowed, message))
    }
}

fn set(call: &Call) -> SqlResult<ArrayRef> {
    let (new, create) = (call.text(2)?, call.maybe_values::<BooleanArray>(3)?);
    changed(call, "cannot set path in scalar", |row| {
        let new = new.at(row);
        if create.is_none_or(|create| create.at(row)) { Change::Set(new) } else { Change::Replace(new) }
    })
}

fn insert(call: &Call) -> SqlResult<ArrayRef> {
    let (new, after) = (call.text(2)?, call.maybe_values::<BooleanArray>(3)?);
    changed(call, "cannot set path in scalar", |row| {
        let new = new.at(row);
        if after.is_some_and(|after| after.at(row)) { Change::InsertAfter(new) } else { Change::InsertBefore(new) }
    })
}

/// The last argument says of a jsonb that is NULL whether it becomes an array.
fn assign(call: &Call) -> SqlResult<ArrayRef> {
    let (values, paths, new) = (call.text(0)?, call.lists(1)?, call.text(2)?);
    let is_array = call.values::<BooleanArray>(3)?;
    let mut text = String::new();
    call.texts(|row, out| {
        let nothing = if is_array.get(row) == Some(true) { "[]" } else { "{}" };
        let json = Json::new(values.get(row).unwrap_or(nothing));
        let change = Change::Assign(new.get(row).unwrap_or("null"));
        text.clear();
        change_at(json, paths.at(row).as_string::<i32>(), 0, change, &mut text)?;
        out.push_str(&text);
        Ok(())
    })
}

fn delete_path(call: &Call) -> SqlResult<ArrayRef> {
    changed(call, "cannot delete path in scalar", |_| Change::Delete)
}

/// What is set where the new value is NULL, as the last argument says.
fn set_lax(call: &Call) -> SqlResult<ArrayRef> {
    let (values, paths, new) = (call.text(0)?, call.lists(1)?, call.text(2)?);
    let (create, treatment) = (call.maybe_values::<BooleanArray>(3)?, call.maybe_text(4)?);
    let mut text = String::new();
    call.maybe_texts(|row, out| {
        let creates = create.as_ref().map_or(Some(true), |create| create.get(row));
        let (Some(value), false, Some(creates)) = (values.get(row), paths.is_null(row), creates) else {
            return Ok(false);
        };
        let treatment = treatment.as_ref().map_or(Some("use_json_null"), |treatment| treatment.get(row));
        let change = match (new.get(row), treatment) {
            (Some(new), Some(_)) if creates => Change::Set(new),
            (Some(new), Some(_)) => Change::Replace(new),
            (None, Some("use_json_null")) if creates => Change::Set("null"),
            (None, Some("use_json_null")) => Change::Replace("null"),
            (None, Some("delete_key")) => Change::Delete,
            (None, Some("return_target")) => {
                out.push_str(value);
                return Ok(true);
            }
            (None, Some("raise_exception")) => {
                return Err(SqlError::new(ErrorKind::NullValueNotAllowed, "JSON value must not be null")
                    .with_detail("Exception was raised because null_value_treatment is \"raise_exception\".")
                    .with_hint(
                        "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
                    ));
            }
            _ => {
                return Err(invalid(
                    "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                     \"raise_exception\"",
                ));
            }
        };
        let of_scalar = if change == Change::Delete { "cannot delete path in scalar" } else { "cannot set path in scalar" };
        text.clear();
        change_value(value, paths.at(row).as_string::<i32>(), of_scalar, change, &mut text)?;
        out.push_str(&text);
        Ok(true)
    })
}

fn changed<'a>(call: &'a Call, of_scalar: &str, change: impl Fn(usize) -> Change<'a>) -> SqlResult<ArrayRef> {
    let (values, paths) = (call.text(0)?, call.lists(1)?);
    let mut text = String::new();
    call.texts(|row, out| {
        text.clear();
        change_value(values.at(row), paths.at(row).as_string::<i32>(), of_scalar, change(row), &mut text)?;
        out.push_str(&text);
        Ok(())
    })
}

/// Writes a whole value with the change made at the end of a path.
///
/// # Errors
/// 22023 for a scalar, with this message, and where there is nothing that can be changed so.
fn change_value(
    value: &str,
    path: &StringArray,
    of_scalar: &str,
    change: Change<'_>,
    out: &mut String,
) -> SqlResult<()> {
    let json = Json::new(value);
    if json.is_scalar() {
        return Err(invalid(of_scalar));
    }
    // Of nothing, nothing is deleted, whatever the path is.
    let is_nothing = || change == Change::Delete && json.kind() == Kind::Array && json.items().next().is_none();
    if path.is_empty() || is_nothing() {
        out.push_str(json.text());
        return Ok(());
    }
    change_at(json, path, 0, change, out)
}

/// Writes a value with the change made at the end of a path.
fn change_at(json: Json<'_>, path: &StringArray, level: usize, change: Change<'_>, out: &mut String) -> SqlResult<()> {
    change.step(path, level)?;
    match (json.kind(), change) {
        (Kind::Object, _) => deeper(|| change_member(json, path, level, change, out)),
        (Kind::Array, _) => deeper(|| change_item(json, path, level, change, out)),
        (_, Change::Assign(_)) => Err(invalid("cannot replace existing key")
            .with_detail("The path assumes key is a composite object, but it is a scalar value.")),
        _ => {
            out.push_str(json.text());
            Ok(())
        }
    }
}

fn change_member(
    json: Json<'_>,
    path: &StringArray,
    level: usize,
    change: Change<'_>,
    out: &mut String,
) -> SqlResult<()> {
    let step = path.value(level);
    let is_last = level + 1 == path.len();
    let mut members = Vec::new();
    let mut found = false;
    for (key, value) in json.members() {
        let key = key.content();
        if key != step {
            members.push((key, Cow::Borrowed(value.text())));
            continue;
        }
        found = true;
        if !is_last {
            let mut inner = String::new();
            change_at(value, path, level + 1, change, &mut inner)?;
            members.push((key, Cow::Owned(inner)));
            continue;
        }
        match change {
            Change::Delete => {}
            Change::Replace(new) | Change::Set(new) | Change::Assign(new) => members.push((key, Cow::Borrowed(new))),
            Change::InsertBefore(_) | Change::InsertAfter(_) => {
                return Err(invalid("cannot replace existing key")
                    .with_hint("Try using the function jsonb_set to replace key value."));
            }
        }
    }
    match (change, change.added()) {
        _ if found => {}
        (Change::Assign(new), _) => members.push((Cow::Borrowed(step), made(path, level + 1, new)?)),
        (_, Some(new)) if is_last => members.push((Cow::Borrowed(step), Cow::Borrowed(new))),
        _ => {}
    }
    write_object(members, out);
    Ok(())
}

fn change_item(
    json: Json<'_>,
    path: &StringArray,
    level: usize,
    change: Change<'_>,
    out: &mut String,
) -> SqlResult<()> {
    let step = path.value(level);
    let number: i32 = step.trim().parse().map_err(|_| {
        let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
        SqlError::new(ErrorKind::InvalidTextRepresentation, message)
    })?;
    let is_last = level + 1 == path.len();
    let count = json.items().count();
    // Before the first item, if it is counted too far from the end.
    let place = if number < 0 {
        count.checked_sub(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX))
    } else {
        usize::try_from(number).ok()
    };
    if let (Change::Assign(_), None) = (change, place) {
        return Err(invalid(format!("path element at position {} is out of range: {number}", level + 1)));
    }
    let mut items: Vec<Cow<'_, str>> = Vec::with_capacity(count + 1);
    let mut added = if is_last { change.added() } else { None };
    if place.is_none()
        && let Some(new) = added.take()
    {
        items.push(Cow::Borrowed(new));
    }
    for (index, item) in json.items().enumerate() {
        if Some(index) != place {
            items.push(Cow::Borrowed(item.text()));
            continue;
        }
        added = None;
        if !is_last {
            let mut inner = String::new();
            change_at(item, path, level + 1, change, &mut inner)?;
            items.push(Cow::Owned(inner));
            continue;
        }
        match change {
            Change::Delete => {}
            Change::Replace(new) | Change::Set(new) | Change::Assign(new) => items.push(Cow::Borrowed(new)),
            Change::InsertBefore(new) => items.extend([Cow::Borrowed(new), Cow::Borrowed(item.text())]),
            Change::InsertAfter(new) => items.extend([Cow::Borrowed(item.text()), Cow::Borrowed(new)]),
        }
    }
    items.extend(added.map(Cow::Borrowed));
    if let (Change::Assign(new), Some(place)) = (change, place.filter(|place| *place >= count)) {
        fill(&mut items, place)?;
        items.push(made(path, level + 1, new)?);
    }
    write_array(&items, out);
    Ok(())
}

/// What is assigned at the end of a part of a path that is not there: a number stands for an array.
fn made<'a>(path: &StringArray, level: usize, new: &'a str) -> SqlResult<Cow<'a, str>> {
    let mut made = Cow::Borrowed(new);
    for level in (level..path.len()).rev() {
        let step = Change::Assign(new).step(path, level)?;
        let mut around = String::new();
        match step.parse::<i32>() {
            Ok(place) => {
                let mut items = Vec::new();
                fill(&mut items, usize::try_from(place).unwrap_or(0))?;
                items.push(made);
                write_array(&items, &mut around);
            }
            Err(_) => write_object(vec![(Cow::Borrowed(step), made)], &mut around),
        }
        made = Cow::Owned(around);
    }
    Ok(made)
}

/// Puts nulls behind the items until there are so many.
fn fill(items: &mut Vec<Cow<'_, str>>, count: usize) -> SqlResult<()> {
    Allowance::now().check(count.saturating_mul(size_of::<Cow<'_, str>>()))?;
    items.resize(count.max(items.len()), Cow::Borrowed("null"));
    Ok(())
}

/// An object in the order jsonb has: by length of the keys, then by their bytes.
fn write_object(mut members: Vec<(Cow<'_, str>, Cow<'_, str>)>, out: &mut String) {
    members.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    out.push('{');
    for (index, (key, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_json_string(out, key);
        out.push_str(": ");
        out.push_str(value);
    }
    out.push('}');
}

fn write_array(items: &[Cow<'_, str>], out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(item);
    }
    out.push(']');
}

/// Without the members of these keys, or the strings of an array.
fn delete(call: &Call, is_deleted: impl Fn(usize, &str) -> bool) -> SqlResult<ArrayRef> {
    let values = call.text(0)?;
    let mut text = String::new();
    call.texts(|row, out| {
        let json = Json::new(values.at(row));
        text.clear();
        match json.kind() {
            Kind::Object => {
                let members = json.members().map(|(key, value)| (key.content(), Cow::Borrowed(value.text())));
                write_object(members.filter(|(key, _)| !is_deleted(row, key)).collect(), &mut text);
            }
            Kind::Array => {
                let kept = json.items().filter(|item| item.kind() != Kind::String || !is_deleted(row, &item.content()));
                write_array(&kept.map(|item| Cow::Borrowed(item.text())).collect::<Vec<_>>(), &mut text);
            }
            _ => return Err(invalid("cannot delete from scalar")),
        }
        out.push_str(&text);
        Ok(())
    })
}

fn delete_item(call: &Call) -> SqlResult<ArrayRef> {
    let (values, places) = (call.text(0)?, call.primitive::<Int32Type>(1)?);
    let mut text = String::new();
    call.texts(|row, out| {
        let json = Json::new(values.at(row));
        match json.kind() {
            Kind::Array => {}
            Kind::Object => return Err(invalid("cannot delete from object using integer index")),
            _ => return Err(invalid("cannot delete from scalar")),
        }
        let deleted = json.item(places.at(row).into());
        let is_deleted = |item: &Json<'_>| deleted.is_some_and(|deleted| std::ptr::eq(deleted.text(), item.text()));
        let kept: Vec<Cow<'_, str>> =
            json.items().filter(|item| !is_deleted(item)).map(|item| Cow::Borrowed(item.text())).collect();
        text.clear();
        write_array(&kept, &mut text);
        out.push_str(&text);
        Ok(())
    })
}

/// Two objects become one, of whose equal keys the second counts; anything else becomes an array.
fn concatenate(call: &Call) -> SqlResult<ArrayRef> {
    let (first, second) = (call.text(0)?, call.text(1)?);
    let mut text = String::new();
    call.texts(|row, out| {
        let (first, second) = (Json::new(first.at(row)), Json::new(second.at(row)));
        text.clear();
        if first.kind() == Kind::Object && second.kind() == Kind::Object {
            let kept = first.members().map(|(key, value)| (key.content(), value));
            let mut members: Vec<_> = kept
                .filter(|(key, _)| second.member(key).is_none())
                .map(|(key, value)| (key, Cow::Borrowed(value.text())))
                .collect();
            members.extend(second.members().map(|(key, value)| (key.content(), Cow::Borrowed(value.text()))));
            write_object(members, &mut text);
        } else {
            let items: Vec<Cow<'_, str>> =
                [first, second].into_iter().flat_map(as_items).map(|item| Cow::Borrowed(item.text())).collect();
            write_array(&items, &mut text);
        }
        out.push_str(&text);
        Ok(())
    })
}

/// The items of an array, or the value alone.
fn as_items(json: Json<'_>) -> Vec<Json<'_>> {
    if json.kind() == Kind::Array { json.items().collect() } else { vec![json] }
}
