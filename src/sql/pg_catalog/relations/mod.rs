//! The rows of the system relations. Those that no file here fills are always empty.

mod activity;
mod attributes;
mod classes;
mod cluster;
mod column_origins;
mod constraint_views;
mod dependencies;
mod descriptions;
mod egt;
mod findings;
mod information_schema;
mod keys;
mod prepared;
mod privileges;
mod progress;
mod roles;
mod segments;
mod sequences;
mod settings;
mod ssl;
mod standard_types;
mod statement_statistics;
mod statistics;
mod system;
mod time_zones;
mod types;
mod view_rows;
mod views;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::catalog::{MemTable, TableProvider};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::cells::{Cell, array_of};
use super::functions::FunctionContext;
use super::layout::Layout;
use super::recorded;

/// What fills a relation.
type Fill = fn(&FunctionContext, &mut Rows);

/// The relation's content at this moment.
///
/// # Errors
/// None are expected: rows are made to fit their columns.
pub(super) fn provider(layout: &'static Layout, context: &FunctionContext) -> SqlResult<Arc<dyn TableProvider>> {
    let make = || {
        let mut rows = Rows::new(layout);
        if let Some(fill) = fill_of(layout) {
            fill(context, &mut rows);
        }
        rows.finish()
    };
    let rows = if shows_objects_alone(layout, context) { context.objects.rows_of(layout, make)? } else { make()? };
    let mut batches: Vec<RecordBatch> =
        [recorded::batch(layout)?, system::batch(layout)?].into_iter().flatten().collect();
    if rows.num_rows() > 0 || batches.is_empty() {
        batches.push(rows);
    }
    Ok(Arc::new(MemTable::try_new(layout.arrow.clone(), vec![batches])?))
}

/// Whether its rows are the same for everybody for whom the objects are the same.
fn shows_objects_alone(layout: &Layout, context: &FunctionContext) -> bool {
    match (layout.schema, layout.name) {
        ("pg_catalog", "pg_index") => !keys::is_dump(context),
        ("pg_catalog", name) => matches!(name, "pg_attribute" | "pg_attrdef" | "pg_constraint" | "pg_depend"),
        _ => false,
    }
}

/// Whether its rows are what observe mode saw.
pub(super) fn shows_observations(layout: &Layout) -> bool {
    layout.schema == "pg_catalog" && matches!(layout.name, "egt_violations" | "egt_transactions" | "refused_statements")
}

fn fill_of(layout: &Layout) -> Option<Fill> {
    let fill: Fill = match (layout.schema, layout.name) {
        ("pg_catalog", "pg_class") => classes::classes,
        ("pg_catalog", "pg_attribute") => attributes::attributes,
        ("pg_catalog", "pg_attrdef") => attributes::defaults,
        ("pg_catalog", "pg_type") => types::row_types,
        ("pg_catalog", "pg_index") => keys::indexes,
        ("pg_catalog", "pg_rewrite") => view_rows::rules,
        ("information_schema", "views") => view_rows::standard_views,
        ("pg_catalog", "pg_constraint") => keys::constraints,
        ("pg_catalog", "column_origins") => column_origins::column_origins,
        ("pg_catalog", "table_segments") => segments::table_segments,
        ("pg_catalog", "schema_findings") => findings::schema_findings,
        ("pg_catalog", "pg_sequence") => sequences::sequences,
        ("pg_catalog", "pg_depend") => dependencies::dependencies,
        ("pg_catalog", "pg_sequences") => sequences::sequences_view,
        ("pg_catalog", "pg_description") => descriptions::descriptions,
        ("pg_catalog", "pg_shdescription") => descriptions::shared_descriptions,
        ("pg_catalog", "pg_namespace") => cluster::namespaces,
        ("pg_catalog", "pg_init_privs") => cluster::initial_privileges,
        ("pg_catalog", "pg_database") => cluster::databases,
        ("pg_catalog", "pg_roles") => roles::roles,
        ("pg_catalog", "pg_authid") => roles::authids,
        ("pg_catalog", "pg_user") => roles::users,
        ("pg_catalog", "pg_shadow") => roles::shadow,
        ("pg_catalog", "egt_violations") => egt::violations,
        ("pg_catalog", "egt_transactions") => egt::transactions,
        ("pg_catalog", "refused_statements") => egt::refused,
        ("pg_catalog", "pg_settings") => settings::settings,
        ("pg_catalog", "pg_timezone_names") => time_zones::names,
        ("pg_catalog", "pg_timezone_abbrevs") => time_zones::abbreviations,
        ("pg_catalog", "pg_stat_ssl") => ssl::ssl,
        ("pg_catalog", "pg_stat_activity") => activity::sessions,
        ("pg_catalog", "pg_locks") => activity::locks,
        ("pg_catalog", "statement_statistics") => statement_statistics::statements,
        ("pg_catalog", "statement_progress") => progress::statements,
        ("pg_catalog", "pg_prepared_statements") => prepared::prepared_statements,
        ("pg_catalog", "pg_cursors") => prepared::cursors,
        ("pg_catalog", "pg_stat_progress_copy") => progress::copies,
        ("pg_catalog", "pg_tables") => views::tables,
        ("pg_catalog", "pg_views") => views::views,
        ("pg_catalog", "pg_indexes") => views::indexes,
        ("pg_catalog", "pg_stat_user_tables" | "pg_stat_all_tables") => statistics::written_tables,
        ("pg_catalog", "pg_stat_database") => statistics::database,
        ("pg_catalog", "pg_stat_bgwriter" | "pg_stat_archiver" | "pg_stat_wal") => statistics::nothing_done,
        ("pg_catalog", "pg_stat_xact_user_tables" | "pg_stat_xact_all_tables") => statistics::tables,
        ("pg_catalog", "pg_statio_user_tables" | "pg_statio_all_tables") => statistics::tables,
        ("pg_catalog", "pg_stat_user_indexes" | "pg_stat_all_indexes") => statistics::indexes,
        ("pg_catalog", "pg_statio_user_indexes" | "pg_statio_all_indexes") => statistics::indexes,
        ("pg_catalog", "pg_statio_user_sequences" | "pg_statio_all_sequences") => statistics::sequences,
        ("information_schema", "tables") => information_schema::tables,
        ("information_schema", "columns") => information_schema::columns,
        ("information_schema", "schemata") => information_schema::schemata,
        ("information_schema", "domains") => standard_types::domains,
        ("information_schema", "element_types") => standard_types::element_types,
        ("information_schema", "collations") => standard_types::collations,
        ("information_schema", "collation_character_set_applicability") => standard_types::collation_character_sets,
        ("information_schema", "column_column_usage") => standard_types::column_sources,
        ("information_schema", "sequences") => sequences::standard_sequences,
        ("information_schema", "check_constraints") => constraint_views::check_constraints,
        ("information_schema", "referential_constraints") => constraint_views::referential_constraints,
        ("information_schema", "table_constraints") => constraint_views::table_constraints,
        ("information_schema", "key_column_usage") => constraint_views::key_column_usage,
        ("information_schema", "constraint_column_usage") => constraint_views::constraint_column_usage,
        ("information_schema", "constraint_table_usage") => constraint_views::constraint_table_usage,
        ("information_schema", "information_schema_catalog_name") => information_schema::catalog_name,
        ("information_schema", "table_privileges") => privileges::table_privileges,
        ("information_schema", "role_table_grants") => privileges::role_table_grants,
        ("information_schema", "column_privileges") => privileges::column_privileges,
        ("information_schema", "role_column_grants") => privileges::role_column_grants,
        ("information_schema", "enabled_roles") => roles::enabled_roles,
        ("information_schema", "character_sets") => information_schema::character_sets,
        _ => return None,
    };
    Some(fill)
}

/// Rows of one relation as they are made.
pub(super) struct Rows {
    layout: &'static Layout,
    columns: Vec<Vec<Cell>>,
    count: usize,
}

impl Rows {
    fn new(layout: &'static Layout) -> Self {
        Self { layout, columns: vec![Vec::new(); layout.columns.len()], count: 0 }
    }

    /// Adds a row. A column that is not named is NULL, or its type's zero where it cannot be.
    pub(super) fn push<const N: usize>(&mut self, row: [(&str, Cell); N]) {
        self.push_all(row);
    }

    /// As [`Rows::push`], of a row in parts.
    pub(super) fn push_all<'c>(&mut self, row: impl IntoIterator<Item = (&'c str, Cell)>) {
        for (name, cell) in row {
            let position = self.layout.position(name);
            debug_assert!(position.is_some(), "{} has no column {name}", self.layout.name);
            if let Some(column) = position.and_then(|i| self.columns.get_mut(i)) {
                column.push(cell);
            }
        }
        self.count += 1;
        for (column, described) in self.columns.iter_mut().zip(&self.layout.columns) {
            let missing = if described.not_null { zero(&described.sql_type) } else { Cell::Null };
            column.resize(self.count, missing);
        }
    }

    /// As [`Rows::push`], but a number that is not named is 0: of what is not counted.
    pub(super) fn push_counters<const N: usize>(&mut self, row: [(&str, Cell); N]) {
        self.push(row);
        let last = self.count.saturating_sub(1);
        for (column, described) in self.columns.iter_mut().zip(&self.layout.columns) {
            if let (SqlType::Int8, Some(cell @ Cell::Null)) = (&described.sql_type, column.get_mut(last)) {
                *cell = Cell::Int(0);
            }
        }
    }

    fn finish(self) -> SqlResult<RecordBatch> {
        let fields = self.layout.arrow.fields();
        let arrays = fields.iter().zip(&self.columns).map(|(f, cells)| array_of(f.data_type(), cells)).collect();
        Ok(RecordBatch::try_new(self.layout.arrow.clone(), arrays)?)
    }
}

fn zero(sql_type: &SqlType) -> Cell {
    match sql_type {
        SqlType::Bool => Cell::Bool(false),
        SqlType::Array(_) | SqlType::Int2Vector | SqlType::OidVector => Cell::List(Vec::new()),
        other if other.arrow() == arrow::datatypes::DataType::Utf8 => Cell::text(""),
        _ => Cell::Int(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg_catalog::layout;

    #[test]
    fn every_relation_can_be_made_of_an_empty_catalogue() {
        let context = FunctionContext::for_tests(Vec::new());
        for layout in layout::all() {
            provider(layout, &context).unwrap();
        }
    }
}
