//! Constraints that are recorded and not enforced, indexes that are not built, and checks.

use tablegate_types::constraint::{Deferral, ReferentialAction, Unenforced, UnenforcedKind};

use super::{Finding, Kind, Severity, key_of, listed};
use crate::relation::Relation;

pub(super) fn findings(table: &Relation, found: &mut Vec<Finding>) {
    for recorded in &table.constraints.unenforced {
        let (kind, severity, meaning, advice) = match &recorded.kind {
            UnenforcedKind::ForeignKey { table: to, on_update, on_delete, deferral, .. } => {
                foreign_key(table, recorded, to, [*on_update, *on_delete], *deferral)
            }
            UnenforcedKind::Unique { .. } => unique(table, recorded),
            UnenforcedKind::Index { unique, .. } => index(table, recorded, *unique),
        };
        let object = Some(recorded.name.clone());
        found.push(Finding { table: Some(table.name.clone()), object, kind, severity, meaning, advice });
    }
    if !table.constraints.checks.is_empty() {
        let names: Vec<&str> = table.constraints.checks.iter().map(|check| check.name.as_str()).collect();
        found.push(Finding {
            table: Some(table.name.clone()),
            object: None,
            kind: Kind::Check,
            severity: Severity::Info,
            meaning: format!(
                "{} is checked by the gateway; a client that writes to the store past it is not.",
                listed(&names)
            ),
            advice: "Let every writer come through the gateway, or repeat the check in it.".to_owned(),
        });
    }
}

type Said = (Kind, Severity, String, String);

fn foreign_key(
    table: &Relation,
    recorded: &Unenforced,
    to: &str,
    [on_update, on_delete]: [ReferentialAction; 2],
    deferral: Deferral,
) -> Said {
    let mut meaning = format!(
        "A row with values in ({}) that \"{to}\" does not have is accepted, and a row of \"{to}\" can go while rows here \
         refer to it: an entity group transaction reaches one table, so both cannot be looked at in one.",
        listed(&recorded.columns)
    );
    for (event, action) in [("deleted", on_delete), ("given another key", on_update)] {
        let done = match action {
            ReferentialAction::Cascade => "changed with it",
            ReferentialAction::SetNull => "set to NULL",
            ReferentialAction::SetDefault => "set to their defaults",
            ReferentialAction::NoAction | ReferentialAction::Restrict => continue,
        };
        meaning += &format!(" When a row of \"{to}\" is {event}, rows here are not {done}.");
    }
    if deferral == Deferral::InitiallyDeferred {
        meaning += " There is no check at COMMIT either.";
    }
    let key = key_of(table);
    let leads = !recorded.columns.is_empty()
        && key.len() >= recorded.columns.len()
        && key.iter().zip(&recorded.columns).all(|(part, column)| part == column);
    let advice = if to == table.name {
        "Check in the application before writing; rows that refer to each other can change together when they share a \
         PartitionKey."
            .to_owned()
    } else if leads {
        format!(
            "The key begins with ({}), so the rows of one \"{to}\" are close together: check in the application, and delete \
             them partition by partition before their \"{to}\".",
            listed(&recorded.columns)
        )
    } else {
        format!(
            "Check in the application. If rows of one \"{to}\" change together, begin the primary key with ({}): then they \
             share a partition and a transaction.",
            listed(&recorded.columns)
        )
    };
    (Kind::ForeignKey, Severity::High, meaning, advice)
}

fn unique(table: &Relation, recorded: &Unenforced) -> Said {
    let columns = listed(&recorded.columns);
    if table.is_unique_by_key(&recorded.columns) {
        let meaning = format!("({columns}) holds the primary key, so it is unique anyway.");
        return (Kind::Unique, Severity::Info, meaning, "Nothing to do.".to_owned());
    }
    let meaning = format!(
        "Two rows with the same ({columns}) are accepted: the model has one index, on PartitionKey and RowKey. ON CONFLICT \
         ({columns}) is refused (42P10), and a look-up by it reads the whole table."
    );
    (Kind::Unique, Severity::High, meaning, second_table(table, &columns, true))
}

fn index(table: &Relation, recorded: &Unenforced, unique: bool) -> Said {
    let columns = if recorded.columns.is_empty() { "an expression".to_owned() } else { listed(&recorded.columns) };
    if unique {
        let meaning =
            format!("Two rows with the same ({columns}) are accepted, and a look-up by it reads the whole table.");
        return (Kind::UniqueIndex, Severity::High, meaning, second_table(table, &columns, true));
    }
    let key = key_of(table);
    let serves = !recorded.columns.is_empty()
        && key.len() >= recorded.columns.len()
        && key.iter().zip(&recorded.columns).all(|(part, column)| part == column);
    if serves {
        let meaning = format!("The primary key begins with ({columns}), so it serves the same queries.");
        return (Kind::Index, Severity::Info, meaning, "Nothing to do.".to_owned());
    }
    let meaning = format!(
        "A query by ({columns}) reads the whole table, or the partition where the query names one, and every entity read is \
         paid for."
    );
    (Kind::Index, Severity::Medium, meaning, second_table(table, &columns, false))
}

fn second_table(table: &Relation, columns: &str, unique: bool) -> String {
    let key = key_of(table);
    if key.is_empty() {
        return match unique {
            true => format!("Make ({columns}) the primary key: ALTER TABLE ... ADD PRIMARY KEY ({columns})."),
            false => format!("Give the table a primary key that begins with ({columns})."),
        };
    }
    let key = listed(&key);
    if unique {
        format!(
            "Make ({columns}) the primary key, or keep a second table whose primary key it is and that holds ({key}): \
             inserting there first refuses duplicates. The two tables change in two transactions."
        )
    } else {
        format!(
            "Begin the primary key with ({columns}), or keep a second table with the key ({columns}, {key}). The two tables \
             change in two transactions."
        )
    }
}
