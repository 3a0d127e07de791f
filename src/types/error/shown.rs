//! What a DETAIL shows of a row that is, or was to be, in a table. It is kept beside the error, because only whoever tells it
//! knows who may see the row, and in which style values are shown.

use arrow::array::ArrayRef;
use bytes::BytesMut;

use super::SqlError;
use crate::output::{Style, TextColumn};
use crate::quoting::quote_ident;
use crate::sql_type::SqlType;

/// What of a row.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The sentence of the DETAIL that does.
    pub sentence: String,
    /// The columns shown, in the table's order, each with its value as text; none where it is the row's key.
    pub columns: Vec<(String, String)>,
    /// The row's key that the sentence begins with, where that is what is shown.
    pub key: Option<ShownKey>,
}

/// The key of a row: its columns, each with its type and its value, which is the only one of the array.
#[derive(Debug, Clone)]
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
}

impl SqlError {
    /// Shows a row's key in the DETAIL, to those who may read its table. `rest` ends the sentence that begins with the key.
    #[must_use]
    pub fn showing_key(mut self: Box<Self>, key: ShownKey, rest: &str) -> Box<Self> {
        let sentence = format!("{}{rest}", key.text(&Style::PLAIN));
        self.detail = Some(sentence.clone());
        self.shown = Some(Box::new(Shown { sentence, columns: Vec::new(), key: Some(key) }));
        self
    }

    /// Shows what says which row it is in the DETAIL, to those who may read its table.
    #[must_use]
    pub fn showing_row(mut self: Box<Self>, sentence: String) -> Box<Self> {
        self.detail = Some(sentence.clone());
        self.shown = Some(Box::new(Shown { sentence, columns: Vec::new(), key: None }));
        self
    }

    /// The same error, with the row's key as this style shows it.
    #[must_use]
    pub fn in_style(mut self: Box<Self>, style: &Style) -> Box<Self> {
        if let Some(shown) = &mut self.shown
            && let Some(key) = &shown.key
        {
            let (plain, styled) = (key.text(&Style::PLAIN), key.text(style));
            let sentence = shown.sentence.replacen(&plain, &styled, 1);
            self.detail = self.detail.map(|detail| detail.replacen(&shown.sentence, &sentence, 1));
            shown.sentence = sentence;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::BinaryArray;

    use super::*;
    use crate::error::ErrorKind;
    use crate::style::ByteaOutput;

    #[test]
    fn a_key_is_told_in_the_style_of_whoever_is_told() {
        let value: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x01a"[..]]));
        let key = ShownKey(vec![("a b".to_owned(), SqlType::Bytea, value)]);
        let error = SqlError::new(ErrorKind::UniqueViolation, "").showing_key(key, " already exists.");
        assert_eq!(error.detail.as_deref(), Some("Key (\"a b\")=(\\x0161) already exists."));
        let noted = SqlError { detail: error.detail.clone().map(|told| told + " And more."), ..*error };
        let told = Box::new(noted).in_style(&Style { bytea: ByteaOutput::Escape, ..Style::PLAIN });
        assert_eq!(told.detail.as_deref(), Some("Key (\"a b\")=(\\001a) already exists. And more."));
        assert_eq!(told.shown.unwrap().sentence, "Key (\"a b\")=(\\001a) already exists.");
    }
}
