//! Types, and functions without parentheses, spelled as PostgreSQL spells them.

use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, DataType, Expr, Function, FunctionArguments, Ident, ObjectName, Query, VisitorMut};

use crate::syntax::{fold, sql_type, walk_mut};

/// Spells what a query names.
pub(super) fn spell(query: &mut Query) {
    let _ = walk_mut(query, &mut Spelling);
}

struct Spelling;

impl VisitorMut for Spelling {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { data_type, kind, format: None, .. } => {
                *kind = CastKind::DoubleColon;
                // Without a length, `bpchar` is not what SQL means by `character`.
                if !data_type.to_string().eq_ignore_ascii_case("bpchar") {
                    let known = sql_type(data_type);
                    *data_type = named(&known.map_or_else(|_| data_type.to_string(), |known| known.to_string()));
                }
            }
            Expr::Function(function) if matches!(function.args, FunctionArguments::None) => upper(function),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn named(data_type: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new(data_type.to_lowercase())]), Vec::new())
}

fn upper(function: &mut Function) {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    function.name = ObjectName::from(vec![Ident::new(name.to_uppercase())]);
}
