//! The matches that a function looks for, row by row: the expression is compiled when it changes, mostly once.

use super::options::Options;
use super::pattern::Pattern;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::interrupt;

/// The expression of the row before, compiled.
pub(super) struct Latest {
    expression: String,
    letters: String,
    compiled: Option<(Pattern, Options)>,
}

/// What a function makes of its options, or refuses of them.
pub(super) type Check = fn(Options) -> SqlResult<Options>;

impl Latest {
    pub(super) fn new() -> Self {
        Self { expression: String::new(), letters: String::new(), compiled: None }
    }

    /// # Errors
    /// 2201B for what is not an expression, 22023 for what is not an option.
    pub(super) fn of(&mut self, expression: &str, letters: &str, check: Check) -> SqlResult<(&mut Pattern, Options)> {
        let is_same = self.compiled.is_some() && self.expression == expression && self.letters == letters;
        if !is_same {
            let options = check(Options::parse(letters)?)?;
            self.compiled = Some((Pattern::new(expression, options)?, options));
            expression.clone_into(&mut self.expression);
            letters.clone_into(&mut self.letters);
        }
        match &mut self.compiled {
            Some((pattern, options)) => Ok((pattern, *options)),
            None => Err(SqlError::new(ErrorKind::Internal, "a regular expression was not compiled")),
        }
    }
}

/// Iterates over the matches. Behind an empty match the search goes on one character later.
///
/// # Errors
/// Those of `each`, which says whether to go on; those of the search.
pub(super) fn for_each_match(
    pattern: &mut Pattern,
    text: &str,
    start: usize,
    mut each: impl FnMut(&Pattern, std::ops::Range<usize>) -> SqlResult<bool>,
) -> SqlResult<()> {
    let mut at = start;
    while pattern.find_at(text, at)? {
        interrupt::check()?;
        let Some(span) = pattern.group(0) else { break };
        at = if span.is_empty() { next_character(text, span.end) } else { span.end };
        if !each(pattern, span)? {
            break;
        }
    }
    Ok(())
}

/// Where the next character begins; beyond the end of the text at its end.
fn next_character(text: &str, at: usize) -> usize {
    at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}

/// The byte at which the n-th character begins; `None` beyond the end.
///
/// # Errors
/// 22023 for a number below 1.
pub(super) fn byte_of_character(text: &str, number: i32) -> SqlResult<Option<usize>> {
    let number = positive(number, "start")?;
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(starts.into_iter().nth(number - 1))
}

/// # Errors
/// 22023 for a number below 1.
pub(super) fn positive(number: i32, parameter: &str) -> SqlResult<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| out_of_range(number, parameter))
}

/// # Errors
/// 22023 for a number below 0.
pub(super) fn not_negative(number: i32, parameter: &str) -> SqlResult<usize> {
    usize::try_from(number).map_err(|_| out_of_range(number, parameter))
}

pub(super) fn out_of_range(number: i32, parameter: &str) -> Box<SqlError> {
    let message = format!("invalid value for parameter \"{parameter}\": {number}");
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}
