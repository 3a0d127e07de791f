//! Expressions as PostgreSQL 15 types them.
//!
//! The engine's types and operators are not PostgreSQL's: its arithmetic wraps, and texts and numbers meet. So expressions
//! go a way of their own:
//!
//! ```text
//! pass      what is bound, in the engine's form, leaves first: calls become comparisons, computations (kernels) or functions;
//!           and what the nodes of a plan ask of their expressions
//! meaning   what a call means, before the types of its operands say which operator or function it is
//! windows   window functions that the engine does not have
//! fold      once the parameters are values: what is constant is computed, before anything is read
//! printed   how EXPLAIN writes them
//! ```
//!
//! What is left are expressions whose types are exact, to which the engine's own coercions have nothing to add. Comparisons
//! stay the engine's, because scans read key ranges out of them.

mod aggregates;
mod arithmetic;
mod array_constructor;
mod catalog_functions;
mod chosen;
mod comparison;
mod fold;
mod function;
mod kernels;
mod literal;
mod meaning;
mod operand;
mod operation;
mod operators;
mod parameters;
mod pass;
mod pattern;
mod printed;
mod quantified;
mod record;
mod references;
mod sample;
mod set_functions;
mod sort_key;
mod typed;
mod windows;

pub(super) use aggregates::{comparable, listed_of, rectangular, sorts_itself};
pub(super) use catalog_functions::{CatalogFunctions, SETTING_BY_ROW};
pub(super) use fold::{
    constants, folded, folded_over, has_constant_part, is_coalesce, is_foldable, is_immutable_cast, unaliased,
};
pub(super) use kernels::{Choice, Found, choice_of, is_cast};
pub(super) use literal::literal;
pub(super) use operand::known_as;
pub(super) use parameters::{Parameters, index as parameter_number, value_of as parameter_value};
pub(super) use pass::{
    EntryRow, Forms, Surroundings, argument_by_name, conjunction, disjunction, engine_form, is_number_of_set, may_fail,
    no_stored_type, outward, relations_of, sub_query_of,
};
pub(super) use printed::{of_column, printed, printed_physical};
pub(super) use sample::is_in_sample;
pub(super) use set_functions::columns_of as set_columns;
