//! How a table's primary key becomes PartitionKey and RowKey.

use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult, Topic};

use crate::catalog::{DeclaredKey, DeclaredKeyColumn, DeclaredPartition};

/// The storage options of CREATE TABLE ... WITH (...), read.
#[derive(Debug, Default)]
pub(super) struct TableOptions {
    pub stored_name: Option<String>,
    pub partition_key: Option<String>,
    pub row_key: Option<String>,
    pub key_escape: Option<bool>,
    pub open: bool,
}

impl TableOptions {
    /// Whether some option says where and under which keys rows are stored.
    pub(super) fn is_about_storage(&self) -> bool {
        self.stored_name.is_some()
            || self.partition_key.is_some()
            || self.row_key.is_some()
            || self.key_escape.is_some()
            || self.open
    }
}

/// The PartitionKey of every row of a table without a primary key.
const GENERATED_PARTITION: &str = "all";

/// The key of a table with the given primary key columns; none: the gateway makes keys.
///
/// # Errors
/// 42P16 when the options do not name exactly the key columns.
pub(super) fn layout(
    table: &str,
    primary_key: &[String],
    options: &TableOptions,
    notices: &mut Vec<Notice>,
) -> SqlResult<DeclaredKey> {
    let escape = options.key_escape.unwrap_or(false);
    if primary_key.is_empty() {
        if options.partition_key.is_some() || options.row_key.is_some() {
            return Err(invalid("partition_key and row_key need a PRIMARY KEY"));
        }
        notices.push(
            Notice::info(format!("table \"{table}\" has no primary key: its rows get generated keys in one partition"))
                .with_hint("Declare a PRIMARY KEY to read rows by key.")
                .once(Topic::NoPrimaryKey),
        );
        return Ok(DeclaredKey::Generated { partition: GENERATED_PARTITION.to_owned(), escape });
    }
    if options.partition_key.is_none() && options.row_key.is_none() {
        return Ok(default_layout(table, primary_key, escape, notices));
    }
    let row_text = options.row_key.as_deref().unwrap_or_default();
    let row = key_columns(row_text)?;
    let rest: Vec<&String> = primary_key.iter().filter(|c| row.iter().all(|r| r.name != **c)).collect();
    let default_partition = rest.iter().map(|c| c.as_str()).collect::<Vec<_>>().join(", ");
    let partition_text = options.partition_key.as_deref().unwrap_or(&default_partition);
    let (mut columns, partition) = match special_partition(partition_text)? {
        Some(special) => (Vec::new(), special),
        None => {
            let columns = key_columns(partition_text)?;
            let count = columns.len();
            (columns, DeclaredPartition::Columns(count))
        }
    };
    let row = if options.row_key.is_some() {
        row
    } else {
        let unused = primary_key.iter().filter(|c| columns.iter().all(|p| p.name != **c));
        unused.map(|name| DeclaredKeyColumn { name: name.clone(), descending: false }).collect()
    };
    columns.extend(row);
    check_same_columns(primary_key, &columns)?;
    Ok(DeclaredKey::Relational { columns, partition, escape })
}

/// The first key column is the PartitionKey, the others the RowKey.
fn default_layout(table: &str, primary_key: &[String], escape: bool, notices: &mut Vec<Notice>) -> DeclaredKey {
    if let [only] = primary_key {
        notices.push(
            Notice::info(format!(
                "every row of table \"{table}\" is its own partition: a transaction can change one row of it"
            ))
            .with_hint(format!(
                "WITH (partition_key = '''all''', row_key = '{only}') keeps all rows in one partition, WITH (partition_key = 'bucket(16)', row_key = '{only}') in 16."
            ))
            .once(Topic::SingleRowPartitions),
        );
    }
    let columns = primary_key.iter().map(|name| DeclaredKeyColumn { name: name.clone(), descending: false }).collect();
    DeclaredKey::Relational { columns, partition: DeclaredPartition::Columns(1), escape }
}

/// `'constant'` or `bucket(n)`.
fn special_partition(text: &str) -> SqlResult<Option<DeclaredPartition>> {
    let text = text.trim();
    if let Some(constant) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
        return Ok(Some(DeclaredPartition::Constant(constant.replace("''", "'"))));
    }
    let lower = text.to_ascii_lowercase();
    let Some(count) = lower.strip_prefix("bucket(").and_then(|t| t.strip_suffix(')')) else { return Ok(None) };
    match count.trim().parse::<u32>() {
        Ok(n) if (1..=10_000).contains(&n) => Ok(Some(DeclaredPartition::Bucket(n))),
        _ => Err(invalid("bucket(n) needs a number between 1 and 10000")),
    }
}

/// `a, "B", c DESC`.
fn key_columns(text: &str) -> SqlResult<Vec<DeclaredKeyColumn>> {
    let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    parts
        .map(|part| {
            let (name, direction) = match part.rsplit_once(char::is_whitespace) {
                Some((name, word)) if word.eq_ignore_ascii_case("desc") => (name.trim(), true),
                Some((name, word)) if word.eq_ignore_ascii_case("asc") => (name.trim(), false),
                _ => (part, false),
            };
            let name = match name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) {
                Some(quoted) => quoted.replace("\"\"", "\""),
                None if name.contains(char::is_whitespace) => {
                    return Err(invalid(&format!("cannot read {part:?} as a key column")));
                }
                None => name.to_ascii_lowercase(),
            };
            Ok(DeclaredKeyColumn { name, descending: direction })
        })
        .collect()
}

fn check_same_columns(primary_key: &[String], columns: &[DeclaredKeyColumn]) -> SqlResult<()> {
    let mut declared: Vec<&str> = primary_key.iter().map(String::as_str).collect();
    let mut laid_out: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    declared.sort_unstable();
    laid_out.sort_unstable();
    if declared == laid_out {
        return Ok(());
    }
    Err(invalid("partition_key and row_key must name exactly the columns of the primary key").with_detail(format!(
        "The primary key is ({}), the options name ({}).",
        primary_key.join(", "),
        laid_out.join(", ")
    )))
}

fn invalid(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidTableDefinition, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay_out(primary_key: &[&str], partition: Option<&str>, row: Option<&str>) -> SqlResult<DeclaredKey> {
        let options = TableOptions {
            partition_key: partition.map(str::to_owned),
            row_key: row.map(str::to_owned),
            ..TableOptions::default()
        };
        let primary_key: Vec<String> = primary_key.iter().map(|c| (*c).to_owned()).collect();
        layout("t", &primary_key, &options, &mut Vec::new())
    }

    fn names(key: &DeclaredKey) -> Vec<&str> {
        match key {
            DeclaredKey::Relational { columns, .. } => columns.iter().map(|c| c.name.as_str()).collect(),
            DeclaredKey::Raw | DeclaredKey::Generated { .. } => Vec::new(),
        }
    }

    #[test]
    fn options_choose_the_split() {
        let key = lay_out(&["a", "b", "c"], Some("b, a"), Some("c DESC")).unwrap();
        assert_eq!(names(&key), ["b", "a", "c"]);
        assert!(
            matches!(&key, DeclaredKey::Relational { partition: DeclaredPartition::Columns(2), columns, .. } if columns[2].descending)
        );
        let key = lay_out(&["a"], Some("'all'"), None).unwrap();
        assert!(
            matches!(&key, DeclaredKey::Relational { partition: DeclaredPartition::Constant(c), .. } if c == "all")
        );
        let key = lay_out(&["a", "b"], Some("bucket(16)"), Some("a, b")).unwrap();
        assert!(matches!(&key, DeclaredKey::Relational { partition: DeclaredPartition::Bucket(16), .. }));
        assert_eq!(names(&lay_out(&["a", "b"], None, Some("a")).unwrap()), ["b", "a"]);
    }

    #[test]
    fn options_must_name_the_key_columns() {
        for (partition, row) in [(Some("a"), Some("a")), (Some("a, x"), None), (None, Some("a, b, c"))] {
            let error = lay_out(&["a", "b"], partition, row).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidTableDefinition);
        }
        assert!(lay_out(&["a"], Some("bucket(0)"), None).is_err());
    }
}
