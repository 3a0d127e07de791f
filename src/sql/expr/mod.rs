//! Expressions as PostgreSQL 15 types them.
//!
//! The planner knows the engine's types and operators, which are not PostgreSQL's: to it every integer literal is a bigint,
//! arithmetic wraps, and texts and numbers meet. So expressions go a way of their own:
//!
//! ```text
//! syntax    forms that PostgreSQL binds or writes otherwise become plain calls
//! pending   operators and functions of any types are planned as calls that wait
//! pass      over the finished plan, leaves first: literals get the types that the places where they
//!           stand ask for, waiting calls become comparisons, computations (kernels) or functions
//! fold      once the parameters are values: what is constant is computed, before anything is read
//! ```
//!
//! What is left are expressions whose types are exact, to which the engine's own coercions have nothing to add. Comparisons
//! stay the engine's, because scans read key ranges out of them.

mod aggregates;
mod arithmetic;
mod catalog_functions;
mod chosen;
mod comparison;
mod fold;
mod function;
mod kernels;
mod literal;
mod operand;
mod operation;
mod operators;
mod parameters;
mod pass;
mod pattern;
mod pending;
mod planner;
mod record;
mod references;
mod sort_key;
mod syntax;
mod typed;

pub(super) use aggregates::{
    FIRST_OF, ITEMS_OF, ONLY_OF, comparable, find as find_aggregate, listed_of, rectangular, sorts_itself,
};
pub(super) use catalog_functions::{CatalogFunctions, name_of, oid_of};
pub(super) use fold::{constants, folded, has_constant_part, is_foldable, is_immutable_cast, unaliased};
pub(super) use function::refused as refused_call;
pub(super) use kernels::{Choice, Found, choice_of};
pub(super) use parameters::{Parameters, index as parameter_number, value_of as parameter_value};
pub(super) use pass::{Forms, Surroundings, engine_form, typed as type_plan};
pub(super) use pending::{
    cast_function, field_function, find as find_function, missing as missing_function, row_function,
};
pub(super) use planner::{Operations, TypeNames};
pub(super) use record::RowLayout;
pub(super) use syntax::lower;
