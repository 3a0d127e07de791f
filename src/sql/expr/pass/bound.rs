//! Expressions that are bound become the engine's: each operator, function and cast by what stands for it here.
//!
//! What the binder found is not found again: a name is a column's number, a literal has its type. Casts that nobody asked for
//! are left to the operation around them, which knows in which layout of a type it computes.

use std::cell::RefCell;

use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Case, Expr, Operator};
use tablegate_bind::catalogue::oids;
use tablegate_bind::expr::{BoundExpr, CastMethod, ExprKind, Index, Literal, Test, ValueWord, Written};
use tablegate_types::error::SqlResult;
use tablegate_types::input::parse_text;
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::SqlType;
use tablegate_types::stack::deeper;
use tablegate_types::style::Reading;

use super::{Pass, chains, raised};
use crate::expr::literal;
use crate::expr::operand::Operand;
use crate::expr::operation::comparison_operator;
use crate::expr::parameters::Parameters;
use crate::expr::pending::{IS_DISTINCT, Meaning, find};
use crate::expr::typed::ValueType;

/// The engine's form of an expression over these columns; `None` where something in it has none yet.
///
/// # Errors
/// What is wrong with the types of operands, and what the input function of a type says of a literal.
pub(crate) fn bound(expr: &BoundExpr, schema: &DFSchema, parameters: &Parameters<'_>) -> SqlResult<Option<Expr>> {
    let pass = Pass { parameters, outer: RefCell::default() };
    Ok(match pass.bound(expr, schema)? {
        Some(expr) => Some(chains::guarded(chains::texts_evenly(expr)?)?),
        None => None,
    })
}

/// Hands on that something has no form of the engine's yet.
macro_rules! formed {
    ($expr:expr) => {
        match $expr? {
            Some(formed) => formed,
            None => return Ok(None),
        }
    };
}

impl Pass<'_> {
    fn bound(&self, expr: &BoundExpr, schema: &DFSchema) -> Result<Option<Expr>> {
        deeper(|| self.bound_form(expr, schema))
    }

    fn bound_form(&self, expr: &BoundExpr, schema: &DFSchema) -> Result<Option<Expr>> {
        Ok(Some(match &expr.kind {
            ExprKind::Column { level: 0, column, .. } => {
                let (qualifier, field) = schema.qualified_field(*column);
                Expr::Column(Column::new(qualifier.cloned(), field.name()))
            }
            ExprKind::Constant(constant) => formed!(self.constant(constant, expr)),
            ExprKind::Operation { first, links } => {
                let mut left = formed!(self.bound_operand(first, schema));
                for link in links {
                    let right = formed!(self.bound_operand(&link.operand, schema));
                    let meaning = Meaning::Binary(link.operator.name.to_owned());
                    left = self.operand(self.call(meaning, vec![left, right], schema)?, schema)?;
                }
                left.expr
            }
            ExprKind::Prefix { operator, operand } => {
                let operand = formed!(self.bound_operand(operand, schema));
                self.call(Meaning::Prefix(operator.name.to_owned()), vec![operand], schema)?
            }
            ExprKind::Call { function, arguments, names, variadic: false, .. }
                if names.is_empty() && function.is_built_in() =>
            {
                let arguments = formed!(self.bound_operands(arguments, schema));
                formed!(self.bound_call(&function.name, arguments, schema))
            }
            ExprKind::Cast { value, method, written, .. } => match (written, method) {
                (Written::Implicitly, _) => formed!(self.bound(value, schema)),
                (Written::Explicitly, CastMethod::Row | CastMethod::Domain) => return Ok(None),
                (Written::Explicitly, _) => {
                    let Some(to) = declared_of_oid(expr.ty.oid, expr.ty.typmod).filter(is_plain) else {
                        return Ok(None);
                    };
                    let operand = formed!(self.bound_operand(value, schema));
                    self.cast_to(operand, &to).map_err(raised)?
                }
            },
            ExprKind::And(parts) => formed!(self.bound_conditions(parts, Operator::And, "AND", schema)),
            ExprKind::Or(parts) => formed!(self.bound_conditions(parts, Operator::Or, "OR", schema)),
            ExprKind::InList { any, comparisons } => {
                let operator = if *any { Operator::Or } else { Operator::And };
                formed!(self.bound_conditions(comparisons, operator, "IN", schema))
            }
            ExprKind::Not(value) => {
                let value = formed!(self.bound(value, schema));
                Expr::Not(Box::new(self.truth(value, "NOT", schema)?))
            }
            ExprKind::Test { value, test, negated } => {
                let value = formed!(self.bound(value, schema));
                self.bound_test(value, *test, *negated, schema)?
            }
            ExprKind::Distinct { left, right, .. } => {
                let operands =
                    vec![formed!(self.bound_operand(left, schema)), formed!(self.bound_operand(right, schema))];
                self.call(Meaning::Binary(IS_DISTINCT.to_owned()), operands, schema)?
            }
            ExprKind::NullIf { left, right, .. } => {
                let operands =
                    vec![formed!(self.bound_operand(left, schema)), formed!(self.bound_operand(right, schema))];
                self.call(Meaning::NullIf, operands, schema)?
            }
            ExprKind::OfItems { operator, any, value, array } => {
                formed!(self.bound_of_items(operator.name, *any, value, array, schema))
            }
            ExprKind::Array { items, is_of_arrays: false } if !items.is_empty() => {
                let items = formed!(self.bound_operands(items, schema));
                self.call(Meaning::Array, items, schema)?
            }
            ExprKind::Case { operand, branches, otherwise } => {
                formed!(self.bound_case(operand.as_deref(), branches, otherwise, schema))
            }
            ExprKind::Coalesce(parts) => {
                let operands = formed!(self.bound_operands(parts, schema));
                self.call(Meaning::Coalesce, operands, schema)?
            }
            ExprKind::Greatest(parts) => {
                let operands = formed!(self.bound_operands(parts, schema));
                self.call(Meaning::Greatest, operands, schema)?
            }
            ExprKind::Least(parts) => {
                let operands = formed!(self.bound_operands(parts, schema));
                self.call(Meaning::Least, operands, schema)?
            }
            ExprKind::Subscript { value, indexes } => match indexes.as_slice() {
                [Index::One(index)] if value.ty.oid != oids::JSONB => {
                    let operands =
                        vec![formed!(self.bound_operand(value, schema)), formed!(self.bound_operand(index, schema))];
                    formed!(self.bound_call("array_subscript", operands, schema))
                }
                _ => return Ok(None),
            },
            // Texts have one order.
            ExprKind::Collate { value, .. } => formed!(self.bound(value, schema)),
            ExprKind::Word(word) if expr.ty.typmod < 0 => {
                let Some(name) = function_of(*word) else { return Ok(None) };
                formed!(self.bound_call(name, Vec::new(), schema))
            }
            _ => return Ok(None),
        }))
    }

    fn bound_operand(&self, expr: &BoundExpr, schema: &DFSchema) -> Result<Option<Operand>> {
        let formed = formed!(self.bound(expr, schema));
        self.operand(formed, schema).map(Some)
    }

    fn bound_operands(&self, exprs: &[BoundExpr], schema: &DFSchema) -> Result<Option<Vec<Operand>>> {
        let mut operands = Vec::with_capacity(exprs.len());
        for expr in exprs {
            operands.push(formed!(self.bound_operand(expr, schema)));
        }
        Ok(Some(operands))
    }

    fn constant(&self, constant: &Literal, expr: &BoundExpr) -> Result<Option<Expr>> {
        let Some(sql_type) = declared_of_oid(expr.ty.oid, expr.ty.typmod).filter(is_plain) else { return Ok(None) };
        let formed = match constant {
            Literal::Null => literal::null(&ValueType::of(sql_type)),
            Literal::Value(ScalarValue::Boolean(truth)) => Ok(Expr::Literal(ScalarValue::Boolean(*truth), None)),
            Literal::Value(value) => Ok(literal::literal(value.clone(), &sql_type)),
            Literal::Read { text, .. } => literal::reading(text, &sql_type, self.parameters()),
            Literal::Text(text) => match &sql_type {
                SqlType::Numeric(_) => number(text),
                SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => {
                    Ok(literal::literal(ScalarValue::from(&**text), &sql_type))
                }
                other => literal::reading(text, other, self.parameters()),
            },
        };
        formed.map(Some).map_err(raised)
    }

    fn bound_conditions(
        &self,
        parts: &[BoundExpr],
        operator: Operator,
        clause: &str,
        schema: &DFSchema,
    ) -> Result<Option<Expr>> {
        let mut conditions = Vec::with_capacity(parts.len());
        for part in parts {
            let part = formed!(self.bound(part, schema));
            conditions.push(self.truth(part, clause, schema)?);
        }
        Ok(chains::joined(conditions, operator))
    }

    fn bound_test(&self, value: Expr, test: Test, negated: bool, schema: &DFSchema) -> Result<Expr> {
        let truth = |clause| self.truth(value.clone(), clause, schema).map(Box::new);
        Ok(match (test, negated) {
            (Test::Null, negated) => self.is_null(value, negated, schema)?,
            (Test::True, false) => Expr::IsTrue(truth("IS TRUE")?),
            (Test::True, true) => Expr::IsNotTrue(truth("IS NOT TRUE")?),
            (Test::False, false) => Expr::IsFalse(truth("IS FALSE")?),
            (Test::False, true) => Expr::IsNotFalse(truth("IS NOT FALSE")?),
            (Test::Unknown, false) => Expr::IsUnknown(truth("IS UNKNOWN")?),
            (Test::Unknown, true) => Expr::IsNotUnknown(truth("IS NOT UNKNOWN")?),
        })
    }

    /// A list that is written out is one that scans understand.
    fn bound_of_items(
        &self,
        name: &str,
        any: bool,
        value: &BoundExpr,
        array: &BoundExpr,
        schema: &DFSchema,
    ) -> Result<Option<Expr>> {
        let subject = formed!(self.bound_operand(value, schema));
        if let (ExprKind::Array { items, is_of_arrays: false }, ("=", true) | ("<>", false)) =
            (&array.without_implicit_casts().kind, (name, any))
        {
            let list = formed!(self.bound_operands(items, schema)).into_iter().map(|item| item.expr).collect();
            let within = InList { expr: Box::new(subject.expr), list, negated: !any };
            return self.in_list(within, schema).map(Some);
        }
        let array = formed!(self.bound_operand(array, schema));
        if comparison_operator(name).is_some() {
            let meaning = if any { Meaning::Any(name.to_owned()) } else { Meaning::All(name.to_owned()) };
            return self.call(meaning, vec![subject, array], schema).map(Some);
        }
        Ok(None)
    }

    fn bound_case(
        &self,
        operand: Option<&BoundExpr>,
        branches: &[(BoundExpr, BoundExpr)],
        otherwise: &BoundExpr,
        schema: &DFSchema,
    ) -> Result<Option<Expr>> {
        let subject = match operand {
            None => None,
            Some(operand) => Some(Box::new(formed!(self.bound(operand, schema)))),
        };
        let mut when_then = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            let when = match (&subject, &when.kind) {
                (None, _) => when,
                (Some(_), ExprKind::Operation { links, .. }) if links.len() == 1 => &links[0].operand,
                (Some(_), _) => return Ok(None),
            };
            let (when, then) = (formed!(self.bound(when, schema)), formed!(self.bound(then, schema)));
            when_then.push((Box::new(when), Box::new(then)));
        }
        let otherwise = formed!(self.bound(otherwise, schema));
        self.case(Case::new(subject, when_then, Some(Box::new(otherwise))), schema).map(Some)
    }

    /// A function whose values are computed here; those that ask the catalogue or the session are for the planner.
    fn bound_call(&self, name: &str, arguments: Vec<Operand>, schema: &DFSchema) -> Result<Option<Expr>> {
        let Some(function) = find(name) else { return Ok(None) };
        let Expr::ScalarFunction(call) = function.call(arguments.into_iter().map(|argument| argument.expr).collect())
        else {
            return Ok(None);
        };
        self.function(call, schema).map(Some)
    }
}

/// A number with the digits that it is written with.
fn number(text: &str) -> SqlResult<Expr> {
    let value = literal::read(text, &SqlType::Numeric(None), Reading::default())
        .or_else(|_| parse_text(&SqlType::Numeric(None), text))?;
    let sql_type = SqlType::of_arrow(&value.data_type());
    Ok(literal::literal(value, &sql_type))
}

/// Whether values of the type are what they say, rather than names of something.
fn is_plain(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Array(item) => is_plain(item),
        SqlType::Catalog(_) | SqlType::Record(_) | SqlType::Void | SqlType::Unknown | SqlType::InternalChar => false,
        SqlType::Int2Vector | SqlType::OidVector => false,
        other => !other.names_objects(),
    }
}

/// Words whose values are those of functions.
fn function_of(word: ValueWord) -> Option<&'static str> {
    Some(match word {
        ValueWord::CurrentDate => "current_date",
        ValueWord::CurrentTimestamp => "current_timestamp",
        ValueWord::LocalTime => "localtime",
        ValueWord::LocalTimestamp => "localtimestamp",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use tablegate_bind::{Binder, BuiltInOnly, Entry, Lookup, Scope, ScopeColumn, Usage};
    use tablegate_types::oid::{modifier, oid};

    use super::*;
    use crate::syntax::parse_expression;

    /// The engine's form of an expression over a table with a column of each of some types.
    fn form(text: &str) -> Option<String> {
        let columns = [
            ("a", SqlType::Int4),
            ("n", SqlType::Numeric(Some((10, 2)))),
            ("t", SqlType::Text),
            ("v", SqlType::Varchar(Some(10))),
            ("d", SqlType::Date),
            ("ok", SqlType::Bool),
            ("j", SqlType::Jsonb),
            ("ar", SqlType::Array(Box::new(SqlType::Int4))),
        ];
        let fields: Vec<_> = columns.iter().map(|(name, sql_type)| sql_type.field(name, true)).collect();
        let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
        let lookup = Lookup::new(&BuiltInOnly);
        let column = |(name, sql_type): &(&str, SqlType)| ScopeColumn {
            name: (*name).to_owned(),
            ty: lookup.of_type(oid(sql_type), modifier(sql_type)),
        };
        let columns = columns.iter().map(column).collect();
        let entries = [Entry { name: "x".to_owned(), schema: None, columns, row_type: 0, table: None }];
        let scope = Scope { entries: &entries, outer: None, namespace: None };
        let bound = Binder::new(lookup, scope, Usage::Values).bind(&parse_expression(text).unwrap()).unwrap();
        super::bound(&bound, &schema, &Parameters::new(&[])).unwrap().map(|expr| expr.to_string())
    }

    #[test]
    fn what_declarations_say_has_a_form() {
        for text in [
            "a > 5 AND a <> 7 OR ok",
            "n * 2 + a >= 0.5",
            "v IN ('x', 'y') AND a NOT IN (1, 2)",
            "a = ANY (ar) AND ar[1] > 0",
            "t LIKE 'a%' AND t !~ 'x'",
            "lower(v) = t AND length(t) < 5",
            "d > '2020-01-01' AND d <= current_date",
            "CASE a WHEN 1 THEN 'x' ELSE v END = 'x'",
            "coalesce(n, a, 0)::numeric(5, 1) IS DISTINCT FROM greatest(a, n)",
            "j ->> 'k' = 'x' AND j @> '{}'",
            "extract(year FROM d) > 2000 AND substring(t FROM 2) = '' AND trim(v) = v",
            "nullif(a, 0) IS NOT NULL AND NOT (ok IS TRUE)",
            "now() > '2020-01-01' AND a::text || v = 'x'",
            "array[a, 2] = ar",
        ] {
            assert!(form(text).is_some(), "{text}");
        }
        assert_eq!(form("a + 1 > 2 AND v = 'x'").unwrap(), form("(a + 1) > 2 AND (v = 'x')").unwrap());
        for text in ["ROW(a, t) < ROW(1, 'x')", "nextval('s')", "current_user = t"] {
            assert_eq!(form(text), None, "{text}");
        }
    }
}
