//! Columns that are none of a table's own, and have one value in all its rows.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use tablegate_bind::Oid;
use tablegate_types::sql_type::{CatalogType, SqlType};

use crate::catalog::FIRST_OID;
use crate::expr::literal;

/// Their names in PostgreSQL, which no column of a table's own has.
pub(crate) const RESERVED: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// The transaction that makes a database, as PostgreSQL numbers it: which one made a row of the catalogue is not kept.
const BOOTSTRAP_TRANSACTION: u32 = 1;

/// One that tables have here.
pub(crate) struct SystemColumn {
    pub name: &'static str,
    pub sql_type: SqlType,
    value: u32,
}

impl SystemColumn {
    /// Those of a table: the table that a row is of, and in the catalogue's own tables the transaction that made the row, by which
    /// tools ask what is new.
    pub(crate) fn of(table: Oid) -> impl Iterator<Item = Self> {
        let of_each = Self { name: "tableoid", sql_type: SqlType::Oid, value: table };
        let of_catalogue = (table < FIRST_OID).then(|| {
            let sql_type = SqlType::Catalog(CatalogType::Xid);
            Self { name: "xmin", sql_type, value: BOOTSTRAP_TRANSACTION }
        });
        std::iter::once(of_each).chain(of_catalogue)
    }

    /// Its value.
    pub(crate) fn literal(&self) -> Expr {
        literal(ScalarValue::UInt32(Some(self.value)), &self.sql_type)
    }
}

/// Whether the name, whatever its case, is that of one that some tables have.
pub(crate) fn is_named(name: &str) -> bool {
    SystemColumn::of(0).any(|column| column.name.eq_ignore_ascii_case(name))
}
