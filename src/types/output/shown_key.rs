//! The key of a row as errors tell it: in the style of the session that is told.

use std::sync::Arc;

use arrow::array::ArrayRef;
use bytes::BytesMut;

use super::{Style, TextColumn};
use crate::error::{Shown, SqlError};
use crate::quoting::quote_ident;
use crate::sql_type::SqlType;

/// The key of a row: its columns, each with its type and its value, which is the only one of the array.
#[derive(Debug)]
pub struct ShownKey(pub Vec<(String, SqlType, ArrayRef)>);

impl ShownKey {
    /// `Key (a, b)=(1, x)`.
    pub fn text(&self, style: &Style) -> String {
        let mut values = BytesMut::new();
        for (index, (_, sql_type, value)) in self.0.iter().enumerate() {
            if index > 0 {
                values.extend_from_slice(b", ");
            }
            TextColumn::new(value, sql_type, style).write(0, &mut values);
        }
        let names: Vec<String> = self.0.iter().map(|(name, ..)| quote_ident(name)).collect();
        format!("Key ({})=({})", names.join(", "), String::from_utf8_lossy(&values))
    }

    /// The error with the key in its DETAIL, for those who may read its table. `rest` ends the sentence that begins with it.
    #[must_use]
    pub fn shown_in(self, mut error: Box<SqlError>, rest: &str) -> Box<SqlError> {
        let sentence = format!("{}{rest}", self.text(&Style::PLAIN));
        error.detail = Some(sentence.clone());
        error.shown = Some(Box::new(Shown { sentence, columns: Vec::new(), key: Some(Arc::new(self)) }));
        error
    }

    /// An error with the key that it shows in this style.
    #[must_use]
    pub fn in_style(mut error: Box<SqlError>, style: &Style) -> Box<SqlError> {
        if let Some(shown) = &mut error.shown
            && let Some(key) = shown.key.as_ref().and_then(|key| key.downcast_ref::<Self>())
        {
            let (plain, styled) = (key.text(&Style::PLAIN), key.text(style));
            let sentence = shown.sentence.replacen(&plain, &styled, 1);
            error.detail = error.detail.map(|detail| detail.replacen(&shown.sentence, &sentence, 1));
            shown.sentence = sentence;
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::BinaryArray;

    use super::*;
    use crate::error::ErrorKind;
    use crate::style::ByteaOutput;

    #[test]
    fn a_key_is_told_in_the_style_of_whoever_is_told() {
        let value: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x01a"[..]]));
        let key = ShownKey(vec![("a b".to_owned(), SqlType::Bytea, value)]);
        let error = key.shown_in(SqlError::new(ErrorKind::UniqueViolation, ""), " already exists.");
        assert_eq!(error.detail.as_deref(), Some("Key (\"a b\")=(\\x0161) already exists."));
        let noted = SqlError { detail: error.detail.clone().map(|told| told + " And more."), ..*error };
        let told = ShownKey::in_style(Box::new(noted), &Style { bytea: ByteaOutput::Escape, ..Style::PLAIN });
        assert_eq!(told.detail.as_deref(), Some("Key (\"a b\")=(\\001a) already exists. And more."));
        assert_eq!(told.shown.unwrap().sentence, "Key (\"a b\")=(\\001a) already exists.");
    }
}
