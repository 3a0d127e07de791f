//! Rows of the system catalogue that are the same in every database, as PostgreSQL 15 has them: built-in types,
//! functions, operators and what belongs to them. `data/record.py` makes the files and says how they are written.

/// The recorded relations: their names, and their rows as text.
const SOURCES: &[(&str, &str)] = &[
    ("pg_aggregate", include_str!("data/pg_aggregate.txt")),
    ("pg_am", include_str!("data/pg_am.txt")),
    ("pg_amop", include_str!("data/pg_amop.txt")),
    ("pg_amproc", include_str!("data/pg_amproc.txt")),
    ("pg_cast", include_str!("data/pg_cast.txt")),
    ("pg_collation", include_str!("data/pg_collation.txt")),
    ("pg_conversion", include_str!("data/pg_conversion.txt")),
    ("pg_description", include_str!("data/pg_description.txt")),
    ("pg_language", include_str!("data/pg_language.txt")),
    ("pg_opclass", include_str!("data/pg_opclass.txt")),
    ("pg_operator", include_str!("data/pg_operator.txt")),
    ("pg_opfamily", include_str!("data/pg_opfamily.txt")),
    ("pg_proc", include_str!("data/pg_proc.txt")),
    ("pg_range", include_str!("data/pg_range.txt")),
    ("pg_tablespace", include_str!("data/pg_tablespace.txt")),
    ("pg_ts_config", include_str!("data/pg_ts_config.txt")),
    ("pg_ts_config_map", include_str!("data/pg_ts_config_map.txt")),
    ("pg_ts_dict", include_str!("data/pg_ts_dict.txt")),
    ("pg_ts_parser", include_str!("data/pg_ts_parser.txt")),
    ("pg_ts_template", include_str!("data/pg_ts_template.txt")),
    ("pg_type", include_str!("data/pg_type.txt")),
    ("sql_features", include_str!("data/sql_features.txt")),
    ("sql_implementation_info", include_str!("data/sql_implementation_info.txt")),
    ("sql_parts", include_str!("data/sql_parts.txt")),
    ("sql_sizing", include_str!("data/sql_sizing.txt")),
];

/// A recorded file: its columns, and its rows as text.
pub struct RecordedFile {
    columns: Vec<RecordedColumn>,
    lines: &'static str,
}

struct RecordedColumn {
    name: &'static str,
    empty: Empty,
}

/// What an empty cell means.
enum Empty {
    Text(&'static str),
    /// What the row has in another column.
    Same(&'static str),
}

impl RecordedFile {
    /// The names of the recorded relations.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SOURCES.iter().map(|(name, _)| *name)
    }

    /// The file of a relation; `None` for one that has no recorded rows.
    pub fn of(relation: &str) -> Option<Self> {
        let (_, source) = SOURCES.iter().find(|(name, _)| *name == relation)?;
        let (header, lines) = source.split_once('\n')?;
        let column = |word: &'static str| match word.split_once('=') {
            None => RecordedColumn { name: word, empty: Empty::Text("") },
            Some((name, empty)) => {
                let empty = empty.strip_prefix('@').map_or(Empty::Text(empty), Empty::Same);
                RecordedColumn { name, empty }
            }
        };
        Some(Self { columns: header.split('\t').map(column).collect(), lines })
    }

    /// The place of a column in the rows.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }

    /// The rows, each with a text for every column of the file.
    pub fn rows(&self) -> impl Iterator<Item = Vec<&'static str>> {
        let same: Vec<(usize, usize)> = (0..)
            .zip(&self.columns)
            .filter_map(|(i, column)| match column.empty {
                Empty::Same(other) => Some((i, self.position(other)?)),
                Empty::Text(_) => None,
            })
            .collect();
        self.lines.lines().map(move |line| {
            let mut words = line.split('\t');
            let word = |column: &RecordedColumn| match (words.next().unwrap_or_default(), &column.empty) {
                ("", Empty::Text(empty)) => *empty,
                (word, _) => word,
            };
            let mut row: Vec<&'static str> = self.columns.iter().map(word).collect();
            for (own, other) in &same {
                let meant = row.get(*other).copied();
                if let (Some(cell), Some(meant)) = (row.get_mut(*own), meant)
                    && cell.is_empty()
                {
                    *cell = meant;
                }
            }
            row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_cells_mean_what_the_header_says() {
        let file = RecordedFile::of("pg_type").unwrap();
        let row = file.rows().next().unwrap();
        let cell = |name| row[file.position(name).unwrap()];
        assert_eq!((cell("typname"), cell("typlen"), cell("typdelim"), cell("typbasetype")), ("bool", "1", ",", "0"));
    }
}
