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
