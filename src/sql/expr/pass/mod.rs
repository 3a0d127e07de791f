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

use std::cell::{Cell, RefCell};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::Expr;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

pub(crate) use self::bound::{
    EntryRow, Forms, Surroundings, argument_by_name, bound as engine_form, no_stored_type, outward, sub_query_of,
};
pub(crate) use self::chains::{conjunction, disjunction, relations_of};
pub(crate) use self::outputs::is_number_of_set;
pub(crate) use self::predicate::may_fail;
use super::operand::Operand;
use super::parameters::Parameters;
use crate::limits::MAX_REPEATED;

struct Pass<'a> {
    parameters: &'a Parameters<'a>,
    /// The conditions under which the part of an expression that is being made is computed, where a sequence may count in it.
    taken: RefCell<Vec<Expr>>,
    /// Of how many expressions those are made that stand in several places.
    repeated: Cell<usize>,
}

impl Pass<'_> {
    /// Counts an expression that is to stand in another place too.
    ///
    /// # Errors
    /// 54001 when there are too many: forms that need it, within each other, double it with each of them.
    fn repeat(&self, expr: &Expr) -> SqlResult<()> {
        let mut size = 0;
        expr.apply(|_| {
            size += 1;
            Ok(TreeNodeRecursion::Continue)
        })?;
        self.repeated.set(self.repeated.get() + size);
        match self.repeated.get() > MAX_REPEATED {
            true => Err(SqlError::new(ErrorKind::TooComplex, "the statement is too complex")
                .with_detail("Rows that are compared are computed for each comparison, and stand within each other.")
                .with_hint("Compute what is compared in a sub-query, and compare its columns.")),
            false => Ok(()),
        }
    }

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
