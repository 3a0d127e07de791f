//! `||`; `concat` and `concat_ws`: values of any type as text, NULLs left out.

use arrow::array::ArrayRef;

use crate::error::SqlResult;
use crate::functions::call::{Argument, Call};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Any, Bytea, Text};
use crate::functions::text_writer::TextWriter;
use crate::output::TextColumn;
use crate::sql_type::SqlType;
use crate::style::Style;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("concat", &[Any], Text, concat).variadic().of_nulls().stable(),
    // The functions of the operator ||.
    Overload::new("textcat", &[Text, Text], Text, |call| {
        let (left, right) = (call.text(0)?, call.text(1)?);
        call.texts(|row, out| {
            out.push_str(left.at(row));
            out.push_str(right.at(row));
            Ok(())
        })
    }),
    Overload::new("byteacat", &[Bytea, Bytea], Bytea, |call| {
        let (left, right) = (call.bytes(0)?, call.bytes(1)?);
        call.byte_strings(|row, out| {
            out.extend_from_slice(left.at(row));
            out.extend_from_slice(right.at(row));
            Ok(())
        })
    }),
    Overload::new("concat_ws", &[Text, Any], Text, concat_with_separator).variadic().of_nulls().stable(),
];

/// An argument of any type, ready to be printed by row of the call.
pub(super) struct Printed<'a> {
    column: TextColumn<'a>,
    constant: bool,
    /// The values are filled up with blanks.
    padded: bool,
    /// They are `t` and `f`.
    of_truth: bool,
}

impl<'a> Printed<'a> {
    /// In the style of the session.
    pub(super) fn of(argument: &'a Argument, style: Style) -> Self {
        let padded = matches!(argument.sql_type, SqlType::Char(_));
        Self {
            column: TextColumn::new(&argument.array, &argument.sql_type, &style),
            constant: argument.constant,
            padded,
            of_truth: argument.sql_type == SqlType::Bool,
        }
    }

    /// Writes the value of a row; false for NULL.
    pub(super) fn write(&self, row: usize, out: &mut impl std::fmt::Write) -> bool {
        let row = if self.constant { 0 } else { row };
        if self.column.is_null(row) {
            return false;
        }
        // Writing to memory does not fail.
        let _ = self.column.write_to(row, out);
        true
    }

    /// The same as a cast to text gives it: one of a `char(n)` drops the blanks at its end, a truth value is a word.
    pub(super) fn write_as_text(&self, row: usize, out: &mut String) -> bool {
        let start = out.len();
        let is_there = self.write(row, out);
        if is_there && self.of_truth {
            out.push_str(if out[start..].starts_with('t') { "rue" } else { "alse" });
        }
        if self.padded {
            out.truncate(out.trim_end_matches(' ').len());
        }
        is_there
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.column.is_null(if self.constant { 0 } else { row })
    }
}

fn concat(call: &Call) -> SqlResult<ArrayRef> {
    let arguments: Vec<Printed<'_>> =
        call.arguments.iter().map(|argument| Printed::of(argument, call.style())).collect();
    call.texts(|row, out| {
        for argument in &arguments {
            argument.write(row, out);
        }
        Ok(())
    })
}

fn concat_with_separator(call: &Call) -> SqlResult<ArrayRef> {
    let separators = call.text(0)?;
    let arguments: Vec<Printed<'_>> =
        call.arguments.iter().skip(1).map(|argument| Printed::of(argument, call.style())).collect();
    call.maybe_texts(|row, out: &mut TextWriter| {
        let Some(separator) = separators.get(row) else { return Ok(false) };
        let mut first = true;
        for argument in arguments.iter().filter(|a| !a.is_null(row)) {
            if !std::mem::take(&mut first) {
                out.push_str(separator);
            }
            argument.write(row, out);
        }
        Ok(true)
    })
}
