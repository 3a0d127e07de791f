//! Target lists: expressions with their names, and what `*` stands for.

use sqlparser::ast::{
    DataType, Expr, ObjectNamePart, SelectItem, SelectItemQualifiedWildcardKind, Spanned, WildcardAdditionalOptions,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{JoinColumn, Origin, RangeSource, Target};
use super::column_name::column_name;
use super::level::Level;
use crate::binder::{Binder, name_of};
use crate::expr::{BoundExpr, ExprKind};
use crate::name::{Name, folded};
use crate::place::{AtPlace, Place};
use crate::scope::{Found, Scope};
use crate::usage::Usage;

/// PostgreSQL's `MaxTupleAttributeNumber`.
const MOST_TARGETS: usize = 1664;

impl Level<'_> {
    /// The targets of a list, in the order of the results.
    ///
    /// # Errors
    /// What is wrong with an expression, 42601 for `*` of nothing.
    pub(crate) fn targets(&mut self, items: &[SelectItem], usage: Usage) -> SqlResult<Vec<Target>> {
        let mut targets = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => targets.push(self.target(expr, None, usage)?),
                SelectItem::ExprWithAlias { expr, alias } => {
                    targets.push(self.target(expr, Some(folded(alias)), usage)?);
                }
                SelectItem::Wildcard(options) => self.all_columns(options, &mut targets)?,
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    refuse_options(options)?;
                    let parts: Vec<Name> = name.0.iter().filter_map(ObjectNamePart::as_ident).map(name_of).collect();
                    let place = name.0.first().and_then(ObjectNamePart::as_ident);
                    let place = place.map_or(Place::NOWHERE, |first| Place::start(first.span));
                    self.columns_of_table(&parts, place, &mut targets)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(expr), options) => {
                    refuse_options(options)?;
                    self.fields_of(expr, usage, &mut targets)?;
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(SqlError::new(ErrorKind::Syntax, "a column has one name"));
                }
            }
        }
        self.check_count(targets.len())?;
        Ok(targets)
    }

    fn check_count(&self, count: usize) -> SqlResult<()> {
        if count > MOST_TARGETS {
            let message = format!("target lists can have at most {MOST_TARGETS} entries");
            return Err(SqlError::new(ErrorKind::TooManyColumns, message));
        }
        Ok(())
    }

    pub(crate) fn target(&mut self, expr: &Expr, alias: Option<String>, usage: Usage) -> SqlResult<Target> {
        let bound = self.binding(usage, |binder| binder.bind(expr))?;
        let name = alias.or_else(|| self.stored_name(expr, &bound)).unwrap_or_else(|| self.name_of(expr));
        Ok(Target { origin: self.origin(&bound), expr: bound, name, is_hidden: false })
    }

    /// The name of a column as its table has it, however the statement spells it.
    fn stored_name(&self, expr: &Expr, bound: &BoundExpr) -> Option<String> {
        let written = match expr {
            Expr::Identifier(ident) => ident,
            Expr::CompoundIdentifier(parts) => parts.last()?,
            _ => return None,
        };
        let ExprKind::Column { level, entry, column } = bound.kind else { return None };
        let scope = self.scope();
        let known = scope.level(level)?.get(entry)?;
        let name = known.columns.get(column).map(|column| &column.name)?;
        name_of(written).is(name).then(|| name.clone())
    }

    pub(crate) fn name_of(&self, expr: &Expr) -> String {
        let lookup = self.lookup();
        let type_of = |data_type: &DataType| {
            Binder::new(lookup, Scope::default(), Usage::SelectList).type_of(data_type).ok().map(|(oid, _)| oid)
        };
        column_name(lookup, &type_of, expr)
    }

    /// The column of a table that an expression is: PostgreSQL's `markTargetListOrigin`.
    pub(crate) fn origin(&self, expr: &BoundExpr) -> Option<Origin> {
        match expr.kind {
            ExprKind::Column { level, entry, column } => {
                *self.scope().scope_at(level)?.namespace?.origins.get(entry)?.get(column)?
            }
            ExprKind::WholeRow { level: 0, entry } => match &self.query.range.get(entry)?.source {
                RangeSource::Table { relation, .. } => Some(Origin { relation: relation.oid, column: 0 }),
                _ => None,
            },
            _ => None,
        }
    }

    /// Those of an entry's columns.
    pub(crate) fn origins(&self, source: &RangeSource) -> Vec<Option<Origin>> {
        match source {
            RangeSource::Table { relation, .. } => {
                (1..=relation.columns.len()).map(|column| Some(Origin { relation: relation.oid, column })).collect()
            }
            RangeSource::SubQuery(query) => query.results().map(|target| target.origin).collect(),
            RangeSource::With { level, number, .. } => self.withs.origins(*level, *number),
            RangeSource::Join { columns } => columns
                .iter()
                .map(|column| match column {
                    JoinColumn::One(expr) => self.origin(expr),
                    JoinColumn::Merged { .. } => None,
                })
                .collect(),
            RangeSource::Functions { .. } | RangeSource::Values(_) | RangeSource::Excluded => Vec::new(),
        }
    }

    fn all_columns(&mut self, options: &WildcardAdditionalOptions, targets: &mut Vec<Target>) -> SqlResult<()> {
        refuse_options(options)?;
        let place = Place::start(options.wildcard_token.0.span);
        let shown: Vec<usize> = self.namespace.shown.iter().filter(|one| one.columns).map(|one| one.entry).collect();
        if shown.is_empty() {
            let message = "SELECT * with no tables specified is not valid";
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
        }
        for entry in shown {
            self.columns_of_entry(0, entry, place, targets);
        }
        Ok(())
    }

    fn columns_of_table(&mut self, parts: &[Name], place: Place, targets: &mut Vec<Target>) -> SqlResult<()> {
        let (level, entry) = self.scope().table(parts, place)?;
        self.columns_of_entry(level, entry, place, targets);
        Ok(())
    }

    fn columns_of_entry(&mut self, level: usize, entry: usize, place: Place, targets: &mut Vec<Target>) {
        let scope = self.scope();
        let columns = scope.level(level).and_then(|entries| entries.get(entry)).map_or(&[][..], |entry| &entry.columns);
        let shown = columns.iter().enumerate().filter(|(_, column)| !column.is_hidden);
        let shown: Vec<(usize, String)> = shown.map(|(number, column)| (number, column.name.clone())).collect();
        for (column, name) in shown {
            let expr = self.scope().column(Found { level, entry, column }, place);
            targets.push(Target { origin: self.origin(&expr), expr, name, is_hidden: false });
        }
    }

    /// `(row).*`.
    fn fields_of(&mut self, expr: &Expr, usage: Usage, targets: &mut Vec<Target>) -> SqlResult<()> {
        let bound = self.binding(usage, |binder| binder.bind(expr))?;
        if let ExprKind::WholeRow { level, entry } = bound.kind {
            self.columns_of_entry(level, entry, bound.place, targets);
            return Ok(());
        }
        let lookup = self.lookup();
        let place = bound.place;
        let fields = self.binding(usage, |binder| Ok(binder.typing.fields(bound.ty)))?;
        if fields.is_empty() {
            let type_name = lookup.type_name(bound.ty.oid);
            let (kind, message) = if bound.ty.oid == crate::catalogue::oids::RECORD {
                (ErrorKind::FeatureNotSupported, "record type has not been registered".to_owned())
            } else {
                (ErrorKind::WrongObjectType, format!("type {type_name} is not composite"))
            };
            return Err(SqlError::new(kind, message).at_place(Place::start(expr.span())));
        }
        for (column, (name, oid, typmod)) in fields.into_iter().enumerate() {
            let kind = ExprKind::Field { row: Box::new(bound.clone()), column, name: name.clone() };
            let field = BoundExpr::new(kind, lookup.of_type(oid, typmod), place);
            targets.push(Target { expr: field, name, is_hidden: false, origin: None });
        }
        Ok(())
    }
}

/// What no PostgreSQL has behind `*`.
fn refuse_options(options: &WildcardAdditionalOptions) -> SqlResult<()> {
    let has_none = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    if has_none { Ok(()) } else { Err(SqlError::new(ErrorKind::Syntax, "`*` stands alone")) }
}
