//! Column labels as PostgreSQL gives them: a function's name, a cast's target, `?column?`.
//!
//! DataFusion wants the columns of a projection to have different names, PostgreSQL does not mind. So a label that
//! occurs again gets a suffix behind U+0001, which [`shown`] takes off before a client sees it.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, SelectItem, SetExpr};

use crate::sql::statement::fold;

const SUFFIX: char = '\u{1}';

/// The label a client sees.
pub(super) fn shown(label: &str) -> &str {
    label.split(SUFFIX).next().unwrap_or(label)
}

/// A text of DataFusion's with the labels in it as a client sees them.
pub(in crate::sql) fn shown_labels(text: &str) -> String {
    let mut pieces = text.split(SUFFIX);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| shown + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// A name for each column that no other column has: its label, or the label with a suffix where it occurs again.
pub(super) fn unique_names(labels: &[String]) -> Vec<String> {
    let mut used: HashSet<String> = HashSet::with_capacity(labels.len());
    let mut name = |label: &String| match used.insert(label.clone()) {
        true => label.clone(),
        false => next_free(label, &mut used),
    };
    labels.iter().map(&mut name).collect()
}

fn next_free(label: &str, used: &mut HashSet<String>) -> String {
    (2..).map(|n| format!("{label}{SUFFIX}{n}")).find(|candidate| used.insert(candidate.clone())).unwrap_or_default()
}

/// PostgreSQL's choice of a name for an expression (`FigureColname`); `None` where it says `?column?`.
pub(in crate::sql) fn label_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        Expr::CompoundFieldAccess { root, .. } => label_of(root),
        Expr::Function(function) => last_part(&function.name),
        Expr::Cast { expr, data_type, .. } => {
            label_of(expr).or_else(|| Some(type_label(&data_type.to_string().to_lowercase())))
        }
        Expr::TypedString(typed) => Some(type_label(&typed.data_type.to_string().to_lowercase())),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => label_of(inner),
        Expr::Case { else_result, .. } => else_result.as_deref().and_then(label_of).or_else(|| Some("case".to_owned())),
        Expr::Exists { .. } => Some("exists".to_owned()),
        Expr::Extract { .. } => Some("extract".to_owned()),
        Expr::Substring { .. } => Some("substring".to_owned()),
        Expr::Position { .. } => Some("position".to_owned()),
        Expr::Overlay { .. } => Some("overlay".to_owned()),
        Expr::Ceil { .. } => Some("ceil".to_owned()),
        Expr::Floor { .. } => Some("floor".to_owned()),
        Expr::Trim { .. } => Some("btrim".to_owned()),
        Expr::AtTimeZone { .. } => Some("timezone".to_owned()),
        Expr::Interval(_) => Some("interval".to_owned()),
        Expr::Array(_) => Some("array".to_owned()),
        Expr::Tuple(_) => Some("row".to_owned()),
        Expr::Subquery(query) => first_label(&query.body),
        _ => None,
    }
}

/// The label of a query's first column.
fn first_label(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expr) => label_of(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
            _ => None,
        },
        SetExpr::Query(query) => first_label(&query.body),
        SetExpr::SetOperation { left, .. } => first_label(left),
        SetExpr::Values(_) => Some("column1".to_owned()),
        _ => None,
    }
}

fn last_part(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(fold)
}

/// The name a cast gives: PostgreSQL's internal type name without its parameters.
fn type_label(data_type: &str) -> String {
    let base = data_type.split('(').next().unwrap_or(data_type).trim();
    match base {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "real" => "float4",
        "double precision" | "double" | "float" => "float8",
        "boolean" => "bool",
        "character varying" => "varchar",
        "character" | "char" => "bpchar",
        "decimal" | "dec" => "numeric",
        "timestamp with time zone" => "timestamptz",
        "timestamp without time zone" => "timestamp",
        "time without time zone" => "time",
        other => other,
    }
    .to_owned()
}
