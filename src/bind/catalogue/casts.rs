//! The one table of casts, `pg_cast`: how a value of one type becomes one of another, and who has to ask for it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::oids::Oid;
use super::rows::{cells, number};

/// Who asks for a cast: each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Nobody: an operand is of another type than is taken.
    Implicit,
    /// A value is put into a column.
    Assignment,
    /// The statement says so.
    Explicit,
}

/// How a cast is computed, as `castmethod` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CastMethod {
    Function(Oid),
    /// The value is one of the other type already.
    Binary,
    /// Through its text.
    Text,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cast {
    pub context: CastContext,
    pub method: CastMethod,
    /// The function, which casts of a type to itself apply a modifier with.
    pub function: Oid,
}

static CASTS: LazyLock<HashMap<(Oid, Oid), Cast>> = LazyLock::new(|| {
    let columns = ["castsource", "casttarget", "castfunc", "castcontext", "castmethod"];
    let read = |[source, target, function, context, method]: [&'static str; 5]| {
        let function = number(function);
        let cast = Cast {
            context: match context {
                "i" => CastContext::Implicit,
                "a" => CastContext::Assignment,
                _ => CastContext::Explicit,
            },
            method: match method {
                "b" => CastMethod::Binary,
                "i" => CastMethod::Text,
                _ => CastMethod::Function(function),
            },
            function,
        };
        ((number(source), number(target)), cast)
    };
    cells("pg_cast", columns).map(read).collect()
});

/// The cast between two types, if the catalogue has one.
pub(crate) fn between(source: Oid, target: Oid) -> Option<Cast> {
    CASTS.get(&(source, target)).copied()
}
