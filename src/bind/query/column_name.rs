//! The names of columns that have none: PostgreSQL's `FigureColname`.

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, CastKind, DataType, Expr, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr,
    TrimWhereField, TypedString, Value,
};

use crate::catalogue::{Lookup, Oid};
use crate::name::folded;

/// What a column is called whose expression says nothing.
const UNNAMED: &str = "?column?";

/// A name, and whether it is a good one: a type's, or CASE, gives way to one from inside.
type Figured = Option<(String, bool)>;

/// The type that is written, by its number: for names of types.
pub(super) type TypeOf<'t> = dyn Fn(&DataType) -> Option<Oid> + 't;

pub(super) fn column_name(lookup: Lookup<'_>, type_of: &TypeOf<'_>, expr: &Expr) -> String {
    figured(lookup, type_of, expr).map_or_else(|| UNNAMED.to_owned(), |(name, _)| name)
}

fn good(name: &str) -> Figured {
    Some((name.to_owned(), true))
}

fn figured(lookup: Lookup<'_>, type_of: &TypeOf<'_>, expr: &Expr) -> Figured {
    let inner = |expr: &Expr| figured(lookup, type_of, expr);
    match expr {
        Expr::Nested(nested) => inner(nested),
        Expr::Identifier(ident) => Some((folded(ident), true)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|last| (folded(last), true)),
        Expr::QualifiedWildcard(table, _) => last_part(table),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let fields = access_chain.iter().rev().find_map(|next| match next {
                AccessExpr::Dot(Expr::Identifier(field)) => Some((folded(field), true)),
                _ => None,
            });
            fields.or_else(|| inner(root))
        }
        Expr::Function(function) => last_part(&function.name),
        Expr::Cast { expr, data_type, kind: CastKind::Cast | CastKind::DoubleColon, .. } => match inner(expr) {
            Some((name, true)) => Some((name, true)),
            _ => type_name(lookup, type_of, data_type),
        },
        Expr::TypedString(TypedString { data_type, .. }) => type_name(lookup, type_of, data_type),
        Expr::Interval(_) => Some(("interval".to_owned(), false)),
        Expr::Value(value) if matches!(value.value, Value::NationalStringLiteral(_)) => {
            Some(("bpchar".to_owned(), false))
        }
        Expr::Collate { expr, .. } => inner(expr),
        Expr::Exists { negated: false, .. } => good("exists"),
        Expr::Subquery(query) => of_query(lookup, type_of, query),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(inner) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_owned(), false)),
        },
        Expr::Array(_) => good("array"),
        Expr::Tuple(_) => good("row"),
        Expr::Extract { .. } => good("extract"),
        Expr::Position { .. } => good("position"),
        Expr::Overlay { .. } => good("overlay"),
        Expr::Substring { shorthand, .. } => good(if *shorthand { "substr" } else { "substring" }),
        Expr::Trim { trim_where, .. } => good(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "btrim",
        }),
        Expr::Ceil { .. } => good("ceil"),
        Expr::Floor { .. } => good("floor"),
        Expr::AtTimeZone { .. } => good("timezone"),
        Expr::IsNormalized { negated: false, .. } => good("is_normalized"),
        Expr::BinaryOp { op: sqlparser::ast::BinaryOperator::Overlaps, .. } => good("overlaps"),
        _ => None,
    }
}

fn last_part(name: &ObjectName) -> Figured {
    name.0.last().and_then(ObjectNamePart::as_ident).map(|last| (folded(last), true))
}

fn of_query(lookup: Lookup<'_>, type_of: &TypeOf<'_>, query: &Query) -> Figured {
    let mut body = &*query.body;
    loop {
        body = match body {
            SetExpr::Query(query) => &query.body,
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Values(_) => return good("column1"),
            SetExpr::Select(select) => {
                return match select.projection.first()? {
                    SelectItem::ExprWithAlias { alias, .. } => Some((folded(alias), true)),
                    SelectItem::UnnamedExpr(expr) => Some((column_name(lookup, type_of, expr), true)),
                    _ => None,
                };
            }
            _ => return None,
        };
    }
}

fn type_name(lookup: Lookup<'_>, type_of: &TypeOf<'_>, data_type: &DataType) -> Figured {
    let mut written = data_type;
    while let DataType::Array(ArrayElemTypeDef::SquareBracket(inner, _) | ArrayElemTypeDef::Parenthesis(inner)) =
        written
    {
        written = inner;
    }
    if let DataType::Custom(name, _) = written
        && let Some(last) = name.0.last().and_then(ObjectNamePart::as_ident)
    {
        return Some((folded(last), false));
    }
    let oid = type_of(written)?;
    lookup.get(oid).map(|of| (of.name.clone().into_owned(), false))
}
