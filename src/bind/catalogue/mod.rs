//! What there is: types, casts, operators and functions, each in one table. What PostgreSQL 15 has built in is recorded; a
//! server adds its own by [`Catalogue`].

pub mod casts;
pub mod collations;
pub mod functions;
pub mod names;
pub mod oids;
pub mod operators;
pub(crate) mod orders;
pub mod relations;
mod rows;
pub mod types;

pub use self::casts::CastContext;
pub use self::functions::{Function, FunctionKind, FunctionRef, OverOrdered};
pub use self::oids::Oid;
pub use self::operators::Operator;
pub use self::relations::{Given, Key, Origin, Relation, RelationColumn, RelationKind, RelationRef};
pub use self::types::{Type, TypeKind};

use crate::name::Name;

/// What a server has besides what is built in.
pub trait Catalogue {
    fn own_type(&self, _oid: Oid) -> Option<&Type> {
        None
    }

    /// A type by its name, and its schema where the statement says it.
    fn own_type_named(&self, _schema: Option<&str>, _name: &str) -> Option<&Type> {
        None
    }

    /// Functions by their name, and their schema where the statement says it.
    fn own_functions(&self, _schema: Option<&str>, _name: &str) -> Vec<FunctionRef> {
        Vec::new()
    }

    fn has_schema(&self, name: &str) -> bool {
        name == "public"
    }

    /// Whether it is the name of the database that the statement runs in.
    fn is_database(&self, _name: &str) -> bool {
        false
    }

    /// A table or a view by its name, and its schema where the statement says it.
    fn relation(&self, _schema: Option<&Name>, _name: &Name) -> Option<RelationRef> {
        None
    }

    /// The columns of a relation's rows: names, types and modifiers.
    fn columns_of(&self, _relation: Oid) -> Vec<(String, Oid, i32)> {
        Vec::new()
    }
}

/// Nothing but what is built in.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltInOnly;

impl Catalogue for BuiltInOnly {}

/// The tables, with the rules that are a matter of a look into them.
#[derive(Clone, Copy)]
pub struct Lookup<'c>(pub(crate) &'c dyn Catalogue);

impl<'c> Lookup<'c> {
    pub fn new(catalogue: &'c dyn Catalogue) -> Self {
        Self(catalogue)
    }

    pub(crate) fn get(self, oid: Oid) -> Option<&'c Type> {
        types::built_in(oid).or_else(|| self.0.own_type(oid))
    }

    pub(crate) fn type_named(self, schema: Option<&str>, name: &str) -> Option<&'c Type> {
        let built_in = || types::built_in_named(name);
        match schema {
            Some("pg_catalog") => built_in(),
            Some(_) => self.0.own_type_named(schema, name),
            None => built_in().or_else(|| self.0.own_type_named(None, name)),
        }
    }

    pub(crate) fn functions(self, schema: Option<&str>, name: &str) -> Vec<FunctionRef> {
        let mut found: Vec<FunctionRef> = functions::named(schema, name).map(FunctionRef::BuiltIn).collect();
        if schema != Some("pg_catalog") {
            let own = self.0.own_functions(schema, name);
            // What comes first on the search path hides what takes the same.
            let hidden = |own: &FunctionRef| found.iter().any(|known| known.arguments == own.arguments);
            let seen: Vec<FunctionRef> = own.into_iter().filter(|own| !hidden(own)).collect();
            found.extend(seen);
        }
        found
    }

    pub(crate) fn has_schema(self, name: &str) -> bool {
        matches!(name, "pg_catalog" | "information_schema") || self.0.has_schema(name)
    }

    pub(crate) fn is_database(self, name: &str) -> bool {
        self.0.is_database(name)
    }

    pub(crate) fn category(self, oid: Oid) -> u8 {
        self.get(oid).map_or(b'X', |t| t.category)
    }

    pub(crate) fn is_preferred(self, oid: Oid) -> bool {
        self.get(oid).is_some_and(|t| t.is_preferred)
    }

    /// The type of an array's items; `None` for what is no true array.
    pub(crate) fn element(self, oid: Oid) -> Option<Oid> {
        self.get(oid).filter(|t| t.is_array).map(|t| t.element)
    }

    /// The same of a domain over an array too.
    pub(crate) fn base_element(self, oid: Oid) -> Option<Oid> {
        self.element(self.base(oid))
    }

    /// The type of arrays of a type.
    pub(crate) fn array(self, oid: Oid) -> Option<Oid> {
        self.get(oid).map(|t| t.array).filter(|array| *array != 0)
    }

    /// What a domain is of in the end; other types are themselves.
    pub(crate) fn base(self, oid: Oid) -> Oid {
        self.base_and_typmod(oid, -1).0
    }

    /// The same with the modifier that the domain gives it.
    pub(crate) fn base_and_typmod(self, oid: Oid, typmod: i32) -> (Oid, i32) {
        let (mut oid, mut typmod) = (oid, typmod);
        while let Some(domain) = self.get(oid).filter(|t| t.kind == TypeKind::Domain) {
            (oid, typmod) = (domain.base, domain.base_typmod);
        }
        (oid, typmod)
    }

    /// Whether its values are rows of columns that are known.
    pub(crate) fn is_composite(self, oid: Oid) -> bool {
        self.get(self.base(oid)).is_some_and(|t| t.kind == TypeKind::Composite)
    }

    /// Whether its values are rows.
    pub(crate) fn is_row(self, oid: Oid) -> bool {
        oid == oids::RECORD || self.is_composite(oid)
    }

    pub fn collation_of_type(self, oid: Oid) -> Oid {
        self.get(oid).map_or(0, |t| t.collation)
    }

    /// The type of a range's bounds.
    pub(crate) fn range_bounds(self, oid: Oid) -> Option<Oid> {
        self.get(oid).filter(|t| t.kind == TypeKind::Range).map(|t| t.bounds)
    }

    /// The type of a multirange's ranges.
    pub(crate) fn multirange_of(self, oid: Oid) -> Option<Oid> {
        self.get(oid).filter(|t| t.kind == TypeKind::Multirange).map(|t| t.range)
    }

    /// The type of multiranges of a range.
    pub(crate) fn multirange(self, range: Oid) -> Option<Oid> {
        self.get(range).filter(|t| t.kind == TypeKind::Range).map(|t| t.range)
    }
}
