//! Writes the data of TPC-H into files, one a table, for `\copy`: `cargo run --release --example tpch -- SCALE FOLDER`

mod data;

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scale, folder] = arguments.as_slice() else { return Err("usage: tpch SCALE FOLDER".into()) };
    let scale: f64 = scale.parse()?;
    for table in data::TABLES {
        let mut file = BufWriter::new(File::create(Path::new(folder).join(format!("{table}.tbl")))?);
        for line in data::lines(table, scale) {
            file.write_all(line.as_bytes())?;
        }
        file.flush()?;
    }
    Ok(())
}
