//! What statements mean: the one place that finds names, types and overloads, as PostgreSQL finds them.
//!
//! Syntax goes in, with the names of a [`Scope`] and what a [`Catalogue`] has besides what is built in; a [`BoundExpr`] comes
//! out, in which nothing is left to be found: every part has its type, every operator and function is one row of the
//! catalogue. Whoever computes, prints or restricts expressions reads that. Everything here is pure, and knows nothing
//! of who computes.
//!
//! ```text
//!     catalogue    types, casts, operators and functions: one table each
//!     expr, walk, alike
//!                  expressions that are bound: gone through, compared
//!     coerce       how values of one type become ones of another
//!     resolve      which operator or function is meant
//!     binder       from syntax to meaning: expressions
//!     query        the same of queries
//!     statement    and of statements, which are the door: [`statement::bind_statement`]
//!     name         names as they are written; parsed: syntax on its way to the binder
//!     scope, hints the names there are; what a wrong one may have been meant for
//!     namespace    which of them may be said where
//!     usage        what an expression is for, and what is refused there
//!     typing       what finding types needs and leaves
//!     parameters   their types, which are found on the way
//!     print        what is bound, as PostgreSQL prints it
//!     place        where in the text something stands
//! ```

#![warn(clippy::panic, clippy::unwrap_used)]

mod alike;
mod binder;
pub mod catalogue;
mod coerce;
mod constant;
pub mod expr;
mod hints;
mod name;
mod namespace;
mod numeric;
mod parameters;
mod parsed;
mod place;
mod print;
pub mod query;
mod resolve;
mod scope;
pub mod statement;
mod typing;
mod usage;
mod walk;

pub use self::binder::{
    Binder, BoundSubQuery, Reach, ReachedLevel, SYMMETRIC, SubQueries, VARIADIC, collation_named, items_of, set_right,
};
pub use self::catalogue::collations::name as collation_name;
pub use self::catalogue::oids::DEFAULT_COLLATION;
pub use self::catalogue::{BuiltInOnly, Catalogue, Lookup, Oid};
pub use self::expr::{BoundExpr, ExprKind, ExprType};
pub use self::name::{Identifier, Name, QualifiedName, folded};
pub use self::namespace::{Namespace, Shown};
pub use self::parameters::Parameters;
pub use self::parsed::{ParsedExpression, ParsedQuery};
pub use self::place::{AtPlace, Place, Source};
pub use self::print::{Names, Printing, QueryPrinting, RelationNames, StoredNames, query_text};
pub use self::query::ROWS_FROM;
pub use self::query::bound::BoundQuery;
pub use self::scope::{Entry, Scope, ScopeColumn};
pub use self::statement::{BoundStatement, StatementBinder, bind_statement};
pub use self::usage::Usage;

#[cfg(test)]
mod facts;
#[cfg(test)]
mod tests;
