//! Constraints and indexes as the catalogue lists them: the primary key, checks, and what is only recorded.

use tablegate_types::constraint::{Check, Deferral, ReferentialAction, Unenforced, UnenforcedKind};
use tablegate_types::quoting::quote_ident;

use super::deparse::{self, IndexShape};
use super::objects::{column_name, constraint_oid, has_key, index_oid, key_list, key_numbers, visible_columns};
use crate::relation::Relation;

/// First OID, from the table's own, for constraints besides the key; each takes two.
const FIRST_CONSTRAINT: u32 = 280;

/// A constraint, as a row of `pg_constraint`.
#[derive(Clone, Copy)]
pub(super) enum TableConstraint<'a> {
    PrimaryKey(&'a Relation),
    Check(&'a Relation, &'a Check),
    /// UNIQUE or FOREIGN KEY.
    Recorded(&'a Relation, &'a Unenforced),
}

/// An index, as a row of `pg_index`.
#[derive(Clone, Copy)]
pub(super) enum TableIndex<'a> {
    PrimaryKey(&'a Relation),
    /// CREATE INDEX, or the index of a UNIQUE.
    Recorded(&'a Relation, &'a Unenforced),
}

impl<'a> TableConstraint<'a> {
    pub(super) fn of_table(table: &'a Relation) -> impl Iterator<Item = Self> {
        let key = has_key(table).then_some(TableConstraint::PrimaryKey(table));
        let checks = table.constraints.checks.iter().map(move |check| TableConstraint::Check(table, check));
        let is_index = |recorded: &&Unenforced| matches!(recorded.kind, UnenforcedKind::Index { .. });
        let recorded = table.constraints.unenforced.iter().filter(move |recorded| !is_index(recorded));
        key.into_iter().chain(checks).chain(recorded.map(move |r| TableConstraint::Recorded(table, r)))
    }

    pub(super) fn table(&self) -> &'a Relation {
        match self {
            TableConstraint::PrimaryKey(table)
            | TableConstraint::Check(table, _)
            | TableConstraint::Recorded(table, _) => table,
        }
    }

    pub(super) fn oid(&self) -> u32 {
        match self {
            TableConstraint::PrimaryKey(table) => constraint_oid(table),
            TableConstraint::Check(table, check) => numbered_oid(table, check.number),
            TableConstraint::Recorded(table, recorded) => numbered_oid(table, recorded.number),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            TableConstraint::PrimaryKey(table) => table.primary_key_name(),
            TableConstraint::Check(_, check) => check.name.clone(),
            TableConstraint::Recorded(_, recorded) => recorded.name.clone(),
        }
    }

    /// As `contype` has it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            TableConstraint::PrimaryKey(_) => "p",
            TableConstraint::Check(..) => "c",
            TableConstraint::Recorded(_, recorded) => match recorded.kind {
                UnenforcedKind::ForeignKey { .. } => "f",
                UnenforcedKind::Unique { .. } | UnenforcedKind::Index { .. } => "u",
            },
        }
    }

    /// The numbers of its columns.
    pub(super) fn columns(&self) -> Vec<i32> {
        match self {
            TableConstraint::PrimaryKey(table) => key_numbers(table),
            TableConstraint::Check(table, check) => numbers(table, &check.columns),
            TableConstraint::Recorded(table, recorded) => numbers(table, &recorded.columns),
        }
    }

    /// The index behind it, 0 for none.
    pub(super) fn index(&self) -> u32 {
        match self {
            TableConstraint::PrimaryKey(table) => index_oid(table),
            TableConstraint::Recorded(table, recorded) if self.kind() == "u" => {
                TableIndex::Recorded(table, recorded).oid()
            }
            TableConstraint::Check(..) | TableConstraint::Recorded(..) => 0,
        }
    }

    pub(super) fn deferral(&self) -> Deferral {
        match self {
            TableConstraint::Recorded(_, recorded) => match recorded.kind {
                UnenforcedKind::ForeignKey { deferral, .. } | UnenforcedKind::Unique { deferral, .. } => deferral,
                UnenforcedKind::Index { .. } => Deferral::NotDeferrable,
            },
            TableConstraint::PrimaryKey(_) | TableConstraint::Check(..) => Deferral::NotDeferrable,
        }
    }

    /// Whether every row fulfils it, or is said to.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            TableConstraint::Check(_, check) => !check.not_valid,
            _ => self.is_enforced() || self.kind() == "u",
        }
    }

    /// Whether new rows have to fulfil it.
    pub(super) fn is_enforced(&self) -> bool {
        match self {
            TableConstraint::PrimaryKey(_) | TableConstraint::Check(..) => true,
            TableConstraint::Recorded(table, recorded) => {
                self.kind() == "u" && table.is_unique_by_key(&recorded.columns)
            }
        }
    }

    /// The condition of one of the table's CHECKs.
    fn condition(&self, check: &Check, pretty: bool) -> String {
        deparse::condition(self.table(), &check.expression, pretty)
    }

    /// The condition of a CHECK, printed in full.
    pub(super) fn check(&self) -> Option<String> {
        match self {
            TableConstraint::Check(_, check) => Some(self.condition(check, false)),
            TableConstraint::PrimaryKey(_) | TableConstraint::Recorded(..) => None,
        }
    }

    /// As `pg_get_constraintdef` prints it.
    pub(super) fn definition(&self, pretty: bool) -> String {
        match self {
            TableConstraint::PrimaryKey(table) => format!("PRIMARY KEY ({})", key_list(table)),
            TableConstraint::Check(_, check) => {
                let not_valid = if check.not_valid { " NOT VALID" } else { "" };
                format!("CHECK ({}){not_valid}", self.condition(check, pretty))
            }
            TableConstraint::Recorded(_, recorded) => recorded_definition(recorded),
        }
    }
}

impl<'a> TableIndex<'a> {
    pub(super) fn of_table(table: &'a Relation) -> impl Iterator<Item = Self> {
        let key = has_key(table).then_some(TableIndex::PrimaryKey(table));
        let is_key = |recorded: &&Unenforced| matches!(recorded.kind, UnenforcedKind::ForeignKey { .. });
        let recorded = table.constraints.unenforced.iter().filter(move |recorded| !is_key(recorded));
        key.into_iter().chain(recorded.map(move |r| TableIndex::Recorded(table, r)))
    }

    pub(super) fn table(&self) -> &'a Relation {
        match self {
            TableIndex::PrimaryKey(table) | TableIndex::Recorded(table, _) => table,
        }
    }

    pub(super) fn oid(&self) -> u32 {
        match self {
            TableIndex::PrimaryKey(table) => index_oid(table),
            TableIndex::Recorded(table, recorded) => numbered_oid(table, recorded.number).wrapping_add(1),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            TableIndex::PrimaryKey(table) => table.primary_key_name(),
            TableIndex::Recorded(_, recorded) => recorded.name.clone(),
        }
    }

    /// The index of the key, or of a UNIQUE, over exactly these columns in any order.
    pub(super) fn unique_over(table: &'a Relation, columns: &[String]) -> Option<Self> {
        let mut wanted = numbers(table, columns);
        wanted.sort_unstable();
        let is_over = |index: &Self| {
            let mut own = index.columns();
            own.sort_unstable();
            index.is_unique() && index.shape().is_none_or(|shape| shape.predicate().is_none()) && own == wanted
        };
        TableIndex::of_table(table).find(is_over)
    }

    pub(super) fn is_primary(&self) -> bool {
        matches!(self, TableIndex::PrimaryKey(_))
    }

    pub(super) fn is_unique(&self) -> bool {
        match self {
            TableIndex::PrimaryKey(_) => true,
            TableIndex::Recorded(_, recorded) => match recorded.kind {
                UnenforcedKind::Index { unique, .. } => unique,
                UnenforcedKind::Unique { .. } | UnenforcedKind::ForeignKey { .. } => true,
            },
        }
    }

    /// Whether it takes two NULLs for equal, by its shape.
    pub(super) fn is_nulls_not_distinct(&self, shape: Option<&IndexShape>) -> bool {
        match self {
            TableIndex::PrimaryKey(_) => false,
            TableIndex::Recorded(_, recorded) => match recorded.kind {
                UnenforcedKind::Unique { nulls_not_distinct, .. } => nulls_not_distinct,
                _ => shape.is_some_and(|shape| shape.nulls_not_distinct),
            },
        }
    }

    /// Whether a query could use it, and it keeps duplicates out: true only where the primary key does.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            TableIndex::PrimaryKey(_) => true,
            TableIndex::Recorded(table, recorded) => {
                matches!(recorded.kind, UnenforcedKind::Unique { .. }) && table.is_unique_by_key(&recorded.columns)
            }
        }
    }

    pub(super) fn is_immediate(&self) -> bool {
        match self {
            TableIndex::PrimaryKey(_) => true,
            TableIndex::Recorded(table, recorded) => {
                TableConstraint::Recorded(table, recorded).deferral() == Deferral::NotDeferrable
            }
        }
    }

    /// The numbers of its columns, those that it only stores last; an expression's is 0.
    pub(super) fn columns(&self) -> Vec<i32> {
        self.columns_of(self.shape().as_ref())
    }

    /// The same by its shape, which takes some time to be read.
    pub(super) fn columns_of(&self, shape: Option<&IndexShape>) -> Vec<i32> {
        match (self, shape) {
            (TableIndex::PrimaryKey(table), _) => key_numbers(table),
            (TableIndex::Recorded(table, _), Some(shape)) => {
                let number = |name: &String| numbers(table, std::slice::from_ref(name)).first().copied().unwrap_or(0);
                let keys = shape.columns.iter().map(|column| column.column.as_ref().map_or(0, number));
                keys.chain(shape.included().iter().map(number)).collect()
            }
            (TableIndex::Recorded(table, recorded), None) => numbers(table, &recorded.columns),
        }
    }

    /// What CREATE INDEX said; `None` for the index of a constraint.
    pub(super) fn shape(&self) -> Option<IndexShape> {
        match self {
            TableIndex::Recorded(table, Unenforced { kind: UnenforcedKind::Index { definition, .. }, .. }) => {
                IndexShape::read(table, definition)
            }
            TableIndex::PrimaryKey(_) | TableIndex::Recorded(..) => None,
        }
    }

    pub(super) fn method(&self) -> &str {
        match self {
            TableIndex::Recorded(_, Unenforced { kind: UnenforcedKind::Index { method, .. }, .. }) => method,
            TableIndex::PrimaryKey(_) | TableIndex::Recorded(..) => "btree",
        }
    }

    /// The statement that would make it.
    pub(super) fn definition(&self, pretty: bool) -> String {
        let table = self.table();
        let unique = if self.is_unique() { "UNIQUE " } else { "" };
        // The pretty form leaves out a schema that is searched anyway.
        let schema = if pretty { String::new() } else { quote_ident(&table.schema_name) + "." };
        let name = quote_ident(&table.name);
        let rest = match self {
            TableIndex::PrimaryKey(table) => format!("({})", key_list(table)),
            TableIndex::Recorded(_, recorded) => match &recorded.kind {
                UnenforcedKind::Index { definition, .. } => {
                    self.shape().map_or_else(|| definition.clone(), |shape| shape.definition(pretty))
                }
                UnenforcedKind::Unique { nulls_not_distinct: true, .. } => {
                    format!("({}) NULLS NOT DISTINCT", list(&recorded.columns))
                }
                UnenforcedKind::Unique { .. } | UnenforcedKind::ForeignKey { .. } => {
                    format!("({})", list(&recorded.columns))
                }
            },
        };
        let index = quote_ident(&self.name());
        format!("CREATE {unique}INDEX {index} ON {schema}{name} USING {} {rest}", self.method())
    }

    /// One of its columns, as SQL would name it.
    pub(super) fn column(&self, position: usize, pretty: bool) -> Option<String> {
        if let Some(shape) = self.shape() {
            return shape.column(position, pretty);
        }
        let number = self.columns().get(position).copied()?;
        column_name(self.table(), number)
    }
}

fn numbered_oid(table: &Relation, number: u32) -> u32 {
    table.oid.wrapping_add(FIRST_CONSTRAINT).wrapping_add(number.wrapping_mul(2))
}

/// The numbers of named columns of a table.
pub(super) fn numbers(table: &Relation, names: &[String]) -> Vec<i32> {
    let number = |name: &String| visible_columns(table).find(|(_, c)| c.name == *name).map(|(n, _)| n);
    names.iter().filter_map(number).collect()
}

fn list(columns: &[String]) -> String {
    let quoted: Vec<String> = columns.iter().map(|column| quote_ident(column)).collect();
    quoted.join(", ")
}

fn recorded_definition(recorded: &Unenforced) -> String {
    let columns = list(&recorded.columns);
    match &recorded.kind {
        UnenforcedKind::Unique { nulls_not_distinct, deferral } => {
            let nulls = if *nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" };
            format!("UNIQUE{nulls} ({columns}){}", deferral_text(*deferral))
        }
        UnenforcedKind::ForeignKey { table, referenced, on_update, on_delete, match_full, deferral } => {
            let full = if *match_full { " MATCH FULL" } else { "" };
            let actions = action_text("ON UPDATE", *on_update) + &action_text("ON DELETE", *on_delete);
            let (table, referenced) = (quote_ident(table), list(referenced));
            let deferral = deferral_text(*deferral);
            format!("FOREIGN KEY ({columns}) REFERENCES {table}({referenced}){full}{actions}{deferral} NOT VALID")
        }
        UnenforcedKind::Index { definition, .. } => definition.clone(),
    }
}

fn deferral_text(deferral: Deferral) -> &'static str {
    match deferral {
        Deferral::NotDeferrable => "",
        Deferral::InitiallyImmediate => " DEFERRABLE",
        Deferral::InitiallyDeferred => " DEFERRABLE INITIALLY DEFERRED",
    }
}

fn action_text(when: &str, action: ReferentialAction) -> String {
    match rule(action) {
        "NO ACTION" => String::new(),
        action => format!(" {when} {action}"),
    }
}

/// The action in words.
pub(super) fn rule(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// The action as `confupdtype` and `confdeltype` have it.
pub(super) fn action_code(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}
