//! The one list of differences that are meant to be there. Each has a row in COMPAT.md with the same words.

use crate::differential::compare::{Kind, same_rows};
use crate::differential::wire::{Answer, Row};

/// A statement whose two answers differ.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    /// The statement, and before it what led there.
    pub script: Vec<String>,
    pub kind: Kind,
    pub there: Answer,
    pub here: Answer,
    /// The templates that its last statement is made of.
    pub labels: Vec<String>,
}

impl Difference {
    fn sql(&self) -> &str {
        self.script.last().map_or("", String::as_str)
    }

    fn message_here(&self) -> &str {
        match &self.here {
            Answer::Error { message, .. } => message,
            Answer::Done { .. } | Answer::Lost(_) => "",
        }
    }

    fn is_refused_here(&self) -> bool {
        matches!(&self.kind, Kind::OnlyHereFails(code) | Kind::Codes(_, code) if code == "0A000")
    }

    /// Groups or distinct rows of `1 mon` and `30 days`, which both servers have, are shown as one or the other of them.
    fn is_other_interval_of_group(&self) -> bool {
        let groups = [" GROUP BY ", "SELECT DISTINCT ", " UNION ", " INTERSECT ", " EXCEPT "];
        if self.kind != Kind::Rows || !groups.iter().any(|words| self.sql().contains(words)) {
            return false;
        }
        let (Answer::Done { columns, rows: there, .. }, Answer::Done { rows: here, .. }) = (&self.there, &self.here)
        else {
            return false;
        };
        let as_days = |rows: &[Row]| -> Vec<Row> {
            let as_days = |cell: Option<String>| cell.map(|text| if text == "1 mon" { "30 days".into() } else { text });
            rows.iter().map(|row| row.iter().cloned().map(as_days).collect()).collect()
        };
        let oids: Vec<u32> = columns.iter().map(|column| column.oid).collect();
        let is_ordered = self.sql().rsplit_once(" ORDER BY ").is_some_and(|(_, order)| !order.contains(')'));
        same_rows(&oids, &as_days(there), &as_days(here), is_ordered)
    }

    /// A condition that is never true stands in the statement.
    fn says_never(&self) -> bool {
        [" WHERE NULL::boolean", " WHERE false", " WHERE 'false'::boolean"]
            .iter()
            .any(|never| self.sql().contains(never))
    }

    /// A window function that picks a row has its argument computed for all of them.
    fn is_error_of_unpicked_row(&self) -> bool {
        const PICKS: &[&str] = &["first_value(", "last_value(", "nth_value(", "lag(", "lead("];
        let is_of_data = matches!(&self.kind, Kind::OnlyHereFails(code) if code.starts_with("22"));
        is_of_data && self.sql().contains(" OVER ") && PICKS.iter().any(|function| self.sql().contains(function))
    }

    /// The values of an INSERT are checked against their columns one after the other; PostgreSQL checks all types first.
    fn is_other_error_of_insert(&self) -> bool {
        let is_of_data =
            |code: &str| ["22", "23", "428", "427", "21", "42P10"].iter().any(|class| code.starts_with(class));
        let Kind::Codes(there, here) = &self.kind else { return false };
        self.sql().starts_with("INSERT ") && is_of_data(there) && is_of_data(here)
    }
}

/// A difference that is meant to be there.
#[derive(Debug)]
pub(super) struct Accepted {
    /// As COMPAT.md has it.
    pub reason: &'static str,
    pub covers: fn(&Difference) -> bool,
}

/// Where two parts of a statement fail, nothing says which is computed first. Found by asking for each part alone.
pub(super) const ORDER_OF_EVALUATION: &str = "which of two errors of a statement is reported";

pub(super) const ACCEPTED: &[Accepted] = &[
    Accepted { reason: ORDER_OF_EVALUATION, covers: Difference::is_other_error_of_insert },
    Accepted {
        reason: "arguments of `first_value`, `last_value`, `nth_value`, `lag` and `lead`",
        covers: Difference::is_error_of_unpicked_row,
    },
    Accepted {
        reason: "a side of INTERSECT or EXCEPT beside one that has no rows",
        covers: |d| {
            let is_of_data = matches!(&d.kind, Kind::OnlyThereFails(code) if code.starts_with("22"));
            let has_no_rows = d.says_never() || d.sql().contains("SELECT NULL INTERSECT ");
            is_of_data && [" INTERSECT ", " EXCEPT "].iter().any(|set| d.sql().contains(set)) && has_no_rows
        },
    },
    Accepted {
        reason: "FULL JOIN over any condition",
        covers: |d| {
            let is_refused = matches!(&d.kind, Kind::OnlyThereFails(code) | Kind::Codes(code, _) if code == "0A000");
            d.sql().contains(" FULL JOIN ") && is_refused
        },
    },
    Accepted {
        reason: "a condition that NULL decides",
        covers: |d| match &d.kind {
            Kind::OnlyHereFails(code) => {
                code.starts_with("22") && d.sql().contains(" NOT IN (") && d.sql().contains(", NULL))")
            }
            Kind::OnlyThereFails(code) => {
                code.starts_with("22") && d.sql().contains(" <> ALL (ARRAY[") && d.sql().contains(", NULL])")
            }
            _ => false,
        },
    },
    Accepted {
        reason: "a condition on rows that a join leaves out",
        covers: |d| {
            matches!(&d.kind, Kind::OnlyThereFails(code) if code.starts_with("22"))
                && d.sql().split_once(" JOIN ").is_some_and(|(_, joined)| joined.contains(" WHERE "))
        },
    },
    Accepted {
        reason: "the fields of `ROW(...) >= ROW(...)` behind those that decide",
        covers: |d| matches!(d.kind, Kind::OnlyThereFails(_)) && d.sql().contains("= ROW("),
    },
    Accepted {
        reason: "a sub-query that does not depend on the row around it",
        covers: |d| {
            let asks_no_row = matches!(&d.there, Answer::Done { rows, .. } if rows.is_empty());
            matches!(&d.kind, Kind::OnlyHereFails(code) if code.starts_with("22"))
                && asks_no_row
                && d.sql().contains("(SELECT ")
        },
    },
    Accepted {
        reason: "the second bound of BETWEEN",
        covers: |d| {
            let is_of_data = matches!(&d.kind, Kind::OnlyHereFails(code) if code.starts_with("22"));
            is_of_data && d.sql().contains(" BETWEEN ")
        },
    },
    Accepted {
        reason: "a constant condition that asks a setting, where there are no rows",
        covers: |d| {
            let asks_setting = ["interval", "timestamp", "date", "time", "int[]", "text[]"];
            matches!(&d.kind, Kind::OnlyThereFails(code) if code.starts_with("22"))
                && matches!(&d.here, Answer::Done { tag, .. } if tag.ends_with(" 0"))
                && d.sql()
                    .split_once(" WHERE ")
                    .is_some_and(|(_, of)| asks_setting.iter().any(|name| of.contains(name)))
        },
    },
    Accepted {
        reason: "a timestamp behind the year 294246",
        covers: |d| d.message_here() == "date out of range for timestamp" && d.sql().contains("make_date("),
    },
    Accepted {
        reason: "what `pg_typeof` is asked about",
        covers: |d| matches!(d.kind, Kind::OnlyThereFails(_)) && d.sql().contains("pg_typeof("),
    },
    Accepted {
        reason: "`NaN` and `infinity` in numeric, `infinity` in dates and times",
        covers: |d| {
            let here = d.message_here().to_lowercase();
            here.starts_with("numeric value \"") && here.ends_with("\" cannot be held")
                || here.starts_with("date/time field value out of range: \"") && here.ends_with("infinity\"")
        },
    },
    Accepted {
        reason: "a time outside 1601-01-01 to 9999-12-31",
        covers: |d| {
            let is_write = d.sql().starts_with("INSERT ") || d.sql().starts_with("UPDATE ");
            let is_out_of_store = d.message_here().starts_with("timestamp out of range: \"");
            is_write && is_out_of_store && d.kind == Kind::OnlyHereFails("22008".to_owned())
        },
    },
    Accepted {
        reason: "arrays of several dimensions",
        covers: |d| d.is_refused_here() && d.message_here().contains("array of several dimensions"),
    },
    Accepted {
        reason: "the last digit of a cube root",
        covers: |d| d.kind == Kind::Rows && (d.sql().contains("||/ ") || d.sql().contains("cbrt(")),
    },
    Accepted {
        reason: "numeric without precision",
        covers: |d| d.kind == Kind::Rows && d.sql().contains("5e-324") && d.sql().contains("numeric"),
    },
    Accepted {
        reason: "which of several equal intervals stands for a group of them",
        covers: Difference::is_other_interval_of_group,
    },
    Accepted {
        reason: "`char(n)` beside another length or a literal, in VALUES, UNION, CASE, COALESCE and their kin",
        covers: |d| match &d.kind {
            Kind::Types(there, here) => there == "character" && here.starts_with("character typmod "),
            _ => false,
        },
    },
];

/// The reason for which a difference is accepted.
pub(super) fn reason(difference: &Difference) -> Option<&'static str> {
    ACCEPTED.iter().find(|accepted| (accepted.covers)(difference)).map(|accepted| accepted.reason)
}

#[test]
fn every_accepted_difference_has_its_row_in_compat() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/COMPAT.md")).unwrap();
    for accepted in ACCEPTED {
        assert!(page.contains(accepted.reason), "COMPAT.md does not say: {}", accepted.reason);
    }
}
