//! A predicate as text, for EXPLAIN: as SQL would write it.

use std::fmt;

use super::{CompareOp, Condition, Predicate, Test};
use crate::model::EdmValue;

/// Constants of a list that are named before the rest is counted.
const SHOWN: usize = 10;

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, between) = match self {
            Predicate::Test(test) => return test.fmt(f),
            Predicate::All(parts) => (parts, " AND "),
            Predicate::Any(parts) => (parts, " OR "),
        };
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                f.write_str(between)?;
            }
            match part {
                Predicate::Test(test) => test.fmt(f)?,
                several => write!(f, "({several})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.column.name())?;
        match &self.condition {
            Condition::Compare(op, constant) => write!(f, " {op} {}", Constant(constant)),
            Condition::OneOf(constants) => {
                f.write_str(" IN (")?;
                for (index, constant) in constants.iter().take(SHOWN).enumerate() {
                    let separator = if index > 0 { ", " } else { "" };
                    write!(f, "{separator}{}", Constant(constant))?;
                }
                match constants.len().checked_sub(SHOWN) {
                    Some(more) if more > 0 => write!(f, ", ... and {more} more)"),
                    _ => f.write_str(")"),
                }
            }
            Condition::StartsWith(prefix) => write!(f, " LIKE '{}%'", prefix.replace('\'', "''")),
            Condition::IsNull => f.write_str(" IS NULL"),
            Condition::IsNotNull => f.write_str(" IS NOT NULL"),
        }
    }
}

impl fmt::Display for CompareOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CompareOp::Eq => "=",
            CompareOp::NotEq => "<>",
            CompareOp::Lt => "<",
            CompareOp::LtEq => "<=",
            CompareOp::Gt => ">",
            CompareOp::GtEq => ">=",
        })
    }
}

struct Constant<'a>(&'a EdmValue);

impl fmt::Display for Constant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0.as_ref();
        match self.0 {
            EdmValue::Int32(_) | EdmValue::Int64(_) | EdmValue::Double(_) | EdmValue::Boolean(_) => value.fmt(f),
            EdmValue::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            EdmValue::DateTime(_) | EdmValue::Guid(_) | EdmValue::Binary(_) => write!(f, "'{value}'"),
        }
    }
}
