//! The functions of the system catalogue that typing asks for: what a value that names an object is as a number, and back.

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

/// Provides the functions that answer from the catalogue and the session; `pg_catalog` implements it.
pub(crate) trait CatalogFunctions: Send + Sync {
    /// A function, by its name without schema.
    fn function(&self, name: &str) -> Option<Arc<ScalarUDF>>;
}

/// The function that gives the OID of a value of a type.
pub(crate) fn oid_of(type_name: &str) -> String {
    format!("oid of {type_name}")
}

/// The function that makes a value of a type.
pub(crate) fn name_of(type_name: &str) -> String {
    format!("name of {type_name}")
}

/// The function that gives the OIDs of an array of values of a type.
pub(crate) fn oids_of(type_name: &str) -> String {
    format!("oids of {type_name}")
}

/// The function that makes an array of values of a type.
pub(crate) fn names_of(type_name: &str) -> String {
    format!("names of {type_name}")
}

/// The function under which a setting is asked for row by row. Elsewhere a setting is the same for the whole statement, and
/// computed before anything is read: predicates on it find keys.
pub(crate) const SETTING_BY_ROW: &str = "current setting by row";
