//! VALUES: rows whose columns have one type each.

use sqlparser::ast::{Expr, Parens, Spanned, Values};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{JoinTree, RangeColumn, RangeEntry, RangeSource};
use super::level::Level;
use crate::binder::Binder;
use crate::coerce::common_modifier;
use crate::expr::{BoundExpr, ExprKind};
use crate::place::{AtPlace, Place};
use crate::usage::Usage;

/// The name of the rows where they have none.
const NAME: &str = "*VALUES*";

impl Level<'_> {
    /// # Errors
    /// 42601 for rows that differ in length, 42804 for types that have none in common.
    pub(super) fn values(&mut self, values: &Values) -> SqlResult<()> {
        let rows = self.binding(Usage::Values, |binder| {
            let rows = bind_rows(binder, &values.rows, &mut |_, row| Ok(row))?;
            match rows.iter().flatten().find(|value| value.is_default()) {
                Some(value) => {
                    let message = "DEFAULT is not allowed in this context";
                    Err(SqlError::new(ErrorKind::Syntax, message).at_place(value.place))
                }
                None => Ok(rows),
            }
        })?;
        let (rows, columns) = self.binding(Usage::Values, |binder| of_common_types(binder, rows))?;
        let source = RangeSource::Values(rows);
        let count = columns.len();
        let entry = self.add_entry(RangeEntry::unnamed(NAME.to_owned(), columns, source));
        self.query.from.push(JoinTree::Entry(entry));
        self.show_only(entry);
        (0..count).for_each(|column| self.push_column(entry, column));
        Ok(())
    }
}

/// What is made of each row before the next one is bound.
pub(crate) type MadeRow<'m> = dyn FnMut(&mut Binder<'_>, Vec<BoundExpr>) -> SqlResult<Vec<BoundExpr>> + 'm;

/// The rows, all of one length.
///
/// # Errors
/// 42601 for rows that differ in length.
pub(crate) fn bind_rows(
    binder: &mut Binder<'_>,
    rows: &[Parens<Vec<Expr>>],
    made: &mut MadeRow<'_>,
) -> SqlResult<Vec<Vec<BoundExpr>>> {
    let width = rows.first().map_or(0, |first| first.content.len());
    let mut bound: Vec<Vec<BoundExpr>> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut values = Vec::with_capacity(row.content.len());
        for value in &row.content {
            values.push(bind_value(binder, value)?);
        }
        if values.len() != width {
            let place = values.first().map_or(Place::NOWHERE, |first| first.place);
            let message = "VALUES lists must all be the same length";
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
        }
        bound.push(made(binder, values)?);
    }
    Ok(bound)
}

/// A value, or DEFAULT, which the parser takes for a name.
///
/// # Errors
/// What is wrong with the expression.
pub(crate) fn bind_value(binder: &mut Binder<'_>, value: &Expr) -> SqlResult<BoundExpr> {
    if is_default(value) {
        let ty = crate::expr::ExprType::plain(crate::catalogue::oids::UNKNOWN);
        return Ok(BoundExpr::new(ExprKind::Default, ty, Place::start(value.span())));
    }
    // Most are constants, of which there may be many.
    match value {
        Expr::Value(constant) => binder.value(constant),
        other => binder.bind(other),
    }
}

fn is_default(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Columns of one type each.
fn of_common_types(
    binder: &mut Binder<'_>,
    mut rows: Vec<Vec<BoundExpr>>,
) -> SqlResult<(Vec<Vec<BoundExpr>>, Vec<RangeColumn>)> {
    let width = rows.first().map_or(0, Vec::len);
    let mut columns = Vec::with_capacity(width);
    for column in 0..width {
        let common = binder.lookup.common_type(rows.iter().map(|row| &row[column]), "VALUES")?;
        let typmod = common_modifier(rows.iter().map(|row| &row[column]), common);
        for row in &mut rows {
            let kept = row[column].ty;
            if kept.oid != common {
                let gone = BoundExpr::new(ExprKind::Default, kept, Place::NOWHERE);
                let value = std::mem::replace(&mut row[column], gone);
                row[column] = binder.typing.coerce_to_common(value, common, "VALUES")?;
            }
        }
        let ty = binder.lookup.made_of(common, typmod, rows.iter().map(|row| &row[column]))?;
        columns.push(RangeColumn { name: format!("column{}", column + 1), ty });
    }
    Ok((rows, columns))
}
