//! Sequences as the defaults of columns name them: beside a table of the server's own, and in the catalogue of a mounted store.

use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, VisitorMut};
use tablegate_types::quoting::{quote_ident, split_name};

use crate::place::Place;
use crate::syntax::{fold, parse_expression, walk_mut};

/// The DEFAULT of a column that a sequence counts, as PostgreSQL prints it.
pub(crate) fn next_call(place: Place, sequence: &str) -> String {
    format!("nextval('{}'::regclass)", called(place, sequence).replace('\'', "''"))
}

/// A sequence as the defaults of a table beside it name it. What is mounted is found under its schema alone.
pub(crate) fn called(place: Place, sequence: &str) -> String {
    match place {
        Place::Mount(schema) => format!("{schema}.{}", quote_ident(sequence)),
        Place::Public | Place::Temporary(_) => quote_ident(sequence),
    }
}

/// A default of a mounted store's table as the store's own catalogue has it, where its sequences have no schema.
pub(crate) fn default_as_kept(place: Place, text: &str) -> String {
    let schema = place.schema();
    renamed(text, |parts| match parts {
        [of, name] if **of == *schema => Some(quote_ident(name)),
        _ => None,
    })
}

/// The way back: `public` is what the store's own catalogue calls its schema. A default is declared with these names too, so
/// that a sequence beside its table has one name however a statement wrote it.
pub(crate) fn default_as_shown(place: Place, text: &str) -> String {
    // A temporary table may count with the sequence of `public` that a temporary one hides.
    if place.is_temporary() {
        return text.to_owned();
    }
    renamed(text, |parts| match parts {
        [name] => Some(called(place, name)),
        [of, name] if of == "public" => Some(called(place, name)),
        _ => None,
    })
}

/// A default beside a sequence that gets another name.
pub(crate) fn default_after_renaming(place: Place, text: &str, from: &str, to: &str) -> String {
    let schema = place.schema();
    renamed(text, |parts| match parts {
        [name] if name == from => Some(called(place, to)),
        [of, name] if **of == *schema && name == from => Some(called(place, to)),
        _ => None,
    })
}

/// An expression whose calls of `nextval` name their sequences anew, where there is a new name.
fn renamed(text: &str, rename: impl Fn(&[String]) -> Option<String>) -> String {
    struct Rename<F> {
        rename: F,
    }
    impl<F: Fn(&[String]) -> Option<String>> VisitorMut for Rename<F> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Function(function) = expr
                && let Some(sequence) = sequence_in(function)
                && !is_oid(sequence)
                && let Some(name) = (self.rename)(&split_name(sequence))
            {
                *sequence = name;
            }
            ControlFlow::Continue(())
        }
    }
    // Most defaults count nothing, and stay as they were written.
    if !text.to_ascii_lowercase().contains("nextval") {
        return text.to_owned();
    }
    let Ok(mut expression) = parse_expression(text) else { return text.to_owned() };
    let _ = walk_mut(&mut expression, &mut Rename { rename });
    expression.to_string()
}

/// A number names a relation by its OID.
fn is_oid(text: &str) -> bool {
    text.trim().parse::<u32>().is_ok()
}

/// The text in `nextval('s')`, `nextval('s'::regclass)` and `nextval(('s'::text)::regclass)`.
pub(crate) fn sequence_in(function: &mut Function) -> Option<&mut String> {
    if name_of(function) != "nextval" {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_mut_slice() else { return None };
    let mut literal = argument;
    while let Expr::Cast { expr, kind: CastKind::DoubleColon | CastKind::Cast, .. } | Expr::Nested(expr) = literal {
        literal = expr;
    }
    match literal {
        Expr::Value(value) => match &mut value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            Value::DollarQuotedString(quoted) => Some(&mut quoted.value),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn name_of(function: &Function) -> String {
    function.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}
