//! The columns that a COPY reads or writes, and those its options name.

use tablegate_bind::Identifier;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::options::Columns;
use crate::dml::{TargetColumn, target_column};
use crate::plan::resolve_column;
use crate::relation::Relation;

/// The columns of a table that are copied: those named, else all that `SELECT *` shows, but no generated ones.
///
/// # Errors
/// 42703, 42701 and 42P10 for columns that are not there, named twice, or generated.
pub(super) fn targets(relation: &Relation, columns: &[Identifier]) -> SqlResult<Vec<TargetColumn>> {
    if columns.is_empty() {
        let visible = relation.columns.iter().enumerate().filter(|(_, c)| !c.hidden && c.generated.is_none());
        return Ok(visible.map(|(index, _)| TargetColumn::Known(index)).collect());
    }
    let mut targets: Vec<TargetColumn> = Vec::with_capacity(columns.len());
    for ident in columns {
        let target = target_column(relation, ident)?;
        if target.column(relation).is_some_and(|column| column.generated.is_some()) {
            return Err(generated(target.name(relation)));
        }
        if targets.contains(&target) {
            let message = format!("column \"{}\" specified more than once", target.name(relation));
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        targets.push(target);
    }
    Ok(targets)
}

/// The columns of a table that are written; there are no others than it has.
///
/// # Errors
/// As [`targets`].
pub(super) fn written(relation: &Relation, columns: &[Identifier]) -> SqlResult<Vec<String>> {
    let names: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
    if let Some(missing) = columns.iter().find(|ident| !matches!(resolve_column(names.iter(), ident), Ok(Some(_)))) {
        return Err(no_column(Some(&relation.name), &missing.folded()));
    }
    Ok(targets(relation, columns)?.iter().map(|target| target.name(relation).to_owned()).collect())
}

/// The columns that options may name.
pub(super) struct Nameable<'a> {
    /// The table; `None` for the result of a query.
    pub relation: Option<&'a Relation>,
    /// The columns that are copied.
    pub copied: &'a [&'a str],
}

impl Nameable<'_> {
    /// Which of the copied columns an option is about.
    ///
    /// # Errors
    /// 42703 when it names a column that does not exist, 42P10 for one that is not copied.
    pub(super) fn chosen(&self, option: &str, columns: &Columns) -> SqlResult<Vec<bool>> {
        let mut chosen = vec![*columns == Columns::All; self.copied.len()];
        let Columns::Named(idents) = columns else { return Ok(chosen) };
        for ident in idents {
            let folded = ident.folded();
            let exact = self.copied.iter().position(|name| *name == folded);
            let found = exact.or_else(|| {
                let unquoted = !ident.is_quoted();
                self.copied.iter().position(|name| unquoted && name.eq_ignore_ascii_case(&folded))
            });
            match found {
                Some(index) => chosen[index] = true,
                None => return Err(self.not_copied(option, ident)),
            }
        }
        Ok(chosen)
    }

    fn not_copied(&self, option: &str, ident: &Identifier) -> Box<SqlError> {
        let name = ident.folded();
        let Some(relation) = self.relation else { return no_column(None, &name) };
        let names: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
        let known = resolve_column(names.iter(), ident).ok().flatten().and_then(|name| relation.column(name));
        match known {
            None => no_column(Some(&relation.name), &name),
            Some((_, column)) if column.generated.is_some() => generated(&column.name),
            Some((_, column)) => {
                let message = format!("{option} column \"{}\" not referenced by COPY", column.name);
                SqlError::new(ErrorKind::InvalidColumnReference, message)
            }
        }
    }
}

fn generated(column: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidColumnReference, format!("column \"{column}\" is a generated column"))
        .with_detail("Generated columns cannot be used in COPY.")
}

fn no_column(table: Option<&str>, column: &str) -> Box<SqlError> {
    let of_table = table.map_or_else(String::new, |table| format!(" of relation \"{table}\""));
    SqlError::new(ErrorKind::UndefinedColumn, format!("column \"{column}\"{of_table} does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_copied_columns() {
        let columns = Nameable { relation: None, copied: &["a", "b"] };
        let error = columns.chosen("FORCE_NULL", &Columns::Named(vec![Identifier::bare("x")])).unwrap_err();
        assert_eq!(error.message, "column \"x\" does not exist");
        assert_eq!(columns.chosen("FORCE_NULL", &Columns::All).unwrap(), [true, true]);
        let named = Columns::Named(vec![Identifier::bare("B")]);
        assert_eq!(columns.chosen("FORCE_NULL", &named).unwrap(), [false, true]);
    }
}
