//! PostgreSQL 15's functions, in place of DataFusion's of the same names.
//!
//! Each family is a table of [`signature::Overload`]s, as in `pg_proc`. A call is typed by PostgreSQL's rules
//! ([`resolve`]), its arguments are converted ([`conversion`]), and the chosen function makes a whole column at once
//! ([`call`]). Functions that answer from the catalogue or the session are in `pg_catalog::functions`.

mod arrays;
mod call;
mod conversion;
mod datetime;
mod formatting;
mod math;
mod misc;
mod moments;
mod parameters;
mod pin;
mod planner;
mod regex;
mod resolve;
mod sets;
mod signature;
mod simplify;
mod strings;
mod syntax;
mod text_writer;
mod udf;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion::execution::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::ScalarUDF;

pub(super) use self::moments::Moments;
pub(super) use self::parameters::parameter_types;
pub(super) use self::pin::pin;
pub(super) use self::sets::column_names;
use self::signature::Overload;
pub(super) use self::syntax::rewrite;
use self::udf::Function;

/// Every function here, by name.
static FUNCTIONS: LazyLock<BTreeMap<&'static str, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let mut by_name: BTreeMap<&'static str, Vec<&'static Overload>> = BTreeMap::new();
    let overloads =
        [arrays::FUNCTIONS, datetime::FUNCTIONS, regex::FUNCTIONS, formatting::FUNCTIONS, math::FUNCTIONS, strings::FUNCTIONS, &[misc::FUNCTIONS]]
            .into_iter()
            .flatten()
            .copied()
            .flatten();
    for overload in overloads {
        by_name.entry(overload.name).or_default().push(overload);
    }
    let function = |(name, overloads)| (name, Arc::new(ScalarUDF::new_from_impl(Function::new(name, overloads))));
    by_name.into_iter().map(function).collect()
});

/// The state with PostgreSQL's functions, and the syntax that means them, before DataFusion's.
pub(super) fn install(builder: SessionStateBuilder) -> SessionState {
    let mut builder = builder.with_default_features();
    if let Some(functions) = builder.scalar_functions() {
        functions.extend(FUNCTIONS.values().cloned());
    }
    if let Some(planners) = builder.expr_planners() {
        planners.insert(0, Arc::new(planner::Syntax));
    }
    builder.relation_planners().get_or_insert_default().push(Arc::new(sets::Sets));
    builder.build()
}

/// A function by name.
pub(super) fn find(name: &str) -> Option<Arc<ScalarUDF>> {
    FUNCTIONS.get(name).cloned()
}
