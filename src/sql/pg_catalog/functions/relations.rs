//! Functions in FROM that give the rows of a system relation: PostgreSQL's views are made of them.

/// The functions, and the relations they give.
const RELATIONS: &[(&str, &str)] = &[
    ("pg_show_all_settings", "pg_settings"),
    ("pg_prepared_statement", "pg_prepared_statements"),
    ("pg_cursor", "pg_cursors"),
    ("pg_timezone_names", "pg_timezone_names"),
    ("pg_timezone_abbrevs", "pg_timezone_abbrevs"),
    ("pg_available_extensions", "pg_available_extensions"),
    ("pg_lock_status", "pg_locks"),
];

/// The relation whose rows a function gives.
pub(in crate::pg_catalog) fn relation_of(function: &str) -> Option<&'static str> {
    RELATIONS.iter().find(|(known, _)| *known == function).map(|(_, relation)| *relation)
}
