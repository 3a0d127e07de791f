//! What is bound, in the engine's form with PostgreSQL's types and operators ([`bound`]), and what the nodes of a plan ask of
//! their expressions.
//!
//! Expressions are made from the leaves up, over columns whose types are final.

mod aggregate;
mod array;
mod bound;
mod cast;
mod chains;
mod conditional;
mod costs;
mod frames;
mod identity;
mod keyed;
mod listed;
mod node;
mod outputs;
mod plans;
mod predicate;
mod rows;
mod sets;
mod sorted_set;

use std::cell::RefCell;

use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::Expr;
use tablegate_types::error::SqlError;

pub(crate) use self::bound::{
    EntryRow, Forms, Surroundings, argument_by_name, bound as engine_form, no_stored_type, outward, sub_query_of,
};
pub(crate) use self::chains::{conjunction, disjunction};
pub(crate) use self::outputs::is_number_of_set;
use super::operand::Operand;
use super::parameters::Parameters;

struct Pass<'a> {
    parameters: &'a Parameters<'a>,
    /// The conditions under which the part of an expression that is being made is computed, where a sequence may count in it.
    taken: RefCell<Vec<Expr>>,
}

impl Pass<'_> {
    fn parameters(&self) -> &Parameters<'_> {
        self.parameters
    }

    fn operand(&self, expr: Expr, schema: &DFSchema) -> Result<Operand> {
        Operand::of(expr, schema)
    }
}

/// One of our errors on its way through the planner.
fn raised(error: Box<SqlError>) -> DataFusionError {
    DataFusionError::External(error)
}
