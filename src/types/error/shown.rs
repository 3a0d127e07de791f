//! What a DETAIL shows of a row that is, or was to be, in a table. It is kept beside the error, because only whoever tells it
//! knows who may see the row, and in which style values are shown.

use std::any::Any;
use std::sync::Arc;

use super::SqlError;

/// What of a row.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The sentence of the DETAIL that does.
    pub sentence: String,
    /// The columns shown, in the table's order, each with its value as text; none where it is the row's key.
    pub columns: Vec<(String, String)>,
    /// The row's key that the sentence begins with, where that is what is shown: a `ShownKey` of `output`, which knows of types
    /// and styles, as errors do not.
    pub key: Option<Arc<dyn Any + Send + Sync>>,
}

impl SqlError {
    /// Shows what says which row it is in the DETAIL, to those who may read its table.
    #[must_use]
    pub fn showing_row(mut self: Box<Self>, sentence: String) -> Box<Self> {
        self.detail = Some(sentence.clone());
        self.shown = Some(Box::new(Shown { sentence, columns: Vec::new(), key: None }));
        self
    }
}
