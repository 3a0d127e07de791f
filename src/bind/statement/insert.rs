//! INSERT: the columns that are named and what they get. PostgreSQL's `transformInsertStmt`.

use sqlparser::ast::{Insert, ObjectName, OnInsert, Parens, SetExpr, SqliteOnConflict, TableObject};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::assign::{NamedColumn, assigned, column_named};
use crate::binder::Binder;
use crate::catalogue::{Relation, RelationRef, oids};
use crate::expr::{BoundExpr, ExprKind};
use crate::name::folded;
use crate::namespace::Shown;
use crate::place::{AtPlace, Place};
use crate::query::bound::{RangeColumn, RangeEntry, RangeSource, Target};
use crate::query::changes::{BoundChange, ChangeKind, InsertColumn, InsertSource};
use crate::query::{Alias, Level, Parts, Purpose, bind_parts, bind_rows, name_parts};
use crate::scope::{Found, Scope};
use crate::usage::Usage;

impl Level<'_> {
    pub(super) fn insert(&mut self, insert: &Insert) -> SqlResult<BoundChange> {
        let replaces = replaces(insert)?;
        let TableObject::TableName(name) = &insert.table else {
            return Err(SqlError::not_supported("INSERT into what is no table"));
        };
        let alias = insert.table_alias.as_ref().map(|alias| folded(&alias.alias));
        let target = self.target_table(name, Alias { name: alias, columns: Vec::new() })?;
        let mut relation = self.relation_of(target)?;
        let named = self.named_columns(&mut relation, &insert.columns)?;
        let columns = match &named {
            Some(named) => named.clone(),
            None => {
                let all = relation.shown_columns();
                all.map(|(column, _)| NamedColumn { column, place: Place::NOWHERE }).collect()
            }
        };
        let source = match &insert.source {
            None => InsertSource::Defaults,
            Some(query) => {
                let parts = Parts::of(query)?;
                match parts.body {
                    SetExpr::Values(values) if parts.is_plain() => {
                        InsertSource::Rows(self.inserted_rows(&values.rows, &relation, &columns, named.is_some())?)
                    }
                    _ => self.inserted_query(&parts, &relation, &columns, named.is_some())?,
                }
            }
        };
        let given = match &source {
            InsertSource::Defaults => 0,
            InsertSource::Rows(rows) => rows.first().map_or(0, Vec::len),
            InsertSource::Query { values, .. } => values.len(),
        };
        let columns: Vec<InsertColumn> =
            columns.iter().take(given).map(|named| InsertColumn { column: named.column }).collect();
        let conflict = match &insert.on {
            None => None,
            Some(OnInsert::OnConflict(conflict)) => Some(Box::new(self.conflict(conflict, target, &mut relation)?)),
            Some(_) => return Err(SqlError::not_supported("ON DUPLICATE KEY")),
        };
        self.show_only(target);
        let returning = self.returning(insert.returning.as_deref())?;
        let overriding = self.context.overriding;
        let kind = ChangeKind::Insert { source, columns, overriding, replaces, conflict };
        Ok(self.change(target, relation, kind, returning))
    }

    /// The table that is changed, which nothing shows yet.
    pub(super) fn target_table(&mut self, name: &ObjectName, alias: Alias) -> SqlResult<usize> {
        let (schema, table, place) = name_parts(self.lookup(), name)?;
        let relation = self.relation(schema.as_ref(), &table, place)?;
        let entry = self.relation_entry(relation, &alias)?;
        self.namespace.target = Some(entry);
        Ok(entry)
    }

    pub(super) fn relation_of(&self, entry: usize) -> SqlResult<RelationRef> {
        match &self.query.range[entry].source {
            RangeSource::Table { relation, .. } => Ok(relation.clone()),
            _ => Err(SqlError::new(ErrorKind::Internal, "what is changed is no table")),
        }
    }

    /// The columns that are named; `None` where none are.
    pub(super) fn named_columns(
        &self,
        relation: &mut RelationRef,
        names: &[ObjectName],
    ) -> SqlResult<Option<Vec<NamedColumn>>> {
        let mut columns: Vec<NamedColumn> = Vec::with_capacity(names.len());
        for name in names {
            let named = column_named(self.lookup(), relation, name)?;
            if columns.iter().any(|other| other.column == named.column) {
                let message = format!("column \"{}\" specified more than once", relation.columns[named.column].name);
                return Err(SqlError::new(ErrorKind::DuplicateColumn, message).at_place(named.place));
            }
            columns.push(named);
        }
        Ok((!names.is_empty()).then_some(columns))
    }

    fn inserted_rows(
        &mut self,
        rows: &[Parens<Vec<sqlparser::ast::Expr>>],
        relation: &Relation,
        columns: &[NamedColumn],
        are_named: bool,
    ) -> SqlResult<Vec<Vec<BoundExpr>>> {
        let usage = if rows.len() == 1 { Usage::OnlyValues } else { Usage::Values };
        self.binding(usage, |binder| {
            bind_rows(binder, rows, &mut |binder, row| inserted_row(binder, row, relation, columns, are_named))
        })
    }

    fn inserted_query(
        &mut self,
        parts: &Parts<'_>,
        relation: &Relation,
        columns: &[NamedColumn],
        are_named: bool,
    ) -> SqlResult<InsertSource> {
        let purpose = Purpose { keeps_unknown: true, ..Purpose::default() };
        let scope = Scope { entries: &self.entries, outer: self.outer, namespace: Some(&self.namespace) };
        let bound = bind_parts(self.context, parts, Some(&scope), Some(self.withs), &mut self.parameters, purpose)?;
        // A literal without a type gets the column's.
        let literals: Vec<Option<BoundExpr>> = bound
            .results()
            .map(|target| {
                let is_literal = matches!(target.expr.kind, ExprKind::Constant(_) | ExprKind::Parameter(_));
                (target.expr.ty.oid == oids::UNKNOWN && is_literal).then(|| target.expr.clone())
            })
            .collect();
        let column = |target: &Target| RangeColumn { name: target.name.clone(), ty: target.expr.ty };
        let shown: Vec<RangeColumn> = bound.results().map(column).collect();
        let places: Vec<Place> = bound.results().map(|target| target.expr.place).collect();
        let source = RangeSource::SubQuery(Box::new(bound));
        let name = "*SELECT*".to_owned();
        let entry = self.add_entry(RangeEntry::unnamed(name, shown, source));
        let scope = self.scope();
        let values: Vec<BoundExpr> = literals
            .into_iter()
            .zip(places)
            .enumerate()
            .map(|(column, (literal, place))| {
                literal.unwrap_or_else(|| scope.column(Found { level: 0, entry, column }, place))
            })
            .collect();
        let values =
            self.binding(Usage::InsertList, |binder| inserted_row(binder, values, relation, columns, are_named))?;
        Ok(InsertSource::Query { entry, values })
    }

    /// RETURNING, over what can be named.
    pub(super) fn returning(&mut self, items: Option<&[sqlparser::ast::SelectItem]>) -> SqlResult<Vec<Target>> {
        let Some(items) = items else { return Ok(Vec::new()) };
        self.query.targets = self.targets(items, Usage::Returning)?;
        self.type_all_targets()?;
        if self.query.targets.is_empty() {
            return Err(SqlError::new(ErrorKind::Syntax, "RETURNING must have at least one column"));
        }
        Ok(std::mem::take(&mut self.query.targets))
    }

    pub(super) fn change(
        &mut self,
        target: usize,
        relation: RelationRef,
        kind: ChangeKind,
        returning: Vec<Target>,
    ) -> BoundChange {
        let query = std::mem::take(&mut self.query);
        BoundChange {
            with: Vec::new(),
            relation,
            target,
            range: query.range,
            from: query.from,
            filter: query.filter,
            kind,
            returning,
            sub_queries: query.sub_queries,
        }
    }

    /// The target and something else, both by their names.
    pub(super) fn show(&mut self, entries: &[usize]) {
        self.namespace.shown = entries.iter().map(|entry| Shown::all_of(*entry)).collect();
    }
}

/// Whether INSERT is OR REPLACE.
///
/// # Errors
/// 0A000 for other dialects' clauses.
fn replaces(insert: &Insert) -> SqlResult<bool> {
    let is_foreign = insert.overwrite
        || insert.ignore
        || insert.replace_into
        || insert.partitioned.is_some()
        || !insert.assignments.is_empty();
    match insert.or {
        None if !is_foreign => Ok(false),
        Some(SqliteOnConflict::Replace) if !is_foreign => Ok(true),
        _ => Err(SqlError::not_supported("this form of INSERT")),
    }
}

/// PostgreSQL's `transformInsertRow`.
///
/// # Errors
/// 42601 for too many or too few values, 42804 for what a column does not take.
pub(super) fn inserted_row(
    binder: &mut Binder<'_>,
    values: Vec<BoundExpr>,
    relation: &Relation,
    columns: &[NamedColumn],
    are_named: bool,
) -> SqlResult<Vec<BoundExpr>> {
    let refused = |message: &str, place: Place| SqlError::new(ErrorKind::Syntax, message).at_place(place);
    if let Some(first) = values.get(columns.len()) {
        return Err(refused("INSERT has more expressions than target columns", first.place));
    }
    if are_named && let Some(first) = columns.get(values.len()) {
        let error = refused("INSERT has more target columns than expressions", first.place);
        let is_row = match values.as_slice() {
            [BoundExpr { kind: ExprKind::Row(items), .. }] => items.len() == columns.len(),
            _ => false,
        };
        let hint = "The insertion source is a row expression containing the same number of columns expected by the \
                    INSERT. Did you accidentally use extra parentheses?";
        return Err(if is_row { error.with_hint(hint) } else { error });
    }
    let pairs = values.into_iter().zip(columns);
    pairs.map(|(value, named)| assigned(binder, value, relation, named.column)).collect()
}
