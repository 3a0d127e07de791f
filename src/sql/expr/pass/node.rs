//! One expression, whose parts are typed already.

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{InSubquery, Placeholder, ScalarFunction, SetComparison};
use datafusion::logical_expr::{Expr, Operator};
use tablegate_types::built_in::routines;
use tablegate_types::conversion;
use tablegate_types::error::SqlError;
use tablegate_types::oid::of_oid;
use tablegate_types::sql_type::SqlType;

use super::{Pass, raised};
use crate::expr::meaning::Meaning;
use crate::expr::operand::Operand;
use crate::expr::{function, literal, operation, record};

impl Pass<'_> {
    /// A row is NULL when all of its fields are.
    pub(super) fn is_null(&self, operand: Expr, negated: bool, schema: &DFSchema) -> Result<Expr> {
        let operand = self.operand(operand, schema)?;
        Ok(match record::all_null(&operand, negated) {
            Some(all_null) => all_null,
            None if negated => Expr::IsNotNull(Box::new(operand.expr)),
            None => Expr::IsNull(Box::new(operand.expr)),
        })
    }

    /// A function of the catalogue, whose parameters have the types that it asks for. What names an object may be given as a
    /// text.
    pub(super) fn with_known_parameters(&self, mut function: ScalarFunction) -> ScalarFunction {
        let (name, count) = (function.func.name().to_owned(), function.args.len());
        for (index, argument) in function.args.iter_mut().enumerate() {
            let Expr::Placeholder(parameter @ Placeholder { field: None, .. }) = argument else { continue };
            let asked = routines::argument_type(&name, count, index).and_then(of_oid);
            if let Some(asked) = asked.filter(is_plain) {
                *argument = self.parameters().take_for(parameter.id.clone(), &asked);
            }
        }
        function
    }

    pub(super) fn call(&self, meaning: Meaning, mut operands: Vec<Operand>, schema: &DFSchema) -> Result<Expr> {
        let pair =
            |operands: Vec<Operand>| <[Operand; 2]>::try_from(operands).map_err(|_| raised(wrong_count(&meaning)));
        let parameters = self.parameters();
        match &meaning {
            Meaning::Binary(name) => {
                let [left, right] = pair(operands)?;
                operation::binary(name, left, right, self.parameters()).map_err(raised)
            }
            Meaning::Prefix(name) if name == "NOT" => match operands.pop() {
                Some(operand) => Ok(Expr::Not(Box::new(self.truth(operand.expr, "NOT", schema)?))),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Prefix(name) => match operands.pop() {
                Some(operand) => operation::prefix(name, operand, parameters).map_err(raised),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Any(name) => {
                let [left, right] = pair(operands)?;
                self.of_items(name, false, left, right, schema)
            }
            Meaning::All(name) => {
                let [left, right] = pair(operands)?;
                self.of_items(name, true, left, right, schema)
            }
            Meaning::Coalesce | Meaning::Greatest | Meaning::Least => self.first_of(&meaning, operands, schema),
            Meaning::NullIf => {
                let [left, right] = pair(operands)?;
                self.null_if(left, right, schema)
            }
            Meaning::Array => self.array(operands),
            Meaning::Row(layout) => record::row(layout, operands, parameters).map_err(raised),
            Meaning::Field(name) => match operands.pop() {
                Some(row) => record::field(name, row).map_err(raised),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::OfSorted(set) => self.of_sorted(*set, operands).map_err(raised),
            Meaning::TypeOf => match operands.pop() {
                Some(operand) => {
                    let name = conversion::name(operand.sql_type());
                    Ok(literal::literal(ScalarValue::from(name), &SqlType::Regtype))
                }
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Function(name) => function::call(name, operands, parameters).map_err(raised),
            Meaning::Cast(name, to) => match operands.as_slice() {
                [operand] if operand.is_unknown() || conversion::is_castable(operand.sql_type(), to) => {
                    let operand = operand.clone();
                    self.cast_to(operand, to).map_err(raised)
                }
                _ => Err(raised(function::missing(name, &operands))),
            },
        }
    }

    pub(super) fn in_subquery(&self, mut within: InSubquery, schema: &DFSchema) -> Result<Expr> {
        let (expr, subquery) = self.beside_subquery(Operator::Eq, *within.expr, within.subquery, schema)?;
        within.expr = Box::new(expr);
        within.subquery = subquery;
        Ok(Expr::InSubquery(within))
    }

    pub(super) fn set_comparison(&self, mut set: SetComparison, schema: &DFSchema) -> Result<Expr> {
        let (expr, subquery) = self.beside_subquery(set.op, *set.expr, set.subquery, schema)?;
        set.expr = Box::new(expr);
        set.subquery = subquery;
        Ok(Expr::SetComparison(set))
    }
}

/// Whether values of the type are what they say, rather than names of something.
fn is_plain(sql_type: &SqlType) -> bool {
    use SqlType::{Bool, Float4, Float8, Int2, Int4, Int8, Interval, Oid, Text, Timestamptz};
    [Bool, Float4, Float8, Int2, Int4, Int8, Interval, Oid, Text, Timestamptz].contains(sql_type)
}

pub(super) fn wrong_count(meaning: &Meaning) -> Box<SqlError> {
    SqlError::new(
        tablegate_types::error::ErrorKind::Syntax,
        format!("{} has the wrong number of arguments", meaning.name()),
    )
}
