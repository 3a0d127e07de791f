//! Arrays and rows: made, and taken apart.

use sqlparser::ast::{AccessExpr, Expr, Spanned, Subscript};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::cast::unnested;
use super::{Binder, name_of};
use crate::catalogue::CastContext;
use crate::catalogue::oids::{self, Oid};
use crate::coerce::polymorphic::no_array;
use crate::expr::{BoundExpr, ExprKind, Index, Written};
use crate::name::Name;
use crate::place::{AtPlace, Place, Source};

impl Binder<'_> {
    pub(super) fn array(&mut self, expr: &Expr, items: &[Expr]) -> SqlResult<BoundExpr> {
        self.array_of(expr, items, None)
    }

    /// PostgreSQL's `transformArrayExpr`; under a cast, of the type that it is to.
    pub(super) fn array_of(&mut self, expr: &Expr, items: &[Expr], wanted: Option<(Oid, i32)>) -> SqlResult<BoundExpr> {
        let mut bound = Vec::with_capacity(items.len());
        let mut is_of_arrays = false;
        for item in items {
            let item = match unnested(item) {
                Expr::Array(inner) => {
                    is_of_arrays = true;
                    self.array_of(item, &inner.elem, wanted)?
                }
                other => {
                    let item = self.bind(other)?;
                    is_of_arrays |= self.lookup.element(item.oid()).is_some();
                    item
                }
            };
            bound.push(item);
        }
        let place = self.start_of_array(expr, bound.first().map_or(Place::NOWHERE, |first| first.place));
        let (array, items) = match wanted {
            Some((array, typmod)) => {
                let element = self.lookup.element(array).unwrap_or(oids::UNKNOWN);
                let target = if is_of_arrays { array } else { element };
                (array, self.cast_items(bound, target, typmod)?)
            }
            None if bound.is_empty() => {
                let message = "cannot determine type of empty array";
                return Err(SqlError::new(ErrorKind::IndeterminateDatatype, message)
                    .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at_place(place));
            }
            None => {
                let (bound, common) = self.typing.coerce_all(bound, "ARRAY")?;
                let array = if is_of_arrays { Some(common) } else { self.lookup.array(common) };
                (array.ok_or_else(|| no_array(self.lookup, common).at_place(place))?, bound)
            }
        };
        let typmod = items.first().map_or(-1, |first| first.ty.typmod);
        let typmod = if items.iter().all(|item| item.ty.typmod == typmod) { typmod } else { -1 };
        let ty = self.lookup.made_of(array, typmod, &items)?;
        Ok(BoundExpr::new(ExprKind::Array { items, is_of_arrays }, ty, place))
    }

    fn cast_items(&mut self, items: Vec<BoundExpr>, target: Oid, typmod: i32) -> SqlResult<Vec<BoundExpr>> {
        let mut cast = Vec::with_capacity(items.len());
        for item in items {
            let (from, place) = (item.oid(), item.place);
            let (explicit, written) = (CastContext::Explicit, Written::Explicitly);
            let item = self.typing.coerce_to_target(item, target, typmod, explicit, written, Place::NOWHERE)?;
            cast.push(item.ok_or_else(|| {
                let (from, to) = (self.lookup.type_name(from), self.lookup.type_name(target));
                SqlError::new(ErrorKind::CannotCoerce, format!("cannot cast type {from} to {to}")).at_place(place)
            })?);
        }
        Ok(cast)
    }

    fn start_of_array(&self, expr: &Expr, first: Place) -> Place {
        match unnested(expr) {
            Expr::Array(array) if array.elem.is_empty() => {
                self.source.and_then(Source::empty_array).unwrap_or(Place::NOWHERE)
            }
            Expr::Array(array) if array.named => self.before(first, &["ARRAY"]),
            _ => self.before(first, &["["]),
        }
    }

    /// A row: `ROW(a, b)`, or `(a, b)` alone.
    pub(super) fn row(&mut self, items: &[Expr]) -> SqlResult<BoundExpr> {
        let items = self.bind_all(items)?;
        let first = items.first().map_or(Place::NOWHERE, |first| first.place);
        let place = self.before(first, &["("]);
        Ok(self.row_of(items, place))
    }

    /// A row of these values, whose columns are called `f1` and so on.
    pub(super) fn row_of(&mut self, items: Vec<BoundExpr>, place: Place) -> BoundExpr {
        let columns = (1..).zip(&items).map(|(number, item)| (format!("f{number}"), item.oid(), item.ty.typmod));
        let ty = self.typing.record(columns.collect());
        BoundExpr::new(ExprKind::Row(items), ty, place)
    }

    /// A row of what is read from: its columns are those that can be named.
    pub(super) fn with_its_columns(&mut self, row: BoundExpr) -> BoundExpr {
        let ExprKind::WholeRow { level, entry } = row.kind else { return row };
        if row.oid() != oids::RECORD {
            return row;
        }
        let known = self.scope.level(level).and_then(|entries| entries.get(entry));
        let columns = known.into_iter().flat_map(|known| &known.columns);
        let columns = columns.map(|column| (column.name.clone(), column.ty.oid, column.ty.typmod)).collect();
        let ty = self.typing.record(columns);
        BoundExpr { ty, ..row }
    }

    /// Subscripts and fields behind an expression.
    pub(super) fn access(&mut self, root: &Expr, chain: &[AccessExpr]) -> SqlResult<BoundExpr> {
        let (mut value, mut rest) = self.root_of(root, chain)?;
        while let Some((next, others)) = rest.split_first() {
            match next {
                AccessExpr::Dot(Expr::Identifier(field)) => {
                    value = self.field(value, &name_of(field), Place::start(field.span))?;
                    rest = others;
                }
                AccessExpr::Subscript(_) => {
                    let count = rest.iter().take_while(|next| matches!(next, AccessExpr::Subscript(_))).count();
                    value = self.subscripted(value, &rest[..count])?;
                    rest = &rest[count..];
                }
                AccessExpr::Dot(other) => {
                    return Err(SqlError::not_supported(format!("the field {other}")));
                }
            }
        }
        Ok(value)
    }

    /// `t.a[1]`: the table's name and the column's are one name.
    fn root_of<'c>(&mut self, root: &Expr, chain: &'c [AccessExpr]) -> SqlResult<(BoundExpr, &'c [AccessExpr])> {
        if let (Expr::Identifier(table), [AccessExpr::Dot(Expr::Identifier(column)), rest @ ..]) = (root, chain)
            && self.scope.has_table(&name_of(table))
        {
            return Ok((self.bind(&Expr::CompoundIdentifier(vec![table.clone(), column.clone()]))?, rest));
        }
        Ok((self.bind(root)?, chain))
    }

    fn field(&mut self, row: BoundExpr, asked: &Name, place: Place) -> SqlResult<BoundExpr> {
        if let ExprKind::WholeRow { level, entry } = row.kind {
            return self.scope.column_of(level, entry, asked, row.place);
        }
        let name = asked.text.as_str();
        let base = self.lookup.base(row.oid());
        let columns = self.typing.fields(row.ty);
        let found = columns.iter().position(|(column, _, _)| column == name);
        let Some(column) = found else {
            let type_name = self.lookup.type_name(row.oid());
            let (kind, message) = if self.lookup.is_composite(base) {
                (ErrorKind::UndefinedColumn, format!("column \"{name}\" not found in data type {type_name}"))
            } else if base == oids::RECORD {
                let message = format!("could not identify column \"{name}\" in record data type");
                (ErrorKind::UndefinedColumn, message)
            } else {
                let what = "which is not a composite type";
                let message = format!("column notation .{name} applied to type {type_name}, {what}");
                (ErrorKind::WrongObjectType, message)
            };
            return Err(SqlError::new(kind, message).at_place(if row.place.is_known() { row.place } else { place }));
        };
        let (_, oid, typmod) = columns[column];
        let (ty, start) = (self.lookup.of_type(oid, typmod), row.place);
        Ok(BoundExpr::new(ExprKind::Field { row: Box::new(row), column, name: name.to_owned() }, ty, start))
    }

    /// PostgreSQL's `transformContainerSubscripts`.
    pub(crate) fn subscripted(&mut self, value: BoundExpr, subscripts: &[AccessExpr]) -> SqlResult<BoundExpr> {
        let (container, typmod) = self.lookup.base_and_typmod(value.oid(), value.ty.typmod);
        let container = match container {
            oids::INT2_VECTOR => oids::INT2_ARRAY,
            oids::OID_VECTOR => oids::OID_ARRAY,
            other => other,
        };
        let place = value.place;
        let Some(of) = self.lookup.get(container).filter(|t| t.has_subscripts) else {
            let type_name = self.lookup.type_name(container);
            let message = format!("cannot subscript type {type_name} because it does not support subscripting");
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(place));
        };
        let is_slice = |next: &AccessExpr| matches!(next, AccessExpr::Subscript(Subscript::Slice { .. }));
        let has_slice = subscripts.iter().any(is_slice);
        let mut indexes = Vec::with_capacity(subscripts.len());
        for next in subscripts {
            let AccessExpr::Subscript(subscript) = next else { continue };
            indexes.push(match subscript {
                // Beside a slice, an index is one that begins with 1.
                Subscript::Index { index } if has_slice => {
                    let one = self.number("1", false, Place::NOWHERE);
                    Index::Slice(Some(Box::new(one)), self.index(Some(index), container)?)
                }
                Subscript::Index { index } => match self.index(Some(index), container)? {
                    Some(index) => Index::One(index),
                    None => continue,
                },
                Subscript::Slice { .. } if container == oids::JSONB => {
                    let message = "jsonb subscript does not support slices";
                    return Err(
                        SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(self.start_of_slice(next, place))
                    );
                }
                Subscript::Slice { lower_bound, upper_bound, .. } => Index::Slice(
                    self.index(lower_bound.as_ref(), container)?,
                    self.index(upper_bound.as_ref(), container)?,
                ),
            });
        }
        let (oid, typmod) = match () {
            () if container == oids::JSONB => (oids::JSONB, -1),
            () if has_slice => (container, typmod),
            () => (of.element, typmod),
        };
        let ty = self.lookup.made_of(oid, typmod, [&value])?;
        Ok(BoundExpr::new(ExprKind::Subscript { value: Box::new(value), indexes }, ty, place))
    }

    /// PostgreSQL points to what is within the brackets.
    fn start_of_slice(&self, next: &AccessExpr, otherwise: Place) -> Place {
        let inside = match next {
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                upper_bound.as_ref().or(lower_bound.as_ref())
            }
            _ => None,
        };
        inside.map_or(otherwise, |inside| Place::start(inside.span()))
    }

    fn index(&mut self, index: Option<&Expr>, container: Oid) -> SqlResult<Option<Box<BoundExpr>>> {
        let Some(index) = index else { return Ok(None) };
        let index = self.bind(index)?;
        let (from, place) = (index.oid(), index.place);
        let is_json = container == oids::JSONB;
        let becomes = |oid| self.lookup.can_coerce_one(from, oid, CastContext::Implicit);
        let target = match (becomes(oids::INT4), becomes(oids::TEXT)) {
            _ if !is_json => oids::INT4,
            _ if from == oids::UNKNOWN => oids::TEXT,
            (true, false) => oids::INT4,
            (false, true) => oids::TEXT,
            (both, _) => {
                let message = format!("subscript type {} is not supported", self.lookup.type_name(from));
                let hint = if both { "only one type, integer or text." } else { "either integer or text." };
                return Err(SqlError::new(ErrorKind::DatatypeMismatch, message)
                    .with_hint(format!("jsonb subscript must be coercible to {hint}"))
                    .at_place(place));
            }
        };
        let (context, written) = (CastContext::Assignment, Written::Implicitly);
        let cast = self.typing.coerce_to_target(index, target, -1, context, written, Place::NOWHERE)?;
        let refused = || {
            let message = "array subscript must have type integer";
            SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(place)
        };
        cast.ok_or_else(refused).map(|index| Some(Box::new(index)))
    }
}
