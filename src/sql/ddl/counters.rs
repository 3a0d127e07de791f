//! Columns that count: `serial`, and GENERATED ... AS IDENTITY. Each gets a sequence that belongs to it.

use tablegate_bind::ParsedExpression;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::split_name;
use tablegate_types::sql_type::SqlType;

use super::names::free_name;
use crate::catalog::{CatalogView, Declaration, Sequence, SequenceOwner, next_call};
use crate::place::PlacedName;
use crate::plan::schema_and_table;
use crate::relation::Identity;
use crate::sequence;
use crate::syntax::{GivenOptions, parse_expression, take_next_calls};

/// The sequences of a table's columns, as they are declared.
pub(crate) struct Counters<'a> {
    pub table: &'a PlacedName,
    /// Whether a table or sequence has the name.
    pub is_taken: &'a dyn Fn(&str) -> bool,
    /// OIDs and the table's OID in the owners are still open.
    pub sequences: Vec<Sequence>,
}

impl Counters<'_> {
    /// The sequence of a serial column; gives the column's default.
    ///
    /// # Errors
    /// None are expected: the default options of a sequence are within the bounds of every integer type.
    pub(super) fn serial(&mut self, column: &str, sql_type: &SqlType) -> SqlResult<String> {
        let name = self.add(column, sql_type, &GivenOptions::default(), false)?;
        Ok(next_call(self.table.place, &name))
    }

    /// The sequence of an identity column.
    ///
    /// # Errors
    /// 22023 for options that contradict each other, or a column that is no integer.
    pub(super) fn identity(
        &mut self,
        column: &str,
        sql_type: &SqlType,
        always: bool,
        given: &GivenOptions,
    ) -> SqlResult<Identity> {
        check_identity_type(sql_type)?;
        Ok(Identity { always, sequence: self.add(column, sql_type, given, true)? })
    }

    fn add(&mut self, column: &str, sql_type: &SqlType, given: &GivenOptions, identity: bool) -> SqlResult<String> {
        let is_taken = |name: &str| (self.is_taken)(name) || self.sequences.iter().any(|s| s.name == name);
        let name = match &given.name {
            Some(name) => schema_and_table(name)?.1,
            None => free_name(&self.table.name, Some(column), "seq", is_taken),
        };
        let mut made = Sequence::new(&name, sequence::created(given, sql_type)?);
        made.place = self.table.place;
        made.owner = Some(SequenceOwner { table: 0, column: column.to_owned(), identity });
        self.sequences.push(made);
        Ok(name)
    }
}

/// # Errors
/// 22023 for a column that cannot count.
pub(super) fn check_identity_type(sql_type: &SqlType) -> SqlResult<()> {
    match sql_type {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Ok(()),
        _ => {
            let message = "identity column type must be smallint, integer, or bigint";
            Err(SqlError::new(ErrorKind::InvalidParameterValue, message))
        }
    }
}

/// The tables with a column whose default calls `nextval` of this sequence. Those of other places mean another one.
pub(crate) fn counting_with<'c>(
    catalog: &'c CatalogView,
    sequence: &PlacedName,
) -> impl Iterator<Item = &'c Declaration> {
    let in_place = catalog.declarations().filter(|table| table.place == sequence.place);
    in_place.filter(|table| counts_with(table, &sequence.name).next().is_some())
}

/// The columns whose default calls `nextval` of this sequence.
pub(crate) fn counts_with<'d>(declaration: &'d Declaration, sequence: &str) -> impl Iterator<Item = &'d str> {
    let calls = move |text: &str| {
        parse_expression(text).is_ok_and(|mut expression| sequences_in(&mut expression).contains(&sequence.to_owned()))
    };
    let counting: Vec<&str> = declaration
        .columns
        .iter()
        .filter(|column| column.default.as_deref().is_some_and(calls))
        .map(|column| column.name.as_str())
        .collect();
    counting.into_iter()
}

/// The names, without schema, of the sequences whose next values an expression takes.
fn sequences_in(expression: &mut ParsedExpression) -> Vec<String> {
    let named = take_next_calls(expression, &sequence::waits, &|_| "next".to_owned()).unwrap_or_default();
    named.iter().filter_map(|text| split_name(text).pop()).collect()
}
