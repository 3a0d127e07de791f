//! Values of any SQL type as JSON.

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType, FieldRef};

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::{Argument, Call};
use crate::input::write_json_string;
use crate::output::TextColumn;
use crate::sql_type::SqlType;
use crate::style::Style;

/// A column whose values are written as JSON.
pub(super) struct JsonColumn<'a> {
    array: &'a ArrayRef,
    form: Form<'a>,
}

/// How the values of a column look.
enum Form<'a> {
    Json,
    Bool,
    /// Numbers as they print; what is not JSON number is a string.
    Number(TextColumn<'a>),
    Text(TextColumn<'a>),
    List(Box<JsonColumn<'a>>),
    /// The fields of rows, each under its name as JSON writes it.
    Record(Vec<(String, JsonColumn<'a>)>),
}

impl<'a> JsonColumn<'a> {
    pub(super) fn of(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Self {
        Self { array, form: form(array, sql_type, style) }
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row)
    }

    /// Whether PostgreSQL sets a line feed before a value of this column in an aggregate.
    pub(super) fn is_composite(&self) -> bool {
        matches!(self.form, Form::List(_) | Form::Record(_))
    }

    /// Whether a value of this column can be a key.
    pub(super) fn is_key(&self) -> bool {
        !matches!(self.form, Form::Json | Form::List(_) | Form::Record(_))
    }

    pub(super) fn write(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.form {
            Form::Json => out.push_str(self.array.as_string::<i32>().value(row)),
            Form::Bool => out.push_str(if self.array.as_boolean().value(row) { "true" } else { "false" }),
            Form::Number(column) => {
                let start = out.len();
                print(column, row, out);
                if !out[start..].starts_with(|c: char| c == '-' || c.is_ascii_digit()) || out[start..].contains('I') {
                    quote(start, out);
                }
            }
            Form::Text(column) => {
                let start = out.len();
                print(column, row, out);
                quote(start, out);
            }
            Form::List(items) => write_list(self.array, row, items, "", out),
            Form::Record(fields) => write_record(row, fields, "", out),
        }
    }

    /// As [`JsonColumn::write`], a list or row with a line for each of its own.
    pub(super) fn write_pretty(&self, row: usize, out: &mut String) {
        match &self.form {
            Form::List(items) if !self.is_null(row) => write_list(self.array, row, items, "\n ", out),
            Form::Record(fields) if !self.is_null(row) => write_record(row, fields, "\n ", out),
            _ => self.write(row, out),
        }
    }

    /// The value as the key of an object.
    ///
    /// # Errors
    /// 22023 for a value that is not plain.
    pub(super) fn write_key(&self, row: usize, out: &mut String) -> SqlResult<()> {
        if !self.is_key() {
            let message = "key value must be scalar, not array, composite, or json";
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        }
        let start = out.len();
        self.write(row, out);
        if !out[start..].starts_with('"') {
            quote(start, out);
        }
        Ok(())
    }
}

fn form<'a>(array: &'a ArrayRef, sql_type: &SqlType, style: Style) -> Form<'a> {
    let printed = || TextColumn::new(array, sql_type, &style.of_json());
    let list = |item: &SqlType| match array.as_list_opt::<i32>() {
        Some(list) => Form::List(Box::new(JsonColumn::of(list.values(), item, style))),
        None => Form::Text(printed()),
    };
    match sql_type {
        SqlType::Json | SqlType::Jsonb if array.data_type() == &DataType::Utf8 => Form::Json,
        SqlType::Bool => Form::Bool,
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Float4
        | SqlType::Float8
        | SqlType::Numeric(_)
        | SqlType::Quotient => Form::Number(printed()),
        SqlType::Array(item) => list(item),
        SqlType::Int2Vector => list(&SqlType::Int2),
        SqlType::OidVector => list(&SqlType::Oid),
        SqlType::Record(_) => match array.as_struct_opt() {
            Some(rows) => Form::Record(fields_of(rows, style)),
            None => Form::Text(printed()),
        },
        _ => Form::Text(printed()),
    }
}

fn print(column: &TextColumn<'_>, row: usize, out: &mut String) {
    // Writing to memory does not fail.
    let _ = column.write_to(row, out);
}

/// Makes a string of what was written from here on.
fn quote(start: usize, out: &mut String) {
    let text = out.split_off(start);
    write_json_string(out, &text);
}

fn write_list(array: &ArrayRef, row: usize, items: &JsonColumn<'_>, line: &str, out: &mut String) {
    let offsets = array.as_list::<i32>().value_offsets();
    let place = |index: usize| usize::try_from(offsets[index]).unwrap_or(0);
    out.push('[');
    for item in place(row)..place(row + 1) {
        if item > place(row) {
            out.push(',');
            out.push_str(line);
        }
        items.write(item, out);
    }
    out.push(']');
}

fn fields_of(rows: &StructArray, style: Style) -> Vec<(String, JsonColumn<'_>)> {
    let field = |(field, column): (&FieldRef, _)| {
        let mut name = String::new();
        write_json_string(&mut name, field.name());
        (name, JsonColumn::of(column, &SqlType::declared_in(field), style))
    };
    rows.fields().iter().zip(rows.columns()).map(field).collect()
}

fn write_record(row: usize, fields: &[(String, JsonColumn<'_>)], line: &str, out: &mut String) {
    out.push('{');
    for (index, (name, field)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
            out.push_str(line);
        }
        out.push_str(name);
        out.push(':');
        field.write(row, out);
    }
    out.push('}');
}

/// An argument, by row of the call.
pub(super) struct JsonArgument<'a> {
    pub column: JsonColumn<'a>,
    argument: &'a Argument,
}

impl<'a> JsonArgument<'a> {
    /// An argument of the call by its place.
    pub(super) fn of(call: &'a Call, index: usize) -> Self {
        let argument = &call.arguments[index];
        Self { column: JsonColumn::of(&argument.array, &argument.sql_type, call.style()), argument }
    }

    /// All arguments of the call.
    pub(super) fn all(call: &'a Call) -> Vec<Self> {
        (0..call.arguments.len()).map(|index| Self::of(call, index)).collect()
    }

    pub(super) fn index(&self, row: usize) -> usize {
        self.argument.index(row)
    }
}
