//! Types that tables cannot have: those of the system catalogue's columns, and that of bit string literals. Their names,
//! and how their values are kept.

use arrow::datatypes::DataType;

/// A type that tables cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CatalogType {
    /// A transaction's number.
    Xid,
    /// An expression, kept as the text it stands for.
    NodeTree,
    /// A privilege.
    AclItem,
    /// An array of whatever type a column has.
    AnyArray,
    /// The address of a host.
    Inet,
    /// A place in the log.
    Lsn,
    /// A bit string, kept as its digits.
    Bit,
    /// Extended statistics, of which there are none: distinct values, dependencies, most common values, expressions.
    NDistinct,
    Dependencies,
    McvList,
    Statistic,
    /// References to objects, printed by name, as `regclass` is.
    Regprocedure,
    Regoper,
    Regoperator,
    Regnamespace,
    Regrole,
    Regcollation,
    Regconfig,
    Regdictionary,
}

impl CatalogType {
    pub const ALL: &[Self] = &[
        Self::Xid,
        Self::NodeTree,
        Self::AclItem,
        Self::AnyArray,
        Self::Inet,
        Self::Lsn,
        Self::Bit,
        Self::NDistinct,
        Self::Dependencies,
        Self::McvList,
        Self::Statistic,
        Self::Regprocedure,
        Self::Regoper,
        Self::Regoperator,
        Self::Regnamespace,
        Self::Regrole,
        Self::Regcollation,
        Self::Regconfig,
        Self::Regdictionary,
    ];

    /// Its name in `pg_type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xid => "xid",
            Self::NodeTree => "pg_node_tree",
            Self::AclItem => "aclitem",
            Self::AnyArray => "anyarray",
            Self::Inet => "inet",
            Self::Lsn => "pg_lsn",
            Self::Bit => "bit",
            Self::NDistinct => "pg_ndistinct",
            Self::Dependencies => "pg_dependencies",
            Self::McvList => "pg_mcv_list",
            Self::Statistic => "pg_statistic",
            Self::Regprocedure => "regprocedure",
            Self::Regoper => "regoper",
            Self::Regoperator => "regoperator",
            Self::Regnamespace => "regnamespace",
            Self::Regrole => "regrole",
            Self::Regcollation => "regcollation",
            Self::Regconfig => "regconfig",
            Self::Regdictionary => "regdictionary",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }

    /// The Arrow type of its values: a number, else the text PostgreSQL prints.
    pub fn arrow(self) -> DataType {
        if self.is_number() { DataType::UInt32 } else { DataType::Utf8 }
    }

    /// Whether its values are references to objects.
    pub fn names_objects(self) -> bool {
        matches!(
            self,
            Self::Regprocedure
                | Self::Regoper
                | Self::Regoperator
                | Self::Regnamespace
                | Self::Regrole
                | Self::Regcollation
                | Self::Regconfig
                | Self::Regdictionary
        )
    }

    pub fn is_number(self) -> bool {
        self == Self::Xid
    }
}
