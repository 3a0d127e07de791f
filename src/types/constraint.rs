//! Constraints of a declared table: what is enforced, and what was declared and only recorded.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, SqlError, SqlResult};

/// Constraints a table may have besides its key: each takes two of the table's OIDs.
const NUMBERS: u32 = 116;

/// The constraints of a table, besides NOT NULL and the key itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Constraints {
    /// The primary key's name, where it is not `<table>_pkey`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_key_comment: Option<String>,
    /// The comment on the primary key's index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_key_index_comment: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// UNIQUE, FOREIGN KEY and indexes: declared under `egt.mode = observe`, recorded, not enforced or built.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unenforced: Vec<Unenforced>,
}

/// A CHECK constraint. A row must not make its expression false.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Number among the table's constraints, for its OID.
    pub number: u32,
    pub name: String,
    /// Source text.
    pub expression: String,
    /// The columns the expression names.
    pub columns: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// NOT VALID: rows that were there before it may not fulfil it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
}

/// A constraint or index that is recorded only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unenforced {
    /// As [`Check::number`].
    pub number: u32,
    pub name: String,
    /// Its columns in order. An index's expressions are not among them.
    pub columns: Vec<String>,
    pub kind: UnenforcedKind,
    /// On the constraint, or on the index that stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// On the index of a UNIQUE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_comment: Option<String>,
}

/// What kind of constraint or index is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum UnenforcedKind {
    Unique {
        #[serde(default)]
        nulls_not_distinct: bool,
        #[serde(default)]
        deferral: Deferral,
    },
    ForeignKey {
        /// SQL name of the referenced table.
        table: String,
        referenced: Vec<String>,
        on_update: ReferentialAction,
        on_delete: ReferentialAction,
        #[serde(default)]
        match_full: bool,
        #[serde(default)]
        deferral: Deferral,
    },
    Index {
        unique: bool,
        /// Access method: `btree`, `gin`, ...
        method: String,
        /// What follows the method in the index's definition: `(lower(a) DESC, b) INCLUDE (c) WHERE (d > 0)`.
        definition: String,
    },
}

impl Unenforced {
    /// One without comments.
    pub fn new(number: u32, name: String, columns: Vec<String>, kind: UnenforcedKind) -> Self {
        Self { number, name, columns, kind, comment: None, index_comment: None }
    }
}

impl UnenforcedKind {
    /// Whether it would forbid equal rows.
    pub fn is_unique(&self) -> bool {
        matches!(self, UnenforcedKind::Unique { .. } | UnenforcedKind::Index { unique: true, .. })
    }

    /// Whether it is a constraint, and no index that stands alone.
    pub fn is_constraint(&self) -> bool {
        !matches!(self, UnenforcedKind::Index { .. })
    }

    /// Whether its check may wait for COMMIT.
    pub fn may_wait(&self) -> bool {
        match self {
            UnenforcedKind::Unique { deferral, .. } | UnenforcedKind::ForeignKey { deferral, .. } => {
                *deferral != Deferral::NotDeferrable
            }
            UnenforcedKind::Index { .. } => false,
        }
    }

    /// Whether an index has its name: it is one, or has one.
    pub fn has_index(&self) -> bool {
        !matches!(self, UnenforcedKind::ForeignKey { .. })
    }

    /// Whether it is a foreign key to this table.
    pub fn refers_to(&self, name: &str) -> bool {
        matches!(self, UnenforcedKind::ForeignKey { table, .. } if table == name)
    }
}

/// When a constraint would be checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deferral {
    #[default]
    NotDeferrable,
    InitiallyImmediate,
    InitiallyDeferred,
}

/// What becomes of a referencing row when the referenced one changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferentialAction {
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

impl Constraints {
    /// Whether the table has none of them.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes away the constraint of this name, unless it is the key. Whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.checks.len() + self.unenforced.len();
        self.checks.retain(|c| c.name != name);
        self.unenforced.retain(|c| c.name != name || !c.kind.is_constraint());
        before > self.checks.len() + self.unenforced.len()
    }

    /// Takes away the constraints and indexes that a column is part of, as PostgreSQL does when it drops the column.
    /// `in_definition` says whether an index definition names a column.
    pub fn forget_column(&mut self, column: &str, in_definition: impl Fn(&str, &str) -> bool) {
        self.checks.retain(|c| c.columns.iter().all(|name| name != column));
        self.unenforced.retain(|c| {
            let in_index =
                matches!(&c.kind, UnenforcedKind::Index { definition, .. } if in_definition(definition, column));
            !in_index && c.columns.iter().all(|name| name != column)
        });
    }

    /// The number of the next constraint.
    ///
    /// # Errors
    /// 54000 when the table's OIDs for constraints are used up.
    pub fn next_number(&self) -> SqlResult<u32> {
        let numbers = self.checks.iter().map(|c| c.number).chain(self.unenforced.iter().map(|u| u.number));
        let next = numbers.max().map_or(0, |last| last + 1);
        if next < NUMBERS {
            return Ok(next);
        }
        Err(SqlError::new(ErrorKind::LimitExceeded, format!("a table has at most {NUMBERS} constraints and indexes")))
    }

    /// The names of constraints: those of a table have different ones. An index that stands alone may have the name of a CHECK or
    /// of a foreign key.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let checks = self.checks.iter().map(|c| c.name.as_str());
        let unenforced = self.unenforced.iter().filter(|u| u.kind.is_constraint()).map(|u| u.name.as_str());
        self.primary_key.as_deref().into_iter().chain(checks).chain(unenforced)
    }

    /// Whether an index has this name: one that is recorded, or that of a UNIQUE. The key's is not among them.
    pub fn has_index(&self, name: &str) -> bool {
        self.unenforced.iter().any(|u| u.name == name && u.kind.has_index())
    }

    /// Whether one of the indexes that stand alone has this name.
    pub fn has_index_alone(&self, name: &str) -> bool {
        self.unenforced.iter().any(|u| u.name == name && !u.kind.is_constraint())
    }
}
