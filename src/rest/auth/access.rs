//! What a request may do: everything with a key, and with a shared access signature what that says.

use tablegate_store::model::{Cut, Span, TableName};
use tablegate_types::key_set::{KeySet, Slab};

use super::token::Role;
use crate::error::{Refusal, RestResult};

/// What a client has shown that it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// It has a key of the account.
    Owner,
    /// It has a token.
    Token(Role),
    Sas(Grant),
}

/// What a shared access signature grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub scope: Scope,
    /// Letters, as the signature has them.
    pub permissions: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Of an account: the resource types, as letters.
    Account { resource_types: String },
    /// Of one table, and a range of its keys.
    Table { table: TableName, keys: KeyBounds },
}

/// The first and the last key of a range, each with or without its row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyBounds {
    pub start: Option<(String, Option<String>)>,
    pub end: Option<(String, Option<String>)>,
}

/// What is done with an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntityAction {
    Read,
    Add,
    Update,
    /// Adds it or changes it.
    Upsert,
    Delete,
}

/// What a request needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Need<'a> {
    ReadService,
    WriteService,
    ListTables,
    CreateTable,
    DeleteTable,
    /// Who may what with a table is the owner's alone.
    TableAcl,
    Query(&'a TableName),
    /// An entity is added to the table: which one is not known yet.
    Insert(&'a TableName),
    Entity {
        table: &'a TableName,
        partition: &'a str,
        row: &'a str,
        action: EntityAction,
    },
}

impl Access {
    /// # Errors
    /// When the client may not.
    pub(crate) fn check(&self, need: Need<'_>) -> RestResult<()> {
        let Grant { scope, permissions } = match self {
            Access::Owner => return Ok(()),
            Access::Token(role) => return of_role(*role, need),
            Access::Sas(grant) => grant,
        };
        match scope {
            Scope::Account { resource_types } => {
                let (resource_type, letters) = of_account(need).ok_or(Refusal::NotAuthorized)?;
                if !resource_types.contains(resource_type) {
                    return Err(Refusal::NotThisResourceType);
                }
                has_one_of(permissions, letters)
            }
            Scope::Table { table, keys } => match need {
                Need::Query(asked) if asked == table => has_one_of(permissions, &["r"]),
                Need::Insert(asked) if asked == table => has_one_of(permissions, &[EntityAction::Add.letters()]),
                Need::Entity { table: asked, partition, row, action } if asked == table => {
                    has_one_of(permissions, &[action.letters()])?;
                    if keys.contain(partition, row) { Ok(()) } else { Err(Refusal::NotAuthorized) }
                }
                _ => Err(Refusal::NotAuthorized),
            },
        }
    }

    /// The keys that queries may see.
    pub(crate) fn keys(&self) -> KeySet {
        match self {
            Access::Sas(Grant { scope: Scope::Table { keys, .. }, .. }) => keys.set(),
            Access::Owner | Access::Token(_) | Access::Sas(_) => KeySet::All,
        }
    }
}

/// Roles are about tables and what is in them.
fn of_role(role: Role, need: Need<'_>) -> RestResult<()> {
    let least = match need {
        Need::ReadService | Need::WriteService | Need::TableAcl => return Err(Refusal::NotAuthorized),
        Need::ListTables | Need::Query(_) | Need::Entity { action: EntityAction::Read, .. } => Role::Reader,
        Need::CreateTable | Need::DeleteTable | Need::Insert(_) | Need::Entity { .. } => Role::Contributor,
    };
    if role >= least { Ok(()) } else { Err(Refusal::NoPermission) }
}

/// Which type of resource it is, and alternatives of permissions, each of which is enough.
fn of_account(need: Need<'_>) -> Option<(char, &'static [&'static str])> {
    Some(match need {
        Need::ReadService => ('s', &["r"]),
        Need::WriteService => ('s', &["w"]),
        Need::ListTables => ('c', &["l"]),
        Need::CreateTable => ('c', &["c", "w"]),
        Need::DeleteTable => ('c', &["d"]),
        Need::TableAcl => return None,
        Need::Query(_) => ('o', &["r"]),
        Need::Insert(_) => ('o', &["a"]),
        Need::Entity { action, .. } => match action {
            EntityAction::Read => ('o', &["r"]),
            EntityAction::Add => ('o', &["a"]),
            EntityAction::Update => ('o', &["u"]),
            EntityAction::Upsert => ('o', &["au"]),
            EntityAction::Delete => ('o', &["d"]),
        },
    })
}

impl EntityAction {
    fn letters(self) -> &'static str {
        match self {
            EntityAction::Read => "r",
            EntityAction::Add => "a",
            EntityAction::Update => "u",
            EntityAction::Upsert => "au",
            EntityAction::Delete => "d",
        }
    }
}

/// # Errors
/// When none of the alternatives is there with all its letters.
fn has_one_of(permissions: &str, alternatives: &[&str]) -> RestResult<()> {
    let has_all = |letters: &&str| letters.chars().all(|letter| permissions.contains(letter));
    if alternatives.iter().any(has_all) { Ok(()) } else { Err(Refusal::NoPermission) }
}

impl KeyBounds {
    fn contain(&self, partition: &str, row: &str) -> bool {
        self.set().contains(&[partition, row])
    }

    fn set(&self) -> KeySet {
        let from = self.start.as_ref().map_or(KeySet::All, |(partition, row)| {
            let row = row.as_deref().unwrap_or_default();
            let rows = KeySet::on_axis(0, vec![Span { from: Cut::Before(row.into()), to: Cut::Max }]);
            let behind = Span { from: Cut::After(partition.as_str().into()), to: Cut::Max };
            KeySet::from_slabs([
                Slab { span: Span::point(partition.as_str()), rest: rows },
                Slab { span: behind, rest: KeySet::All },
            ])
        });
        let to = self.end.as_ref().map_or(KeySet::All, |(partition, row)| {
            let to = row.as_deref().map_or(Cut::Max, |row| Cut::After(row.into()));
            let rows = KeySet::on_axis(0, vec![Span { from: Cut::Min, to }]);
            let before = Span { from: Cut::Min, to: Cut::Before(partition.as_str().into()) };
            KeySet::from_slabs([
                Slab { span: before, rest: KeySet::All },
                Slab { span: Span::point(partition.as_str()), rest: rows },
            ])
        });
        from.intersect(&to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_keys_is_one_of_pairs() {
        let bound = |partition: &str, row: Option<&str>| Some((partition.to_owned(), row.map(str::to_owned)));
        let bounds = KeyBounds { start: bound("b", Some("5")), end: bound("d", Some("5")) };
        let cases = [
            ("a", "9", false),
            ("b", "4", false),
            ("b", "5", true),
            ("c", "", true),
            ("d", "5", true),
            ("d", "50", false),
        ];
        for (partition, row, is_in) in cases {
            assert_eq!(bounds.contain(partition, row), is_in, "{partition} {row}");
        }
        let whole = KeyBounds { start: bound("b", None), end: bound("b", None) };
        assert!(whole.contain("b", "") && whole.contain("b", "zz") && !whole.contain("ba", ""));
        assert!(KeyBounds::default().set().is_all());
    }

    #[test]
    fn an_upsert_needs_both_permissions() {
        let table = TableName::parse("Orders").unwrap();
        let grant = |permissions: &str| {
            let scope = Scope::Table { table: table.clone(), keys: KeyBounds::default() };
            Access::Sas(Grant { scope, permissions: permissions.to_owned() })
        };
        let upsert = Need::Entity { table: &table, partition: "", row: "", action: EntityAction::Upsert };
        assert_eq!(grant("a").check(upsert), Err(Refusal::NoPermission));
        assert_eq!(grant("rau").check(upsert), Ok(()));
        assert_eq!(grant("raud").check(Need::DeleteTable), Err(Refusal::NotAuthorized));
        let other = TableName::parse("Others").unwrap();
        assert_eq!(grant("r").check(Need::Query(&other)), Err(Refusal::NotAuthorized));
    }
}
