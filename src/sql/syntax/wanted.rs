//! What a statement wants of the tables that it names.

use sqlparser::ast::{
    self, FromTable, MergeAction, ObjectName, OnConflictAction, OnInsert, Statement, TableFactor, TableObject,
    TableWithJoins, UpdateTableFromKind, Visit,
};
use tablegate_bind::statement::Syntax;
use tablegate_bind::{ParsedExpression, QualifiedName};
use tablegate_types::privileges::Privileges;

use super::tables_read::{Found, NamesColumns, look_through};
use crate::syntax::fold;

/// What a query or a change wants of tables, in the order of the text.
pub(crate) fn wanted_of_tables(syntax: Syntax<'_>) -> Vec<(QualifiedName, Privileges)> {
    let mut wants = Wants::default();
    match syntax {
        Syntax::Query(query) => look_through(query, None, &mut wants),
        Syntax::Insert(insert) => wants.insert(insert, true),
        Syntax::Update(update) => wants.update(update, true),
        Syntax::Delete(delete) => wants.delete(delete, true),
        Syntax::Merge(merge) => wants.merge(merge, true),
    }
    wants.0
}

/// The same of expressions.
pub(crate) fn wanted_by(expressions: &[ParsedExpression]) -> Vec<(QualifiedName, Privileges)> {
    let mut wants = Wants::default();
    expressions.iter().for_each(|expression| look_through(expression.tree(), None, &mut wants));
    wants.0
}

#[derive(Default)]
struct Wants(Vec<(QualifiedName, Privileges)>);

impl Found for Wants {
    fn reads(&mut self, name: &ObjectName) {
        self.all(name, Privileges::SELECT);
    }

    fn locks(&mut self, name: &ObjectName) {
        self.all(name, Privileges::UPDATE);
    }

    fn changes<'s>(&mut self, statement: &'s Statement) -> Option<&'s ObjectName> {
        match statement {
            Statement::Insert(insert) => {
                self.insert(insert, false);
                insert_target(insert)
            }
            Statement::Update(update) => {
                self.update(update, false);
                table_name(&update.table.relation)
            }
            Statement::Delete(delete) => {
                self.delete(delete, false);
                delete_target(delete).and_then(|table| table_name(&table.relation))
            }
            Statement::Merge(merge) => {
                self.merge(merge, false);
                table_name(&merge.table)
            }
            _ => None,
        }
    }
}

/// For each change: what its target needs and, when it stands alone, what else it reads.
impl Wants {
    fn all(&mut self, name: &ObjectName, privileges: Privileges) {
        let wanted = (QualifiedName::from(name), privileges);
        if !self.0.contains(&wanted) {
            self.0.push(wanted);
        }
    }

    fn insert(&mut self, insert: &ast::Insert, alone: bool) {
        let Some(target) = insert_target(insert) else { return };
        let mut privileges = Privileges::INSERT;
        if insert.or.is_some() || insert.replace_into {
            privileges = privileges | Privileges::UPDATE;
        }
        if let Some(OnInsert::OnConflict(on)) = &insert.on {
            if on.conflict_target.is_some() {
                privileges = privileges | Privileges::SELECT;
            }
            if matches!(on.action, OnConflictAction::DoUpdate(_)) {
                privileges = privileges | Privileges::SELECT | Privileges::UPDATE;
            }
        }
        let mut columns = NamesColumns { table: "", found: false };
        columns.look_at_items(insert.returning.as_deref().unwrap_or_default());
        self.target(target, privileges, columns.found);
        self.rest(insert, target, alone);
    }

    fn update(&mut self, update: &ast::Update, alone: bool) {
        let Some(target) = table_name(&update.table.relation) else { return };
        let shown = shown_name(&update.table.relation);
        let mut columns = NamesColumns { table: &shown, found: false };
        columns.look_at_assignments(&update.assignments);
        columns.look_at(&update.selection);
        columns.look_at_items(update.returning.as_deref().unwrap_or_default());
        if let Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) = &update.from {
            look_at_joins(&mut columns, from);
        }
        self.target(target, Privileges::UPDATE, columns.found);
        self.rest(update, target, alone);
    }

    fn delete(&mut self, delete: &ast::Delete, alone: bool) {
        let Some(table) = delete_target(delete) else { return };
        let Some(target) = table_name(&table.relation) else { return };
        let shown = shown_name(&table.relation);
        let mut columns = NamesColumns { table: &shown, found: false };
        columns.look_at(&delete.selection);
        columns.look_at_items(delete.returning.as_deref().unwrap_or_default());
        look_at_joins(&mut columns, delete.using.as_deref().unwrap_or_default());
        self.target(target, Privileges::DELETE, columns.found);
        self.rest(delete, target, alone);
    }

    fn merge(&mut self, merge: &ast::Merge, alone: bool) {
        let Some(target) = table_name(&merge.table) else { return };
        let shown = shown_name(&merge.table);
        let mut columns = NamesColumns { table: &shown, found: false };
        columns.look_at(&merge.on);
        let mut privileges = Privileges::NONE;
        for clause in &merge.clauses {
            columns.look_at(&clause.predicate);
            privileges = privileges
                | match &clause.action {
                    MergeAction::Insert(_) => Privileges::INSERT,
                    MergeAction::Update(update) => {
                        columns.look_at_assignments(&update.assignments);
                        Privileges::UPDATE
                    }
                    MergeAction::Delete { .. } => Privileges::DELETE,
                };
        }
        self.target(target, privileges, columns.found);
        self.rest(merge, target, alone);
    }

    fn target(&mut self, target: &ObjectName, privileges: Privileges, reads: bool) {
        self.all(target, if reads { privileges | Privileges::SELECT } else { privileges });
    }

    fn rest(&mut self, part: &impl Visit, target: &ObjectName, alone: bool) {
        if alone {
            look_through(part, Some(target), self);
        }
    }
}

fn insert_target(insert: &ast::Insert) -> Option<&ObjectName> {
    match &insert.table {
        TableObject::TableName(name) => Some(name),
        _ => None,
    }
}

fn delete_target(delete: &ast::Delete) -> Option<&TableWithJoins> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    from.first()
}

fn table_name(table: &TableFactor) -> Option<&ObjectName> {
    match table {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

/// What the statement calls its table.
fn shown_name(table: &TableFactor) -> String {
    match table {
        TableFactor::Table { alias: Some(alias), .. } => fold(&alias.name),
        TableFactor::Table { name, .. } => {
            name.0.last().and_then(|part| part.as_ident()).map_or_else(|| name.to_string(), fold)
        }
        _ => String::new(),
    }
}

/// The conditions of joins, which may name columns.
fn look_at_joins(columns: &mut NamesColumns<'_>, from: &[TableWithJoins]) {
    for join in from.iter().flat_map(|from| &from.joins) {
        columns.look_at(&join.join_operator);
    }
}
