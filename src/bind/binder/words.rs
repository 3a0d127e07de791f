//! Functions that the SQL standard calls in words of their own.

use sqlparser::ast::{CeilFloorKind, DateTimeField, Expr, NormalizationForm, Spanned, TrimWhereField};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::Binder;
use super::cast::unnested;
use super::operation::negated;
use crate::catalogue::CastContext;
use crate::catalogue::oids;
use crate::expr::{BoundExpr, CallForm, ExprKind, Literal, Written};
use crate::place::{AtPlace, Place};
use crate::resolve::Asked;

impl Binder<'_> {
    pub(super) fn words(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        match expr {
            Expr::Extract { field, expr, .. } => {
                let value = self.bind(expr)?;
                let place = self.before(value.place, &["EXTRACT"]);
                let field = self.unknown(Literal::Text(field_name(field).into()), place);
                self.call_in_words("extract", vec![field, value], place)
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                let place = self.behind(timestamp.span().end, &["AT"]);
                let zone = self.bind(time_zone)?;
                let value = self.bind(timestamp)?;
                self.call_in_words("timezone", vec![zone, value], place)
            }
            Expr::Position { expr, r#in } => {
                let (text, wanted) = (self.bind(r#in)?, self.bind(expr)?);
                let place = self.before(wanted.place, &["POSITION"]);
                self.call_in_words("position", vec![text, wanted], place)
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let parts = [Some(expr), Some(overlay_what), Some(overlay_from), overlay_for.as_ref()];
                let arguments = self.bind_all(parts.into_iter().flatten().map(|part| &**part))?;
                let place = self.start_of_words(&arguments, &["OVERLAY"]);
                self.call_in_words("overlay", arguments, place)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                let others = trim_what.iter().map(|what| &**what).chain(trim_characters.iter().flatten());
                let mut arguments = vec![self.bind(expr)?];
                arguments.extend(self.bind_all(others)?);
                let start = arguments.iter().fold(Place::NOWHERE, |place, next| place.leftmost(next.place));
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                let place = self.before(start, &["TRIM"]);
                self.call_in_words(name, arguments, place)
            }
            Expr::Substring { expr, substring_from, substring_for, special, shorthand } => {
                let parts = [substring_from.as_deref(), substring_for.as_deref()];
                self.substring(expr, parts, *special, *shorthand)
            }
            Expr::Ceil { expr, field } => self.rounded("ceil", expr, field),
            Expr::Floor { expr, field } => self.rounded("floor", expr, field),
            Expr::IsNormalized { expr, form, negated: is_not } => {
                let place = self.behind(expr.span().end, &["IS"]);
                let mut arguments = vec![self.bind(expr)?];
                arguments.extend(form.as_ref().map(|form| {
                    let name = match form {
                        NormalizationForm::NFC => "NFC",
                        NormalizationForm::NFD => "NFD",
                        NormalizationForm::NFKC => "NFKC",
                        NormalizationForm::NFKD => "NFKD",
                    };
                    self.unknown(Literal::Text(name.into()), place)
                }));
                let bound = self.call_in_words("is_normalized", arguments, place)?;
                Ok(if *is_not { negated(bound, place) } else { bound })
            }
            other => Err(SqlError::not_supported(format!("the expression {other}"))),
        }
    }

    fn start_of_words(&self, arguments: &[BoundExpr], words: &[&str]) -> Place {
        self.before(arguments.first().map_or(Place::NOWHERE, |first| first.place), words)
    }

    /// In words, or a call like any other, where commas stand between the arguments.
    fn substring(
        &mut self,
        text: &Expr,
        parts: [Option<&Expr>; 2],
        has_commas: bool,
        is_short: bool,
    ) -> SqlResult<BoundExpr> {
        let mut arguments = vec![self.bind(text)?];
        let place = self.start_of_words(&arguments, if is_short { &["SUBSTR"] } else { &["SUBSTRING"] });
        let in_words = !has_commas && !is_short && parts.iter().any(Option::is_some);
        let [from, length] = parts;
        match (from, length) {
            // From the first character.
            (None, Some(length)) if in_words => {
                let length = self.bind(length)?;
                let (explicit, written) = (CastContext::Explicit, Written::Explicitly);
                let (given, start) = (length.oid(), length.place);
                let cast = self.typing.coerce_to_target(length, oids::INT4, -1, explicit, written, Place::NOWHERE)?;
                let cast = cast.ok_or_else(|| {
                    let message = format!("cannot cast type {} to integer", self.lookup.type_name(given));
                    SqlError::new(ErrorKind::CannotCoerce, message).at_place(start)
                })?;
                arguments.push(self.number("1", false, Place::NOWHERE));
                arguments.push(cast);
            }
            (from, length) => arguments.extend(self.bind_all(from.into_iter().chain(length))?),
        }
        if in_words {
            return self.call_in_words("substring", arguments, place);
        }
        self.by_name(if is_short { "substr" } else { "substring" }, arguments, place)
    }

    fn rounded(&mut self, name: &str, expr: &Expr, field: &CeilFloorKind) -> SqlResult<BoundExpr> {
        let mut arguments = vec![self.bind(expr)?];
        let place = self.start_of_words(&arguments, &[name, "ceil", "ceiling", "floor"]);
        if let CeilFloorKind::Scale(scale) = field {
            arguments.push(self.value(scale)?);
        }
        self.by_name(name, arguments, place)
    }

    fn by_name(&mut self, name: &str, arguments: Vec<BoundExpr>, place: Place) -> SqlResult<BoundExpr> {
        let given: Vec<_> = arguments.iter().map(BoundExpr::oid).collect();
        let asked = Asked { schema: None, name, given: &given, names: &[], variadic: false };
        self.call_of(&asked, arguments, place, CallForm::Plain)
    }

    /// `(a, b) OVERLAPS (c, d)`.
    pub(super) fn overlaps(&mut self, left: &Expr, right: &Expr) -> SqlResult<BoundExpr> {
        let place = self.behind(left.span().end, &["OVERLAPS"]);
        let mut arguments = Vec::with_capacity(4);
        for side in [left, right] {
            let bound = self.bind(unnested(side))?;
            match bound.kind {
                ExprKind::Row(parts) if parts.len() == 2 => arguments.extend(parts),
                _ => {
                    let message = "wrong number of parameters on one side of OVERLAPS expression";
                    return Err(SqlError::new(ErrorKind::Syntax, message).at_place(bound.place));
                }
            }
        }
        self.call_in_words("overlaps", arguments, place)
    }
}

fn field_name(field: &DateTimeField) -> String {
    match field {
        DateTimeField::Custom(ident) if ident.quote_style.is_some() => ident.value.clone(),
        other => other.to_string().to_ascii_lowercase(),
    }
}
