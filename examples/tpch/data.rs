//! The rows of TPC-H's tables, as lines for `COPY ... WITH (DELIMITER '|')`.

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// The tables, each behind those it refers to.
pub(crate) const TABLES: [&str; 8] =
    ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"];

/// The lines of one of [`TABLES`] at a scale: 1 is about a gigabyte of text in all.
pub(crate) fn lines(table: &str, scale: f64) -> Box<dyn Iterator<Item = String>> {
    match table {
        "region" => text_of(RegionGenerator::new(scale, 1, 1)),
        "nation" => text_of(NationGenerator::new(scale, 1, 1)),
        "part" => text_of(PartGenerator::new(scale, 1, 1)),
        "supplier" => text_of(SupplierGenerator::new(scale, 1, 1)),
        "partsupp" => text_of(PartSuppGenerator::new(scale, 1, 1)),
        "customer" => text_of(CustomerGenerator::new(scale, 1, 1)),
        "orders" => text_of(OrderGenerator::new(scale, 1, 1)),
        _ => text_of(LineItemGenerator::new(scale, 1, 1)),
    }
}

/// The generator ends each line with a delimiter, which COPY would take for one more column.
fn text_of<R: ToString>(rows: impl IntoIterator<Item = R> + 'static) -> Box<dyn Iterator<Item = String>> {
    Box::new(rows.into_iter().map(|row| {
        let mut line = row.to_string();
        line.truncate(line.trim_end_matches('|').len());
        line.push('\n');
        line
    }))
}
