//! ALTER COLUMN ... TYPE: whether stored values can stay, and what they become where they cannot.

use arrow::array::new_empty_array;
use tablegate_bind::{Identifier, ParsedExpression};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Alteration, NewValue, Origin};
use crate::catalog::Sequence;
use crate::ddl::columns::collation;
use crate::ddl::counters::check_identity_type;
use crate::sequence::altered;
use crate::syntax::{GivenOptions, TypeName};

impl Alteration<'_> {
    pub(super) fn alter_type(
        &mut self,
        ident: &Identifier,
        data_type: &TypeName,
        using: Option<&ParsedExpression>,
    ) -> SqlResult<()> {
        let to = data_type.sql_type()?;
        let table = self.after.name.clone();
        let column = self.own_column(ident)?;
        let (name, now) = (column.name.clone(), column.sql_type.clone());
        let before = self.before.columns.iter().find(|column| column.name == name);
        // An identity that the same command drops counts too.
        if before.is_some_and(|before| before.identity.is_some()) {
            check_identity_type(&to)?;
        }
        if before.is_some_and(|before| before.sql_type != now) {
            let message = format!("cannot alter type of column \"{name}\" twice");
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        if let Some(generated) = self.computed_from(&name).next() {
            let detail = format!("Column \"{name}\" is used by generated column \"{}\".", generated.name);
            let message = "cannot alter type of a column used by a generated column";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message).with_detail(detail));
        }
        let given = self.collations.iter().find(|(column, _)| *column == name);
        let collation = given.map_or(Ok(None), |(_, given)| collation(&to, given))?;
        let in_key = self.after.key.names(&name);
        let column = self.own_column(ident)?;
        let from = column.declared_type(&table)?;
        let has_cast = has_assignment_cast(&from, &to);
        if using.is_none() && !has_cast {
            return Err(cannot_cast(&name, &to));
        }
        if column.default.is_some() && !has_cast {
            let message = format!("default for column \"{name}\" cannot be cast automatically to type {to}");
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message));
        }
        column.sql_type = to.to_string();
        column.collation = collation;
        let counter = column.identity.as_ref().map(|identity| identity.sequence.clone());
        self.retype_counter(counter.as_deref(), data_type)?;
        let value = match using {
            Some(expr) => Some(NewValue { expr: expr.clone(), untyped: expr.is_untyped(), origin: Origin::Using }),
            None if !in_key && stays_as_stored(&from, &to) => None,
            None => Some(NewValue::of_column(&name)),
        };
        self.check_again(&name)?;
        if let Some(value) = value {
            self.must_rewrite = true;
            self.values.insert(name, value);
        }
        Ok(())
    }

    /// The sequence of an identity column has the column's type.
    fn retype_counter(&mut self, name: Option<&str>, data_type: &TypeName) -> SqlResult<()> {
        let Some(old) = name.and_then(|name| self.catalog.sequence(&self.after.placed_name().beside(name))) else {
            return Ok(());
        };
        let given = GivenOptions { data_type: Some(data_type.clone()), ..GivenOptions::default() };
        let (options, _) = altered(&old.options, &given)?;
        let mut sequence = Sequence::clone(&old);
        sequence.options = options;
        self.sequences.push(sequence);
        Ok(())
    }
}

fn cannot_cast(column: &str, to: &SqlType) -> Box<SqlError> {
    let message = format!("column \"{column}\" cannot be cast automatically to type {to}");
    SqlError::new(ErrorKind::DatatypeMismatch, message)
        .with_hint(format!("You might need to specify \"USING {column}::{to}\"."))
}

/// Whether PostgreSQL casts the one type to the other in an assignment.
fn has_assignment_cast(from: &SqlType, to: &SqlType) -> bool {
    edm::assign(&new_empty_array(&from.arrow()), from, to, false).is_ok()
}

/// Whether every stored value of the one type reads, under the other, as the cast would make it.
fn stays_as_stored(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    match (from, to) {
        _ if from == to => true,
        (T::Int2, T::Int4) | (T::Int2 | T::Int4, T::Int8) | (T::Float4, T::Float8) => true,
        (T::Varchar(_) | T::Text | T::Name, T::Text | T::Varchar(None)) => true,
        (T::Varchar(Some(old)), T::Varchar(Some(new))) => old <= new,
        (T::Numeric(Some((old, scale))), T::Numeric(Some((new, same)))) => old <= new && scale == same,
        (T::Date, T::Timestamp) => true,
        (T::Limited(limits), to) => limits.of().bare() == to,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_are_those_of_assignment() {
        for (from, to, expected) in [
            (SqlType::Int4, SqlType::Int2, true),
            (SqlType::Int4, SqlType::Text, true),
            (SqlType::Text, SqlType::Int4, false),
            (SqlType::Text, SqlType::Varchar(Some(3)), true),
            (SqlType::Bool, SqlType::Int4, false),
            (SqlType::Uuid, SqlType::Bytea, false),
        ] {
            assert_eq!(has_assignment_cast(&from, &to), expected, "{from} -> {to}");
        }
    }

    #[test]
    fn only_widening_leaves_rows_alone() {
        let numeric = |p, s| SqlType::Numeric(Some((p, s)));
        assert!(stays_as_stored(&SqlType::Int4, &SqlType::Int8));
        assert!(!stays_as_stored(&SqlType::Int8, &SqlType::Int4));
        assert!(stays_as_stored(&numeric(6, 2), &numeric(8, 2)));
        assert!(!stays_as_stored(&numeric(6, 2), &numeric(8, 3)));
        assert!(!stays_as_stored(&SqlType::Char(3), &SqlType::Text));
    }
}
