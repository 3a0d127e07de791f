//! `SET j['a']['b'] = ..`: a jsonb with a value put at the end of a path, which is made as far as it is not there.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};

use super::change::{write_array, write_object};
use super::cursor::{Json, Kind};
use crate::allowance::Allowance;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{self, Bool, Jsonb, Text};
use crate::stack::deeper;

pub(super) const FUNCTIONS: &[Overload] =
    &[Overload::new("jsonb_item_set", &[Jsonb, Type::ArrayOf(&Text), Jsonb, Bool], Jsonb, set).of_nulls()];

/// The last argument says of a jsonb that is NULL whether it becomes an array.
fn set(call: &Call) -> SqlResult<ArrayRef> {
    let (values, paths, new) = (call.text(0)?, call.lists(1)?, call.text(2)?);
    let is_array = call.values::<BooleanArray>(3)?;
    let mut text = String::new();
    call.texts(|row, out| {
        let nothing = if is_array.get(row) == Some(true) { "[]" } else { "{}" };
        let steps = paths.at(row);
        let path = Path { steps: steps.as_string::<i32>(), new: new.get(row).unwrap_or("null") };
        text.clear();
        path.set(Json::new(values.get(row).unwrap_or(nothing)), 0, &mut text)?;
        out.push_str(&text);
        Ok(())
    })
}

/// A path, and what is put at its end.
struct Path<'p> {
    steps: &'p StringArray,
    new: &'p str,
}

impl Path<'_> {
    fn step(&self, level: usize) -> SqlResult<&str> {
        if self.steps.is_null(level) {
            let message = "jsonb subscript in assignment must not be null";
            return Err(SqlError::new(ErrorKind::NullValueNotAllowed, message));
        }
        Ok(self.steps.value(level))
    }

    /// Writes a value with what is behind its part of the path.
    fn set(&self, json: Json<'_>, level: usize, out: &mut String) -> SqlResult<()> {
        if level == self.steps.len() {
            out.push_str(self.new);
            return Ok(());
        }
        match json.kind() {
            Kind::Object => deeper(|| self.set_member(json, level, out)),
            Kind::Array => deeper(|| self.set_item(json, level, out)),
            _ => Err(SqlError::new(ErrorKind::InvalidParameterValue, "cannot replace existing key")
                .with_detail("The path assumes key is a composite object, but it is a scalar value.")),
        }
    }

    fn set_member(&self, json: Json<'_>, level: usize, out: &mut String) -> SqlResult<()> {
        let step = self.step(level)?;
        let mut members = Vec::new();
        let mut found = false;
        for (key, value) in json.members() {
            let key = key.content();
            if key != step {
                members.push((key, Cow::Borrowed(value.text())));
                continue;
            }
            found = true;
            let mut inner = String::new();
            self.set(value, level + 1, &mut inner)?;
            members.push((key, Cow::Owned(inner)));
        }
        if !found {
            members.push((Cow::Borrowed(step), Cow::Owned(self.made(level + 1)?)));
        }
        write_object(members, out);
        Ok(())
    }

    fn set_item(&self, json: Json<'_>, level: usize, out: &mut String) -> SqlResult<()> {
        let step = self.step(level)?;
        let number = step.trim().parse::<i32>().map_err(|_no_number| {
            let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
            SqlError::new(ErrorKind::InvalidTextRepresentation, message)
        })?;
        let mut items: Vec<Cow<'_, str>> = json.items().map(|item| Cow::Borrowed(item.text())).collect();
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let place = if number < 0 { count + i64::from(number) } else { i64::from(number) };
        let place = usize::try_from(place).map_err(|_before_the_first| {
            let message = format!("path element at position {} is out of range: {number}", level + 1);
            SqlError::new(ErrorKind::InvalidParameterValue, message)
        })?;
        match json.items().nth(place) {
            Some(item) => {
                let mut inner = String::new();
                self.set(item, level + 1, &mut inner)?;
                items[place] = Cow::Owned(inner);
            }
            None => {
                fill(&mut items, place)?;
                items.push(Cow::Owned(self.made(level + 1)?));
            }
        }
        write_array(&items, out);
        Ok(())
    }

    /// What is behind a part of the path that is not there: a number stands for an array.
    fn made(&self, level: usize) -> SqlResult<String> {
        let mut made = self.new.to_owned();
        for level in (level..self.steps.len()).rev() {
            let step = self.step(level)?;
            let mut around = String::new();
            match step.parse::<i32>() {
                Ok(place) => {
                    let mut items = Vec::new();
                    fill(&mut items, usize::try_from(place).unwrap_or(0))?;
                    items.push(Cow::Owned(made));
                    write_array(&items, &mut around);
                }
                Err(_) => write_object(vec![(Cow::Borrowed(step), Cow::Owned(made))], &mut around),
            }
            made = around;
        }
        Ok(made)
    }
}

/// Puts nulls behind the items until there are so many.
fn fill(items: &mut Vec<Cow<'_, str>>, count: usize) -> SqlResult<()> {
    Allowance::now().check(count.saturating_mul(size_of::<Cow<'_, str>>()))?;
    items.resize(count.max(items.len()), Cow::Borrowed("null"));
    Ok(())
}
