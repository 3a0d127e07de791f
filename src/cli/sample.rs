//! The sample tables of a first start: a schemaless one, and the small tables of nycflights13.
//!
//! They go in as SQL through a session, as any client would send it, so what they show is what the product does.

use std::fmt::Write;
use std::sync::Arc;

use tablegate_sql::Engine;
use tablegate_sql::session::{Session, SessionOptions};
use tablegate_types::error::{ErrorKind, SqlError};

use super::script;

type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Run in this order.
const SCRIPTS: &[&str] =
    &[include_str!("../../sql/sample/employees.sql"), include_str!("../../sql/sample/nycflights13.sql")];

/// Rows of the tables that `nycflights13.sql` makes. Its other two tables, weather (26,115 rows) and flights (336,776
/// rows), are too large to carry in the program.
const TABLES: &[(&str, &str)] = &[
    ("airlines", include_str!("../../sql/sample/nycflights13/airlines.csv")),
    ("airports", include_str!("../../sql/sample/nycflights13/airports.csv")),
    ("planes", include_str!("../../sql/sample/nycflights13/planes.csv")),
];

/// What stands for NULL in the CSV files.
const NULL: &str = "NA";

/// Rows of one INSERT: enough to fill entity group transactions of 100, few enough to parse at once.
const ROWS_PER_INSERT: usize = 1000;

/// Creates and fills the sample tables.
///
/// # Errors
/// When a name is taken, or the store refuses.
pub(super) async fn create(engine: &Arc<Engine>) -> Result<()> {
    let mut session = Session::new(engine.clone(), SessionOptions::default())?;
    for text in SCRIPTS {
        script::run(&mut session, text).await?;
    }
    for (table, csv) in TABLES {
        for insert in inserts(table, csv)? {
            script::run(&mut session, &insert).await?;
        }
    }
    tracing::info!("created the sample tables");
    Ok(())
}

/// The rows of a CSV file, its first line naming the columns, as INSERT statements.
fn inserts(table: &str, csv: &str) -> Result<Vec<String>> {
    let mut lines = csv.lines();
    let columns = lines.next().unwrap_or_default();
    let width = columns.split(',').count();
    let mut statements = Vec::new();
    let mut sql = String::new();
    for (row, line) in lines.filter(|line| !line.is_empty()).enumerate() {
        let fields = fields(line);
        if fields.len() != width {
            let message = format!("{table}.csv: row {} has {} fields instead of {width}", row + 1, fields.len());
            return Err(SqlError::new(ErrorKind::BadCopyFileFormat, message));
        }
        if row % ROWS_PER_INSERT == 0 {
            statements.extend((!sql.is_empty()).then(|| std::mem::take(&mut sql)));
            // Writing to a String does not fail, here and below.
            let _ = write!(sql, "INSERT INTO {table} ({columns}) VALUES ");
        } else {
            sql.push_str(", ");
        }
        let literals: Vec<String> = fields.iter().map(|field| literal(field)).collect();
        let _ = write!(sql, "({})", literals.join(", "));
    }
    statements.extend((!sql.is_empty()).then_some(sql));
    Ok(statements)
}

fn literal(field: &str) -> String {
    if field == NULL { "NULL".to_owned() } else { format!("'{}'", field.replace('\'', "''")) }
}

/// The fields of one CSV line; quoted ones hold commas and doubled quotes, none a line break.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.len() - 1;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                fields[field].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields[field].push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_hold_commas_and_quotes() {
        assert_eq!(fields(r#"a,"b, ""c""",,NA"#), ["a", r#"b, "c""#, "", "NA"]);
        assert_eq!(literal("O'Hare"), "'O''Hare'");
        assert_eq!(literal("NA"), "NULL");
    }

    #[test]
    fn every_file_becomes_inserts() {
        let rows = |table: &str, csv: &str| -> usize {
            let statements = inserts(table, csv).unwrap();
            assert!(statements.iter().all(|sql| sql.starts_with(&format!("INSERT INTO {table} ("))));
            statements.iter().map(|sql| sql.matches("), (").count() + 1).sum()
        };
        let counts: Vec<usize> = TABLES.iter().map(|(table, csv)| rows(table, csv)).collect();
        assert_eq!(counts, [16, 1458, 3322]);
    }

    #[test]
    fn rows_of_another_width_are_refused() {
        assert!(inserts("t", "a,b\n1\n").is_err());
    }
}
