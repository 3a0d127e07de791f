//! `to_char`, `to_date`, `to_timestamp`, `to_number`: values to text and back by templates.

mod date_assembly;
mod date_patterns;
mod date_reader;
mod date_writer;
mod dates;
mod number_patterns;
mod number_reader;
mod number_writer;
mod numbers;
mod template;

use super::signature::Overload;
use crate::error::SqlResult;

pub(super) static FUNCTIONS: &[&[Overload]] = &[dates::FUNCTIONS, numbers::FUNCTIONS];

/// The template of the row before, which is that of the next one too, most of the time.
struct Latest<T> {
    /// `None` for a template that is too long to be compared.
    text: Option<String>,
    template: T,
}

impl<T: Default> Latest<T> {
    /// Bytes of the longest template that is kept for the next row.
    const KEPT_BYTES: usize = 1 << 16;

    /// Of the empty template.
    fn new() -> Self {
        Self { text: Some(String::new()), template: T::default() }
    }

    fn of(&mut self, text: &str, parse: impl FnOnce(&str) -> SqlResult<T>) -> SqlResult<&T> {
        if self.text.as_deref() != Some(text) {
            // What the one before takes is free for this one.
            self.template = T::default();
            self.template = parse(text)?;
            self.text = (text.len() <= Self::KEPT_BYTES).then(|| text.to_owned());
        }
        Ok(&self.template)
    }
}

#[cfg(test)]
mod tests;
