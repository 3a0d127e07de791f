//! Tokens into a [`Filter`]: `not` binds closest, then `and`, then `or`.

use tablegate_store::model::EdmValue;
use tablegate_store::model::limits::FILTER_COMPARISONS_MAX;

use super::lexer::{Lexer, Token, TokenKind};
use super::{CompareOp, Comparison, Filter, Property};
use crate::error::{Refusal, RestResult};

/// Parentheses and `not` inside each other: each takes some of the stack.
const DEPTH_MAX: usize = 64;

/// # Errors
/// Where the text is no filter, or one that the service does not take.
pub(super) fn parse(text: &str) -> RestResult<Filter> {
    let mut lexer = Lexer::new(text);
    let next = lexer.next()?;
    let mut parser = Parser { lexer, next, depth: 0, comparisons: 0 };
    let filter = parser.any()?;
    if parser.next.kind != TokenKind::End {
        return Err(parser.unexpected());
    }
    match parser.comparisons {
        count if count > FILTER_COMPARISONS_MAX => Err(Refusal::TooManyComparisons(count)),
        _ => Ok(filter),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token<'a>,
    depth: usize,
    comparisons: usize,
}

enum Operand {
    Property(Property),
    Constant(EdmValue),
}

impl Parser<'_> {
    fn any(&mut self) -> RestResult<Filter> {
        let mut parts = vec![self.all()?];
        while self.take_word("or")? {
            parts.push(self.all()?);
        }
        Ok(alone_or(parts, Filter::Any))
    }

    fn all(&mut self) -> RestResult<Filter> {
        let mut parts = vec![self.one()?];
        while self.take_word("and")? {
            parts.push(self.one()?);
        }
        Ok(alone_or(parts, Filter::All))
    }

    fn one(&mut self) -> RestResult<Filter> {
        if self.depth == DEPTH_MAX {
            return Err(Refusal::BadInput(format!("The filter is nested deeper than {DEPTH_MAX} levels.")));
        }
        self.depth += 1;
        let one = self.one_within();
        self.depth -= 1;
        one
    }

    fn one_within(&mut self) -> RestResult<Filter> {
        if self.take_word("not")? {
            return Ok(Filter::Not(Box::new(self.one()?)));
        }
        if self.next.kind == TokenKind::Open {
            self.advance()?;
            let inner = self.any()?;
            if self.next.kind != TokenKind::Close {
                return Err(self.unexpected());
            }
            self.advance()?;
            return Ok(inner);
        }
        self.comparison()
    }

    /// `property op constant`, the other way round, or a Boolean alone.
    fn comparison(&mut self) -> RestResult<Filter> {
        let left = self.operand()?;
        let Some(op) = self.operator() else {
            return match left {
                Operand::Property(property) => {
                    self.comparisons += 1;
                    Ok(Filter::Compare(Comparison { property, op: CompareOp::Eq, constant: EdmValue::Boolean(true) }))
                }
                Operand::Constant(EdmValue::Boolean(value)) => Ok(Filter::Constant(value)),
                Operand::Constant(_) => Err(self.unexpected()),
            };
        };
        self.advance()?;
        self.comparisons += 1;
        match (left, self.operand()?) {
            (Operand::Property(property), Operand::Constant(constant)) => {
                Ok(Filter::Compare(Comparison { property, op, constant }))
            }
            (Operand::Constant(constant), Operand::Property(property)) => {
                Ok(Filter::Compare(Comparison { property, op: op.flipped(), constant }))
            }
            (Operand::Property(_), Operand::Property(_)) | (Operand::Constant(_), Operand::Constant(_)) => {
                Err(Refusal::BadInput("A comparison in the filter has one property and one constant.".to_owned()))
            }
        }
    }

    fn operand(&mut self) -> RestResult<Operand> {
        let operand = match &self.next.kind {
            TokenKind::Constant(value) => Operand::Constant(value.clone()),
            TokenKind::Word("and" | "or" | "not" | "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "null")
            | TokenKind::Open
            | TokenKind::Close
            | TokenKind::End => return Err(self.unexpected()),
            TokenKind::Word(name) => Operand::Property(Property::of(name)),
        };
        self.advance()?;
        Ok(operand)
    }

    fn operator(&self) -> Option<CompareOp> {
        match self.next.kind {
            TokenKind::Word("eq") => Some(CompareOp::Eq),
            TokenKind::Word("ne") => Some(CompareOp::NotEq),
            TokenKind::Word("gt") => Some(CompareOp::Gt),
            TokenKind::Word("ge") => Some(CompareOp::GtEq),
            TokenKind::Word("lt") => Some(CompareOp::Lt),
            TokenKind::Word("le") => Some(CompareOp::LtEq),
            _ => None,
        }
    }

    fn take_word(&mut self, word: &str) -> RestResult<bool> {
        let is_next = matches!(self.next.kind, TokenKind::Word(next) if next == word);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn advance(&mut self) -> RestResult<()> {
        self.next = self.lexer.next()?;
        Ok(())
    }

    /// The error for the token that is next.
    fn unexpected(&self) -> Refusal {
        self.lexer.error_at(self.next.end)
    }
}

fn alone_or(mut parts: Vec<Filter>, several: fn(Vec<Filter>) -> Filter) -> Filter {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            several(parts)
        }
    }
}
