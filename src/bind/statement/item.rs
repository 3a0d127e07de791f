//! `SET a[1] = ..`, `SET j['k'] = ..`: the column's value with an item, or a part, put in the place of what was there.

use std::borrow::Cow;
use std::sync::Arc;

use sqlparser::ast::{AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};
use tablegate_types::ScalarValue;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::binder::Binder;
use crate::catalogue::{CastContext, Function, FunctionKind, FunctionRef, Oid, oids};
use crate::expr::{BoundExpr, CallForm, ExprKind, ExprType, Index, Literal, Written};
use crate::place::{AtPlace, Place};

/// The function that whoever prepares tokens for the parser writes an assignment to an item as: of the item, and of the value. No
/// identifier that a client writes has this name.
pub const ITEM: &str = "\u{2}item";

/// The subscripts of an assignment to an item, and the value.
pub fn item_parts(value: &Expr) -> Option<(&[AccessExpr], &Expr)> {
    let Expr::Function(function) = value else { return None };
    match (function.name.0.as_slice(), &function.args) {
        ([ObjectNamePart::Identifier(name)], FunctionArguments::List(list)) if name.value == ITEM => {
            let [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundFieldAccess { access_chain, .. })),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            ] = list.args.as_slice()
            else {
                return None;
            };
            Some((access_chain, value))
        }
        _ => None,
    }
}

/// The value that a column has with a value in the place of one of its items.
///
/// # Errors
/// 42804 for a column without items, for a subscript that is none, and for a value of another type.
pub(super) fn assigned(
    binder: &mut Binder<'_>,
    (column, name): (BoundExpr, &str),
    subscripts: &[AccessExpr],
    value: BoundExpr,
) -> SqlResult<BoundExpr> {
    let (whole, place) = (column.ty, column.place);
    let item = binder.subscripted(column, subscripts)?;
    let ty = item.ty;
    let ExprKind::Subscript { value: column, indexes } = item.kind else {
        return Err(SqlError::new(ErrorKind::Internal, "an item without a subscript"));
    };
    if value.is_default() {
        let message = "cannot set an array element to DEFAULT";
        return Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place));
    }
    let given = value.ty.oid;
    let value = cast(binder, value, ty.oid)?.ok_or_else(|| {
        let (wanted, given) = (binder.lookup.type_name(ty.oid), binder.lookup.type_name(given));
        let message =
            format!("subscripted assignment to \"{name}\" requires type {wanted} but expression is of type {given}");
        SqlError::new(ErrorKind::DatatypeMismatch, message)
            .with_hint("You will need to rewrite or cast the expression.")
            .at_place(place)
    })?;
    if ty.oid == oids::JSONB && whole.oid == oids::JSONB {
        let is_array = matches!(indexes.first(), Some(Index::One(first)) if first.ty.oid == oids::INT4);
        let path = path(binder, indexes)?;
        let is_array = constant(ScalarValue::Boolean(Some(is_array)), oids::BOOL);
        return Ok(call("jsonb_item_set", vec![*column, path, value, is_array], whole, place));
    }
    let mut indexes = indexes.into_iter();
    let (Some(index), None) = (indexes.next(), indexes.next()) else {
        return Err(
            SqlError::not_supported("assignment to an item of an array of arrays").with_hint("Assign the whole array.")
        );
    };
    let number = |number| constant(ScalarValue::Int32(Some(number)), oids::INT4);
    Ok(match index {
        Index::One(index) => call("array_item_set", vec![*column, *index, value], whole, place),
        Index::Slice(from, to) => {
            // Ends that are not written are those of the array.
            let from = from.map_or_else(|| number(i32::MIN), |from| *from);
            let to = to.map_or_else(|| number(i32::MAX), |to| *to);
            call("array_part_set", vec![*column, from, to, value], whole, place)
        }
    })
}

/// The subscripts of a jsonb as an array of texts.
fn path(binder: &mut Binder<'_>, indexes: Vec<Index>) -> SqlResult<BoundExpr> {
    let mut items = Vec::with_capacity(indexes.len());
    for index in indexes {
        let Index::One(index) = index else {
            return Err(SqlError::new(ErrorKind::Internal, "a part of a jsonb"));
        };
        let text = cast(binder, *index, oids::TEXT)?;
        items.push(text.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a subscript without a text"))?);
    }
    let kind = ExprKind::Array { items, is_of_arrays: false };
    Ok(BoundExpr::new(kind, binder.lookup.of_type(oids::TEXT_ARRAY, -1), Place::NOWHERE))
}

fn cast(binder: &mut Binder<'_>, value: BoundExpr, oid: Oid) -> SqlResult<Option<BoundExpr>> {
    binder.typing.coerce_to_target(value, oid, -1, CastContext::Assignment, Written::Explicitly, Place::NOWHERE)
}

fn constant(value: ScalarValue, oid: Oid) -> BoundExpr {
    BoundExpr::new(ExprKind::Constant(Literal::Value(value)), ExprType::plain(oid), Place::NOWHERE)
}

/// A call of a function that no statement can name.
fn call(name: &'static str, arguments: Vec<BoundExpr>, ty: ExprType, place: Place) -> BoundExpr {
    let function = Function {
        oid: 0,
        name: Cow::Borrowed(name),
        schema: Cow::Borrowed("pg_catalog"),
        kind: FunctionKind::Function,
        arguments: arguments.iter().map(|argument| argument.ty.oid).collect(),
        names: Vec::new(),
        defaults: Vec::new(),
        variadic: 0,
        result: ty.oid,
        gives_rows: false,
        columns: Vec::new(),
        ordered: None,
        is_strict: false,
        volatility: b'i',
    };
    let function = FunctionRef::Own(Arc::new(function));
    let kind = ExprKind::Call { function, arguments, names: Vec::new(), variadic: false, form: CallForm::Plain };
    BoundExpr::new(kind, ty, place)
}
