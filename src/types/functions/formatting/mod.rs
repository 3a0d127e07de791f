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
    text: String,
    template: T,
}

impl<T: Default> Latest<T> {
    /// Of the empty template.
    fn new() -> Self {
        Self { text: String::new(), template: T::default() }
    }

    fn of(&mut self, text: &str, parse: impl FnOnce(&str) -> SqlResult<T>) -> SqlResult<&T> {
        if self.text != text {
            self.template = parse(text)?;
            text.clone_into(&mut self.text);
        }
        Ok(&self.template)
    }
}

#[cfg(test)]
mod tests;
