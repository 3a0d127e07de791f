//! Operators: which one is meant, and expressions of them.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::candidates::{self, Unresolved};
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, Lookup, Operator, operators};
use crate::coerce::polymorphic;
use crate::expr::{BoundExpr, ExprKind, ExprType, Link, Written};
use crate::place::{AtPlace, Place};
use crate::typing::Typing;

impl Lookup<'_> {
    /// PostgreSQL's `oper`: the operator of a name between operands of these types.
    pub(crate) fn operator(self, name: &str, left: Oid, right: Oid) -> Result<&'static Operator, Unresolved> {
        let known = operators::named(name);
        let exact = |left: Oid, right: Oid| {
            known.iter().find(|operator| operator.left == left && operator.right == right && left != 0)
        };
        // A literal is first taken to have the type of the other operand.
        let (one, other) = match (left, right) {
            (oids::UNKNOWN, oids::UNKNOWN) => (left, right),
            (oids::UNKNOWN, other) | (other, oids::UNKNOWN) => (other, other),
            both => both,
        };
        if let Some(found) = exact(one, other) {
            return Ok(found);
        }
        if (one, other) != (left, right) {
            let base = self.base(one);
            if base != one
                && let Some(found) = exact(base, base)
            {
                return Ok(found);
            }
        }
        let binary: Vec<&Operator> = known.iter().filter(|operator| !operator.is_prefix()).collect();
        let asked: Vec<Vec<Oid>> = binary.iter().map(|operator| vec![operator.left, operator.right]).collect();
        candidates::best(self, &[left, right], &asked).map(|at| binary[at])
    }

    /// The operator of a name before an operand.
    pub(crate) fn prefix_operator(self, name: &str, operand: Oid) -> Result<&'static Operator, Unresolved> {
        let known: Vec<&Operator> = operators::named(name).iter().filter(|operator| operator.is_prefix()).collect();
        if let Some(exact) = known.iter().find(|operator| operator.right == operand) {
            return Ok(exact);
        }
        let asked: Vec<Vec<Oid>> = known.iter().map(|operator| vec![operator.right]).collect();
        candidates::best(self, &[operand], &asked).map(|at| known[at])
    }

    fn unresolved(self, why: Unresolved, name: &str, left: Oid, right: Oid) -> Box<SqlError> {
        let right = self.type_name(right);
        let signature =
            if left == 0 { format!("{name} {right}") } else { format!("{} {name} {right}", self.type_name(left)) };
        match why {
            Unresolved::Several => {
                SqlError::new(ErrorKind::AmbiguousFunction, format!("operator is not unique: {signature}"))
                    .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
            }
            Unresolved::None => {
                let types = if left == 0 {
                    "type. You might need to add an explicit type cast."
                } else {
                    "types. You might need to add explicit type casts."
                };
                SqlError::new(ErrorKind::UndefinedFunction, format!("operator does not exist: {signature}"))
                    .with_hint(format!("No operator matches the given name and argument {types}"))
            }
        }
    }
}

/// An operator for operands, and the operands as it takes them.
pub(crate) struct Operation {
    pub operator: &'static Operator,
    pub left: BoundExpr,
    pub right: BoundExpr,
    pub result: Oid,
}

impl Typing<'_> {
    /// PostgreSQL's `make_op` with two operands.
    ///
    /// # Errors
    /// 42883 where no operator takes them, 42725 where several do.
    pub(crate) fn operation(
        &mut self,
        name: &str,
        left: BoundExpr,
        right: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<BoundExpr> {
        let Operation { operator, left, right, result } = self.operands(name, left, right, at)?;
        let place = left.place.leftmost(right.place);
        let ty = self.lookup.made_of(result, -1, [&left, &right])?;
        let link = Link { operator, operand: right, ty };
        // What is joined from the left stays flat, however long it is.
        let kind = match left.kind {
            ExprKind::Operation { first, mut links } => {
                links.push(link);
                ExprKind::Operation { first, links }
            }
            _ => ExprKind::Operation { first: Box::new(left), links: vec![link] },
        };
        Ok(BoundExpr::new(kind, ty, place))
    }

    fn chosen_operator(
        &mut self,
        name: &str,
        left: Oid,
        right: Oid,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<&'static Operator> {
        let known = self.noted.operators.entry((left, right)).or_default();
        if let Some(found) = known.iter().find(|operator| operator.name == name) {
            return Ok(found);
        }
        let operator = self.lookup.operator(name, left, right);
        let operator = operator.map_err(|why| self.lookup.unresolved(why, name, left, right).at_place(at()))?;
        known.push(operator);
        Ok(operator)
    }

    /// The operator between two operands, and the operands as it takes them.
    ///
    /// # Errors
    /// As [`Typing::operation`].
    pub(crate) fn operands(
        &mut self,
        name: &str,
        left: BoundExpr,
        right: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<Operation> {
        let given = [left.oid(), right.oid()];
        let operator = self.chosen_operator(name, given[0], given[1], at)?;
        let mut asked = [operator.left, operator.right];
        let result = polymorphic::resolve(self.lookup, &given, &mut asked, operator.result)?;
        let left = self.argument(left, asked[0])?;
        let right = self.argument(right, asked[1])?;
        Ok(Operation { operator, left, right, result })
    }

    /// The same of an operator that is to say whether something holds.
    ///
    /// # Errors
    /// As [`Typing::operation`], and 42804 for one that gives something else.
    pub(crate) fn comparison(
        &mut self,
        name: &str,
        construct: &str,
        left: BoundExpr,
        right: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<Operation> {
        let operation = self.operands(name, left, right, at)?;
        if operation.result != oids::BOOL {
            let message = format!("{construct} requires {name} operator to yield boolean");
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(at()));
        }
        Ok(operation)
    }

    /// `make_op` with one operand, behind the operator.
    ///
    /// # Errors
    /// As [`Typing::operation`].
    pub(crate) fn prefix_operation(&mut self, name: &str, operand: BoundExpr, place: Place) -> SqlResult<BoundExpr> {
        let given = operand.oid();
        let operator = self.lookup.prefix_operator(name, given);
        let operator = operator.map_err(|why| self.lookup.unresolved(why, name, 0, given).at_place(place))?;
        let mut asked = [operator.right];
        let result = polymorphic::resolve(self.lookup, &[given], &mut asked, operator.result)?;
        let operand = self.argument(operand, asked[0])?;
        let ty = self.lookup.made_of(result, -1, [&operand])?;
        let place = place.leftmost(operand.place);
        Ok(BoundExpr::new(ExprKind::Prefix { operator, operand: Box::new(operand) }, ty, place))
    }

    /// PostgreSQL's `make_scalar_array_op`: an operator between a value and the items of an array.
    ///
    /// # Errors
    /// 42809 for what is no array, or no condition; as [`Typing::operation`].
    pub(crate) fn of_items(
        &mut self,
        name: &str,
        any: bool,
        value: BoundExpr,
        array: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<BoundExpr> {
        let wrong = |message: &str| SqlError::new(ErrorKind::WrongObjectType, message).at_place(at());
        let given = match array.oid() {
            oids::UNKNOWN => oids::UNKNOWN,
            oid => {
                self.lookup.base_element(oid).ok_or_else(|| wrong("op ANY/ALL (array) requires array on right side"))?
            }
        };
        let given = [value.oid(), given];
        let operator = self.chosen_operator(name, given[0], given[1], at)?;
        let mut asked = [operator.left, operator.right];
        let result = polymorphic::resolve(self.lookup, &given, &mut asked, operator.result)?;
        if result != oids::BOOL {
            return Err(wrong("op ANY/ALL (array) requires operator to yield boolean"));
        }
        let of_array = if polymorphic::is_polymorphic(asked[1]) {
            array.oid()
        } else {
            let found = self.lookup.array(asked[1]);
            found.ok_or_else(|| polymorphic::no_array(self.lookup, asked[1]).at_place(at()))?
        };
        let value = self.argument(value, asked[0])?;
        let array = self.argument(array, of_array)?;
        self.lookup.made_of(oids::BOOL, -1, [&value, &array])?;
        let place = value.place.leftmost(array.place);
        let kind = ExprKind::OfItems { operator, any, value: Box::new(value), array: Box::new(array) };
        Ok(BoundExpr::new(kind, ExprType::BOOL, place))
    }

    /// An operand as it is taken.
    ///
    /// # Errors
    /// What a literal's text is refused for.
    pub(crate) fn argument(&mut self, given: BoundExpr, asked: Oid) -> SqlResult<BoundExpr> {
        self.coerce(given, asked, -1, CastContext::Implicit, Written::Implicitly, Place::NOWHERE)
    }
}
