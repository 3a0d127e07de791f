//! Column labels as PostgreSQL gives them: a function's name, a cast's target, `?column?`.
//!
//! DataFusion wants the columns of a projection to have different names, PostgreSQL does not mind. So a label that
//! occurs again gets a suffix behind U+0001 in a plan; clients see the labels that the binder found.

use std::collections::HashSet;

use sqlparser::ast::{AccessExpr, BinaryOperator, Expr, ObjectName, SelectItem, SetExpr, TrimWhereField};

use crate::syntax::fold;

const SUFFIX: char = '\u{1}';

/// A text of DataFusion's with the labels in it as a client sees them. Labels that only the input of a change has are
/// numbers behind U+0002.
pub(crate) fn shown_labels(text: &str) -> String {
    let text = text.replace('\u{2}', "");
    let mut pieces = text.split(SUFFIX);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| shown + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// A name for each column that no other column has: its label, or the label with a suffix where it occurs again.
pub(crate) fn unique_names(labels: &[String]) -> Vec<String> {
    let mut used: HashSet<String> = HashSet::with_capacity(labels.len());
    let mut name = |label: &String| match !label.contains(SUFFIX) && used.insert(label.clone()) {
        true => label.clone(),
        false => next_free(label, &mut used),
    };
    labels.iter().map(&mut name).collect()
}

/// A name for a label that nothing in `used` has; it is used then.
pub(crate) fn next_free(label: &str, used: &mut HashSet<String>) -> String {
    (2..).map(|n| format!("{label}{SUFFIX}{n}")).find(|candidate| used.insert(candidate.clone())).unwrap_or_default()
}

/// PostgreSQL's choice of a name for an expression (`FigureColname`); `None` where it says `?column?`.
pub(crate) fn label_of(expr: &Expr) -> Option<String> {
    match naming(expr)? {
        Naming::Own(label) | Naming::OfType(label) => Some(label),
    }
}

/// A name, and how much it says of the expression.
enum Naming {
    Own(String),
    /// That of a type: a cast around it, or a CASE, has a better one.
    OfType(String),
}

fn naming(expr: &Expr) -> Option<Naming> {
    let own = |label: &str| Some(Naming::Own(label.to_owned()));
    match expr {
        Expr::Identifier(ident) => Some(Naming::Own(fold(ident))),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold).map(Naming::Own),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(field)) => Some(Naming::Own(fold(field))),
                _ => None,
            });
            field.or_else(|| naming(root))
        }
        Expr::QualifiedWildcard(name, _) => last_part(name).map(Naming::Own),
        Expr::Function(function) => last_part(&function.name).map(Naming::Own),
        Expr::Cast { expr, data_type, .. } => match naming(expr) {
            Some(Naming::Own(label)) => Some(Naming::Own(label)),
            _ => Some(Naming::OfType(type_label(&data_type.to_string().to_lowercase()))),
        },
        Expr::TypedString(typed) => Some(Naming::OfType(type_label(&typed.data_type.to_string().to_lowercase()))),
        Expr::Interval(_) => Some(Naming::OfType("interval".to_owned())),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => naming(inner),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(naming) {
            Some(Naming::Own(label)) => Some(Naming::Own(label)),
            _ => Some(Naming::OfType("case".to_owned())),
        },
        Expr::Exists { negated: false, .. } => own("exists"),
        Expr::Extract { .. } => own("extract"),
        Expr::Substring { shorthand, .. } => own(if *shorthand { "substr" } else { "substring" }),
        Expr::Position { .. } => own("position"),
        Expr::Overlay { .. } => own("overlay"),
        Expr::Ceil { .. } => own("ceil"),
        Expr::Floor { .. } => own("floor"),
        Expr::Trim { trim_where: Some(TrimWhereField::Leading), .. } => own("ltrim"),
        Expr::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => own("rtrim"),
        Expr::Trim { .. } => own("btrim"),
        Expr::AtTimeZone { .. } => own("timezone"),
        Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => own("overlaps"),
        Expr::IsNormalized { negated: false, .. } => own("is_normalized"),
        Expr::Array(_) => own("array"),
        Expr::Tuple(_) => own("row"),
        Expr::Subquery(query) => first_label(&query.body),
        _ => None,
    }
}

/// The label of a query's first column.
fn first_label(body: &SetExpr) -> Option<Naming> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expr) => Some(naming(expr).unwrap_or_else(|| Naming::Own("?column?".to_owned()))),
            SelectItem::ExprWithAlias { alias, .. } => Some(Naming::Own(fold(alias))),
            _ => None,
        },
        SetExpr::Query(query) => first_label(&query.body),
        SetExpr::SetOperation { left, .. } => first_label(left),
        SetExpr::Values(_) => Some(Naming::Own("column1".to_owned())),
        _ => None,
    }
}

fn last_part(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(fold)
}

/// The name a cast gives: PostgreSQL's internal type name without its parameters.
fn type_label(data_type: &str) -> String {
    if data_type.ends_with(" with time zone") {
        return "timestamptz".to_owned();
    }
    // That of an array is its items'.
    let base = data_type.split(['(', '[']).next().unwrap_or(data_type).trim();
    // `pg_catalog."char"`, which is not the `char` of SQL.
    if let Some(quoted) = base.rsplit('.').next().and_then(|last| last.strip_prefix('"')) {
        return quoted.trim_end_matches('"').to_owned();
    }
    match base.rsplit('.').next().unwrap_or(base) {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "real" => "float4",
        "double precision" | "double" | "float" => "float8",
        "boolean" => "bool",
        "character varying" => "varchar",
        "character" | "char" => "bpchar",
        "decimal" | "dec" => "numeric",
        "timestamp without time zone" => "timestamp",
        "time without time zone" => "time",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_are_one() {
        let labels = ["a", "a", "a\u{1}2", "a\u{1}2", "\u{1}", "b\tc\u{2}", ""].map(str::to_owned);
        let names = unique_names(&labels);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), labels.len(), "{names:?}");
    }
}
