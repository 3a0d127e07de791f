//! Comments as `pg_description` and `pg_shdescription` have them, and as the functions that look one up give them.

use std::collections::HashMap;
use std::sync::LazyLock;

use tablegate_types::built_in::RecordedFile;
use tablegate_types::constraint::{Unenforced, UnenforcedKind};

use super::constraints::{TableConstraint, TableIndex};
use super::granted::Granted;
use super::objects::{Objects, TEMPLATE0, TEMPLATE1, visible_columns};
use crate::catalog::DATABASE;
use crate::database::Database;

/// OIDs of the relations that list the objects.
const PG_CLASS: u32 = 1259;
const PG_CONSTRAINT: u32 = 2606;
pub(super) const PG_NAMESPACE: u32 = 2615;
const PG_DATABASE: u32 = 1262;
const PG_AUTHID: u32 = 1260;

/// The comments that schemas have until they get others.
const FIRST_COMMENTS: &[(&str, &str)] = &[
    ("pg_catalog", "system catalog schema"),
    ("pg_toast", "reserved schema for TOAST tables"),
    ("public", "standard public schema"),
];

/// A comment on an object, or on a column of it.
pub(super) struct Comment<'a> {
    pub object: u32,
    /// The relation that lists the object.
    pub class: u32,
    /// The column's number, else 0.
    pub part: i32,
    pub text: &'a str,
}

/// The comments on the database's own objects.
pub(super) fn comments<'a>(objects: &'a Objects) -> Vec<Comment<'a>> {
    let mut found = Vec::new();
    let mut add = |object, class, part, text: Option<&'a String>| {
        found.extend(text.map(|text| Comment { object, class, part, text }));
    };
    for table in &objects.tables {
        add(table.oid, PG_CLASS, 0, table.comments.table.as_ref());
        for (number, column) in visible_columns(table) {
            add(table.oid, PG_CLASS, number, table.comments.columns.get(&column.name));
        }
        for constraint in TableConstraint::of_table(table) {
            add(constraint.oid(), PG_CONSTRAINT, 0, on_constraint(&constraint));
        }
        for index in TableIndex::of_table(table) {
            add(index.oid(), PG_CLASS, 0, on_index(&index));
        }
    }
    for view in &objects.views {
        add(view.oid, PG_CLASS, 0, view.comment.as_ref());
        for (number, column) in (1..).zip(&view.columns) {
            add(view.oid, PG_CLASS, number, column.comment.as_ref());
        }
    }
    for sequence in &objects.sequences {
        add(sequence.oid, PG_CLASS, 0, sequence.comment.as_ref());
    }
    for (oid, name) in objects.schemas() {
        let first = FIRST_COMMENTS.iter().find(|(schema, _)| *schema == name).map(|(_, text)| *text);
        let text = objects.comments.schemas.get(&name).map(String::as_str).or(first).filter(|text| !text.is_empty());
        found.extend(text.map(|text| Comment { object: oid, class: PG_NAMESPACE, part: 0, text }));
    }
    found
}

/// The comments on the database's own objects by object and part: with the relation that lists the object.
pub(super) struct Commented(HashMap<(u32, i32), Vec<(u32, String)>>);

impl Commented {
    pub(super) fn in_all(objects: &Objects) -> Self {
        let mut by_object: HashMap<_, Vec<_>> = HashMap::new();
        for Comment { object, class, part, text } in comments(objects) {
            by_object.entry((object, part)).or_default().push((class, text.to_owned()));
        }
        Self(by_object)
    }

    fn of(&self, object: u32, part: i32) -> impl Iterator<Item = &(u32, String)> {
        self.0.get(&(object, part)).into_iter().flatten()
    }
}

/// The comments on what all databases share.
pub(super) fn shared_comments<'a>(objects: &'a Objects, granted: &Granted, database: &Database) -> Vec<Comment<'a>> {
    let made = |object, class, text: &'a str| Comment { object, class, part: 0, text };
    let on_database = objects.comments.databases.get(database.own_name()).map(|text| made(DATABASE, PG_DATABASE, text));
    let on_roles = objects
        .comments
        .roles
        .iter()
        .filter_map(|(name, text)| granted.roles.named(name).map(|role| made(role.oid, PG_AUTHID, text)));
    let templates = [(TEMPLATE1, "default template for new databases"), (TEMPLATE0, "unmodifiable empty database")];
    let templates = templates.map(|(object, text)| Comment { object, class: PG_DATABASE, part: 0, text });
    on_database.into_iter().chain(on_roles).chain(templates).collect()
}

/// The comment on an object; without a relation that lists it, on the first object of the OID.
pub(super) fn comment_on(objects: &Objects, object: u32, class: Option<u32>, part: i32) -> Option<String> {
    let own = objects.commented().of(object, part).find(|(of, _)| class.is_none_or(|class| class == *of));
    own.map(|(_, text)| text.clone()).or_else(|| {
        let recorded = RECORDED.get(&object).filter(|_| part == 0)?;
        recorded.iter().find(|(of, _)| class.is_none_or(|class| class == *of)).map(|(_, text)| (*text).to_owned())
    })
}

/// The comments on built-in objects: by OID, those of each relation that lists one.
static RECORDED: LazyLock<HashMap<u32, Vec<(u32, &'static str)>>> = LazyLock::new(|| {
    let mut by_object: HashMap<u32, Vec<(u32, &'static str)>> = HashMap::new();
    let Some(file) = RecordedFile::of("pg_description") else { return by_object };
    let columns = ["objoid", "classoid", "description"].map(|column| file.position(column));
    for row in file.rows() {
        let [object, class, text] = columns.map(|at| at.and_then(|at| row.get(at).copied()).unwrap_or_default());
        if let (Ok(object), Ok(class)) = (object.parse(), class.parse()) {
            by_object.entry(object).or_default().push((class, text));
        }
    }
    by_object
});

fn on_constraint<'a>(constraint: &TableConstraint<'a>) -> Option<&'a String> {
    match constraint {
        TableConstraint::PrimaryKey(table) => table.constraints.primary_key_comment.as_ref(),
        TableConstraint::Check(_, check) => check.comment.as_ref(),
        TableConstraint::Recorded(_, recorded) => recorded.comment.as_ref(),
    }
}

fn on_index<'a>(index: &TableIndex<'a>) -> Option<&'a String> {
    match index {
        TableIndex::PrimaryKey(table) => table.constraints.primary_key_index_comment.as_ref(),
        TableIndex::Recorded(_, recorded @ Unenforced { kind: UnenforcedKind::Index { .. }, .. }) => {
            recorded.comment.as_ref()
        }
        TableIndex::Recorded(_, recorded) => recorded.index_comment.as_ref(),
    }
}
