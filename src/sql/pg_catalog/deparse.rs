//! Kept expressions as PostgreSQL prints them, near enough for people and for tools that compare schemas.
//!
//! PostgreSQL keeps expressions as trees, in which every operator has its parentheses and every literal its type; here
//! their source is kept. So parentheses are put around operators, the literal that is a whole DEFAULT gets its column's
//! type, and names of types and of functions without parentheses are spelled as PostgreSQL spells them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    UnaryOperator, Value, VisitMut, VisitorMut,
};

use crate::sql::ddl::sql_type;
use crate::sql::relation::RelationColumn;
use crate::sql::statement::{fold, parse_expression};
use crate::sql::types::SqlType;

/// The default or generation expression of a column, before [`expression`] prints it.
pub(super) fn value_source(column: &RelationColumn) -> Option<String> {
    if let Some(generated) = &column.generated {
        return Some(generated.clone());
    }
    let default = column.default.as_ref()?;
    let Ok(parsed) = parse_expression(default) else { return Some(default.clone()) };
    Some(typed_literal(&parsed, &column.sql_type).unwrap_or_else(|| default.clone()))
}

/// An expression's text. PostgreSQL's pretty form has only the parentheses that it needs: here, those it was given.
pub(super) fn expression(text: &str, pretty: bool) -> String {
    let Ok(mut parsed) = parse_expression(text) else { return text.to_owned() };
    let _ = parsed.visit(&mut Spelling);
    if pretty {
        let mut inner = &parsed;
        while let Expr::Nested(nested) = inner {
            inner = nested;
        }
        return inner.to_string();
    }
    let _ = parsed.visit(&mut Parentheses);
    parsed.to_string()
}

/// A string literal with its type behind it; numbers and truth values stand alone.
fn typed_literal(expr: &Expr, sql_type: &SqlType) -> Option<String> {
    let Expr::Value(value) = expr else { return None };
    let (Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text)) = &value.value else { return None };
    Some(match sql_type {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Bool => text.trim().to_lowercase(),
        SqlType::Varchar(_) => format!("{expr}::character varying"),
        SqlType::Char(_) => format!("{expr}::bpchar"),
        SqlType::Numeric(_) => format!("{expr}::numeric"),
        other => format!("{expr}::{}", other.bare()),
    })
}

/// Spells types and functions without parentheses as PostgreSQL does.
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
            Expr::Function(function) if counts(function) => name_its_sequence(function),
            Expr::Function(function) if matches!(function.args, FunctionArguments::None) => upper(function),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn named(data_type: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new(data_type.to_lowercase())]), Vec::new())
}

/// Whether a function takes a sequence.
fn counts(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    matches!(name.as_str(), "nextval" | "currval" | "setval")
}

/// PostgreSQL keeps a sequence as `regclass`.
fn name_its_sequence(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut()
        && matches!(argument, Expr::Value(_))
    {
        let literal = std::mem::replace(argument, Expr::Value(Value::Null.into()));
        *argument = Expr::Cast {
            kind: CastKind::DoubleColon,
            expr: Box::new(literal),
            data_type: named("regclass"),
            array: false,
            format: None,
        };
    }
}

fn upper(function: &mut Function) {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    function.name = ObjectName::from(vec![Ident::new(name.to_uppercase())]);
}

/// Puts parentheses around every operator, and none elsewhere.
struct Parentheses;

impl VisitorMut for Parentheses {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let placeholder = || Expr::Value(Value::Null.into());
        match expr {
            // What was inside has its own by now, if it needs them.
            Expr::Nested(inner) => *expr = std::mem::replace(&mut **inner, placeholder()),
            Expr::BinaryOp { .. }
            | Expr::UnaryOp { op: UnaryOperator::Not, .. }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. } => {
                let operator = std::mem::replace(expr, placeholder());
                *expr = Expr::Nested(Box::new(operator));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::relation::ColumnSource;

    fn column(sql_type: SqlType, default: &str) -> RelationColumn {
        let default = Some(default.to_owned());
        RelationColumn { default, ..RelationColumn::new("c", sql_type, ColumnSource::ETag) }
    }

    /// Both forms, as PostgreSQL 15 prints them.
    #[test]
    fn expressions_print_as_postgresqls() {
        for (source, plain, pretty) in [
            ("n > 0", "(n > 0)", "n > 0"),
            ("(n > 0)", "(n > 0)", "n > 0"),
            ("n IS NULL OR n <> 13", "((n IS NULL) OR (n <> 13))", "n IS NULL OR n <> 13"),
            ("(2 + 3) * 4", "((2 + 3) * 4)", "(2 + 3) * 4"),
            ("length(name) < 10", "(length(name) < 10)", "length(name) < 10"),
            ("current_timestamp", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
            ("now()", "now()", "now()"),
            ("'1'::int", "'1'::integer", "'1'::integer"),
            ("nextval('s')", "nextval('s'::regclass)", "nextval('s'::regclass)"),
            ("nextval('s'::regclass) + 1", "(nextval('s'::regclass) + 1)", "nextval('s'::regclass) + 1"),
            ("CAST(a AS varchar(3))", "a::character varying(3)", "a::character varying(3)"),
        ] {
            assert_eq!((expression(source, false).as_str(), expression(source, true).as_str()), (plain, pretty));
        }
    }

    #[test]
    fn a_literal_default_has_its_columns_type() {
        for (sql_type, source, shown) in [
            (SqlType::Text, "'none'", "'none'::text"),
            (SqlType::Varchar(Some(4)), "'abcd'", "'abcd'::character varying"),
            (SqlType::Char(3), "'a'", "'a'::bpchar"),
            (SqlType::Date, "'2024-02-29'", "'2024-02-29'::date"),
            (SqlType::Int4, "'5'", "5"),
            (SqlType::Int4, "5", "5"),
            (SqlType::Bool, "true", "true"),
            (SqlType::Timestamptz, "now()", "now()"),
        ] {
            assert_eq!(value_source(&column(sql_type, source)).as_deref(), Some(shown));
        }
    }
}
