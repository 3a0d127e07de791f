//! Values as SQL text: `quote_ident`, `quote_literal`, `quote_nullable`.

use arrow::array::ArrayRef;

use super::concat::Printed;
use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Element, Text};
use crate::quoting::quote_ident;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("quote_ident", &[Text], Text, |call| {
        let text = call.text(0)?;
        call.texts(|row, out| {
            out.push_str(&quote_ident(text.at(row)));
            Ok(())
        })
    }),
    Overload::new("quote_literal", &[Text], Text, literal),
    Overload::new("quote_literal", &[Element], Text, literal).stable(),
    Overload::new("quote_nullable", &[Text], Text, nullable).of_nulls(),
    Overload::new("quote_nullable", &[Element], Text, nullable).of_nulls().stable(),
];

/// The text as a literal that reads the same whatever `standard_conforming_strings` says.
pub(super) fn quote_literal(text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\"));
    if text.contains('\\') { format!("E{quoted}") } else { quoted }
}

fn literal(call: &Call) -> SqlResult<ArrayRef> {
    let value = Printed::of(&call.arguments[0], call.style());
    let mut text = String::new();
    call.texts(|row, out| {
        text.clear();
        value.write_as_text(row, &mut text);
        out.push_str(&quote_literal(&text));
        Ok(())
    })
}

fn nullable(call: &Call) -> SqlResult<ArrayRef> {
    let value = Printed::of(&call.arguments[0], call.style());
    let mut text = String::new();
    call.texts(|row, out| {
        text.clear();
        if value.write_as_text(row, &mut text) {
            out.push_str(&quote_literal(&text));
        } else {
            out.push_str("NULL");
        }
        Ok(())
    })
}
