//! Names of calls within calls, as the engine gives them to columns.
//!
//! It asks for the name of every part of an expression, again and again, and a name spells out all that is below it: of calls
//! a thousand deep that would be as many texts, the one longer than the other. So a name is spelled out for so many levels;
//! what is below has a number, which is the same for the same expressions.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use tablegate_types::interrupt;

/// Calls within each other that are spelled out.
const LEVELS: usize = 12;
/// Parts of an expression that its number depends on.
const PARTS: usize = 64;

thread_local! {
    static LEVEL: Cell<usize> = const { Cell::new(0) };
}

/// `name(argument,argument)`
///
/// # Errors
/// As [`name_of_call`].
pub(crate) fn name_as_function(name: &str, arguments: &[Expr]) -> Result<String> {
    name_of_call(arguments, || {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.schema_name().to_string()).collect();
        Ok(format!("{name}({})", arguments.join(",")))
    })
}

/// The name of a call of these arguments, which `spell` spells out.
///
/// # Errors
/// What `spell` says; 57014 and its like when the statement is to stop.
pub(crate) fn name_of_call(arguments: &[Expr], spell: impl FnOnce() -> Result<String>) -> Result<String> {
    let level = LEVEL.get();
    if level >= LEVELS {
        return Ok(format!("#{:016x}", number_of(arguments)));
    }
    interrupt::check().map_err(|error| DataFusionError::External(error))?;
    LEVEL.set(level + 1);
    let name = spell();
    LEVEL.set(level);
    name
}

/// The same for the same expressions, and another one for others, unless they differ far inside only.
fn number_of(exprs: &[Expr]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut parts = 0;
    for expr in exprs {
        let _ = expr.apply(|part| {
            std::mem::discriminant(part).hash(&mut hasher);
            match part {
                Expr::Column(_) | Expr::Literal(..) | Expr::Placeholder(_) => part.hash(&mut hasher),
                Expr::ScalarFunction(call) => call.func.name().hash(&mut hasher),
                Expr::BinaryExpr(binary) => binary.op.hash(&mut hasher),
                _ => {}
            }
            parts += 1;
            Ok(if parts < PARTS { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
    }
    hasher.finish()
}
