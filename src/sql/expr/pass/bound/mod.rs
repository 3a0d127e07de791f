//! What is bound becomes the engine's: each operator, function and cast by what stands for it here.
//!
//! What the binder found is not found again: a name is a column's number, a literal has its type. Casts that nobody asked for
//! are left to the operation around them, which knows in which layout of a type it computes.

mod rows;
mod sub_query;

use std::cell::RefCell;

use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{InList, Placeholder};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Case, Expr, LogicalPlan, Operator, Subquery};
use tablegate_bind::BoundQuery;
use tablegate_bind::catalogue::oids;
use tablegate_bind::expr::{BoundExpr, CastMethod, ExprKind, Index, Literal, Test, ValueWord, Written};
use tablegate_types::error::SqlResult;
use tablegate_types::input::parse_text;
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::SqlType;
use tablegate_types::stack::deeper;
use tablegate_types::style::Reading;

use super::{Pass, chains, costs, raised};
use crate::expr::literal;
use crate::expr::operand::Operand;
use crate::expr::operation::comparison_operator;
use crate::expr::parameters::Parameters;
use crate::expr::pending::{IS_DISTINCT, Meaning, find};
use crate::expr::typed::ValueType;
use crate::stoppable;

/// What stands around an expression: what its columns are, and its sub-queries.
pub(crate) trait Surroundings {
    /// The columns that expressions are computed over.
    fn schema(&self) -> &DFSchema;

    /// A column of a query so many outside of this one; `None` where it has no form of the engine's yet.
    ///
    /// # Errors
    /// When there is no such column.
    fn column(&self, level: usize, entry: usize, column: usize) -> SqlResult<Option<Expr>>;

    /// The query that the expressions are of.
    fn query(&self) -> Option<&BoundQuery> {
        None
    }

    /// A sub-query of this query, by its number.
    ///
    /// # Errors
    /// What is wrong with it.
    fn sub_query(&self, _number: usize) -> SqlResult<Option<Subquery>> {
        Ok(None)
    }
}

/// The columns of one table.
struct OneTable<'s>(&'s DFSchema);

impl Surroundings for OneTable<'_> {
    fn schema(&self) -> &DFSchema {
        self.0
    }

    fn column(&self, level: usize, _entry: usize, column: usize) -> SqlResult<Option<Expr>> {
        Ok((level == 0).then(|| Expr::Column(Column::from(self.0.qualified_field(column)))))
    }
}

/// Makes what is bound the engine's: expressions, and what the nodes of a plan ask of them.
pub(crate) struct Forms<'p>(Pass<'p>);

impl<'p> Forms<'p> {
    pub(crate) fn new(parameters: &'p Parameters<'p>) -> Self {
        Self(Pass { parameters, outer: RefCell::default() })
    }

    /// The engine's form of an expression; `None` where something in it has none yet.
    ///
    /// # Errors
    /// What is wrong with the types of operands, and what the input function of a type says of a literal.
    pub(crate) fn expr(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Option<Expr>> {
        Ok(match self.0.bound(expr, around)? {
            Some(expr) => Some(chains::guarded(chains::texts_evenly(expr)?)?),
            None => None,
        })
    }

    /// The same of a condition: what costs little is asked first.
    ///
    /// # Errors
    /// As [`Forms::expr`].
    pub(crate) fn condition(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Option<Expr>> {
        Ok(match self.0.bound(expr, around)? {
            Some(expr) => Some(chains::guarded(costs::cheapest_first(chains::texts_evenly(expr)?)?)?),
            None => None,
        })
    }

    /// A node of a plan over inputs that are right, whose own expressions have their types: with what it asks of them.
    ///
    /// # Errors
    /// 42883 for what cannot be sorted or told apart, and when the engine refuses the node.
    pub(crate) fn node(&self, plan: LogicalPlan) -> SqlResult<LogicalPlan> {
        stoppable::check()?;
        let schema = merge_schema(&plan.inputs());
        Ok(self.0.finished(plan, &schema)?)
    }
}

/// The engine's form of an expression over these columns; `None` where something in it has none yet.
///
/// # Errors
/// As [`Forms::expr`].
pub(crate) fn bound(expr: &BoundExpr, schema: &DFSchema, parameters: &Parameters<'_>) -> SqlResult<Option<Expr>> {
    Forms::new(parameters).expr(expr, &OneTable(schema))
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
use formed;

impl Pass<'_> {
    fn bound(&self, expr: &BoundExpr, around: &dyn Surroundings) -> Result<Option<Expr>> {
        stoppable::check()?;
        deeper(|| self.bound_form(expr, around))
    }

    fn bound_form(&self, expr: &BoundExpr, around: &dyn Surroundings) -> Result<Option<Expr>> {
        Ok(Some(match &expr.kind {
            ExprKind::Column { .. } | ExprKind::Parameter(_)
                if declared_of_oid(expr.ty.oid, expr.ty.typmod).is_none_or(|declared| !is_plain(&declared)) =>
            {
                return Ok(None);
            }
            ExprKind::Column { level, entry, column } => {
                formed!(around.column(*level, *entry, *column).map_err(raised))
            }
            ExprKind::Parameter(number) => {
                let parameter = Placeholder { id: format!("${number}"), field: None };
                self.parameters().see(&parameter.id);
                match self.parameters().typed(parameter) {
                    Expr::Placeholder(Placeholder { field: None, .. }) => return Ok(None),
                    typed => typed,
                }
            }
            ExprKind::Aggregate { level: 0, function, arguments, variadic: false, rows } if function.is_built_in() => {
                formed!(self.bound_aggregate(&function.name, arguments, rows, around))
            }
            ExprKind::WindowCall { function, arguments, rows } if function.is_built_in() => {
                formed!(self.bound_window_call(&function.name, arguments, rows, around))
            }
            ExprKind::SubQuery { query, used } => formed!(self.bound_sub_query(*query, used, around)),
            ExprKind::Constant(constant) => formed!(self.constant(constant, expr)),
            ExprKind::Operation { first, links } => {
                let mut left = formed!(self.bound_operand(first, around));
                for link in links {
                    let right = formed!(self.bound_operand(&link.operand, around));
                    let meaning = Meaning::Binary(link.operator.name.to_owned());
                    left = self.operand(self.call(meaning, vec![left, right], around.schema())?, around.schema())?;
                }
                left.expr
            }
            ExprKind::Prefix { operator, operand } => {
                let operand = formed!(self.bound_operand(operand, around));
                self.call(Meaning::Prefix(operator.name.to_owned()), vec![operand], around.schema())?
            }
            ExprKind::Call { function, arguments, names, variadic: false, .. }
                if names.is_empty() && function.is_built_in() =>
            {
                let arguments = formed!(self.bound_operands(arguments, around));
                formed!(self.bound_call(&function.name, arguments, around))
            }
            ExprKind::Cast { value, method, written, .. } => match (written, method) {
                (Written::Implicitly, _) => formed!(self.bound(value, around)),
                (Written::Explicitly, CastMethod::Row | CastMethod::Domain) => return Ok(None),
                (Written::Explicitly, _) => {
                    let Some(to) = declared_of_oid(expr.ty.oid, expr.ty.typmod).filter(is_plain) else {
                        return Ok(None);
                    };
                    let operand = formed!(self.bound_operand(value, around));
                    self.cast_to(operand, &to).map_err(raised)?
                }
            },
            ExprKind::And(parts) => formed!(self.bound_conditions(parts, Operator::And, "AND", around)),
            ExprKind::Or(parts) => formed!(self.bound_conditions(parts, Operator::Or, "OR", around)),
            ExprKind::InList { any, comparisons } => {
                let operator = if *any { Operator::Or } else { Operator::And };
                formed!(self.bound_conditions(comparisons, operator, "IN", around))
            }
            ExprKind::Not(value) => {
                let value = formed!(self.bound(value, around));
                Expr::Not(Box::new(self.truth(value, "NOT", around.schema())?))
            }
            ExprKind::Test { value, test, negated } => {
                let value = formed!(self.bound(value, around));
                self.bound_test(value, *test, *negated, around)?
            }
            ExprKind::Distinct { left, right, .. } => {
                let operands =
                    vec![formed!(self.bound_operand(left, around)), formed!(self.bound_operand(right, around))];
                self.call(Meaning::Binary(IS_DISTINCT.to_owned()), operands, around.schema())?
            }
            ExprKind::NullIf { left, right, .. } => {
                let operands =
                    vec![formed!(self.bound_operand(left, around)), formed!(self.bound_operand(right, around))];
                self.call(Meaning::NullIf, operands, around.schema())?
            }
            ExprKind::OfItems { operator, any, value, array } => {
                formed!(self.bound_of_items(operator.name, *any, value, array, around))
            }
            ExprKind::Array { items, is_of_arrays: false } if !items.is_empty() => {
                let items = formed!(self.bound_operands(items, around));
                self.call(Meaning::Array, items, around.schema())?
            }
            ExprKind::Case { operand, branches, otherwise } => {
                formed!(self.bound_case(operand.as_deref(), branches, otherwise, around))
            }
            ExprKind::Coalesce(parts) => {
                let operands = formed!(self.bound_operands(parts, around));
                self.call(Meaning::Coalesce, operands, around.schema())?
            }
            ExprKind::Greatest(parts) => {
                let operands = formed!(self.bound_operands(parts, around));
                self.call(Meaning::Greatest, operands, around.schema())?
            }
            ExprKind::Least(parts) => {
                let operands = formed!(self.bound_operands(parts, around));
                self.call(Meaning::Least, operands, around.schema())?
            }
            ExprKind::Subscript { value, indexes } => match indexes.as_slice() {
                [Index::One(index)] if value.ty.oid != oids::JSONB => {
                    let operands =
                        vec![formed!(self.bound_operand(value, around)), formed!(self.bound_operand(index, around))];
                    formed!(self.bound_call("array_subscript", operands, around))
                }
                _ => return Ok(None),
            },
            // Texts have one order.
            ExprKind::Collate { value, .. } => formed!(self.bound(value, around)),
            ExprKind::Word(word) if expr.ty.typmod < 0 => {
                let Some(name) = function_of(*word) else { return Ok(None) };
                formed!(self.bound_call(name, Vec::new(), around))
            }
            _ => return Ok(None),
        }))
    }

    fn bound_operand(&self, expr: &BoundExpr, around: &dyn Surroundings) -> Result<Option<Operand>> {
        let formed = formed!(self.bound(expr, around));
        self.operand(formed, around.schema()).map(Some)
    }

    fn bound_operands(&self, exprs: &[BoundExpr], around: &dyn Surroundings) -> Result<Option<Vec<Operand>>> {
        let mut operands = Vec::with_capacity(exprs.len());
        for expr in exprs {
            operands.push(formed!(self.bound_operand(expr, around)));
        }
        Ok(Some(operands))
    }

    fn constant(&self, constant: &Literal, expr: &BoundExpr) -> Result<Option<Expr>> {
        let Some(sql_type) = declared_of_oid(expr.ty.oid, expr.ty.typmod).filter(is_plain) else { return Ok(None) };
        if expr.ty.oid == oids::BPCHAR {
            // It has the length of what it is beside.
            let value = match constant {
                Literal::Read { text, .. } | Literal::Text(text) => ScalarValue::from(&**text),
                Literal::Null | Literal::Value(_) => ScalarValue::Null,
            };
            return Ok(Some(Expr::Literal(value, None)));
        }
        let formed = match constant {
            Literal::Null => literal::null(&ValueType::of(sql_type)),
            Literal::Value(ScalarValue::Boolean(truth)) => Ok(Expr::Literal(ScalarValue::Boolean(*truth), None)),
            Literal::Value(value) => Ok(literal::literal(value.clone(), &sql_type)),
            Literal::Read { text, .. } => literal::reading(text, &sql_type, self.parameters()),
            Literal::Text(text) => match &sql_type {
                SqlType::Numeric(_) => number(text),
                SqlType::Text | SqlType::Varchar(_) => Ok(literal::literal(ScalarValue::from(&**text), &sql_type)),
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
        around: &dyn Surroundings,
    ) -> Result<Option<Expr>> {
        let mut conditions = Vec::with_capacity(parts.len());
        for part in parts {
            let part = formed!(self.bound(part, around));
            conditions.push(self.truth(part, clause, around.schema())?);
        }
        Ok(chains::joined(conditions, operator))
    }

    fn bound_test(&self, value: Expr, test: Test, negated: bool, around: &dyn Surroundings) -> Result<Expr> {
        let truth = |clause| self.truth(value.clone(), clause, around.schema()).map(Box::new);
        Ok(match (test, negated) {
            (Test::Null, negated) => self.is_null(value, negated, around.schema())?,
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
        around: &dyn Surroundings,
    ) -> Result<Option<Expr>> {
        let subject = formed!(self.bound_operand(value, around));
        if let (ExprKind::Array { items, is_of_arrays: false }, ("=", true) | ("<>", false)) =
            (&array.without_implicit_casts().kind, (name, any))
        {
            let list = formed!(self.bound_operands(items, around)).into_iter().map(|item| item.expr).collect();
            let within = InList { expr: Box::new(subject.expr), list, negated: !any };
            return self.in_list(within, around.schema()).map(Some);
        }
        let array = formed!(self.bound_operand(array, around));
        if comparison_operator(name).is_some() {
            let meaning = if any { Meaning::Any(name.to_owned()) } else { Meaning::All(name.to_owned()) };
            return self.call(meaning, vec![subject, array], around.schema()).map(Some);
        }
        Ok(None)
    }

    fn bound_case(
        &self,
        operand: Option<&BoundExpr>,
        branches: &[(BoundExpr, BoundExpr)],
        otherwise: &BoundExpr,
        around: &dyn Surroundings,
    ) -> Result<Option<Expr>> {
        let subject = match operand {
            None => None,
            Some(operand) => Some(Box::new(formed!(self.bound(operand, around)))),
        };
        let mut when_then = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            let when = match (&subject, &when.kind) {
                (None, _) => when,
                (Some(_), ExprKind::Operation { links, .. }) if links.len() == 1 => &links[0].operand,
                (Some(_), _) => return Ok(None),
            };
            let (when, then) = (formed!(self.bound(when, around)), formed!(self.bound(then, around)));
            when_then.push((Box::new(when), Box::new(then)));
        }
        // NULL that nobody wrote has no type of its own.
        let otherwise = match otherwise.kind {
            ExprKind::Constant(Literal::Null) => None,
            _ => Some(Box::new(formed!(self.bound(otherwise, around)))),
        };
        self.case(Case::new(subject, when_then, otherwise), around.schema()).map(Some)
    }

    /// A function whose values are computed here; those that ask the catalogue or the session are for the planner.
    fn bound_call(&self, name: &str, arguments: Vec<Operand>, around: &dyn Surroundings) -> Result<Option<Expr>> {
        let Some(function) = find(name) else { return Ok(None) };
        let Expr::ScalarFunction(call) = function.call(arguments.into_iter().map(|argument| argument.expr).collect())
        else {
            return Ok(None);
        };
        self.function(call, around.schema()).map(Some)
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
