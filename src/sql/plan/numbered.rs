//! Tables that a statement locks rows of carry their number in their name, so that their scans are told from other scans
//! of the same table.

use sqlparser::ast::{Ident, ObjectNamePart, TableAlias, TableFactor};

use crate::newest::TargetNumber;
use crate::syntax::table_alias;

/// No client's identifier has it.
const MARK: char = '\u{3}';

/// The table of FROM, which is known by this alias, with a number.
pub(crate) fn numbered(table: &TableFactor, known_as: &Ident, number: TargetNumber) -> TableFactor {
    let mut table = table.clone();
    if let TableFactor::Table { name, alias, .. } = &mut table
        && let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut()
    {
        alias.get_or_insert_with(|| TableAlias { name: known_as.clone(), ..table_alias("") });
        last.value = with_number(&last.value, Some(number));
    }
    table
}

/// A name with a number, if there is one.
pub(super) fn with_number(name: &str, number: Option<TargetNumber>) -> String {
    number.map_or_else(|| name.to_owned(), |number| format!("{name}{MARK}{}", number.0))
}

/// A folded name without its number, and the number.
pub(super) fn number_of(name: &str) -> (&str, Option<TargetNumber>) {
    match name.split_once(MARK) {
        Some((name, number)) => (name, number.parse().ok().map(TargetNumber)),
        None => (name, None),
    }
}
