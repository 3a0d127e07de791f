//! Parameters: each has the type of the place where it first stands, unless the client said one.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::oids::{self, Oid};
use crate::expr::{BoundExpr, ExprKind};
use crate::place::{AtPlace, Place};
use crate::typing::Typing;

/// The types of parameters, by their numbers from 1; 0 for one that is not known yet.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    types: Vec<Oid>,
    /// How many there may be.
    most: usize,
}

impl Parameters {
    /// Those of a statement that is prepared, of which the client may have said some.
    pub fn variable(said: Vec<Oid>) -> Self {
        let types = said.into_iter().map(|oid| if oid == oids::UNKNOWN { 0 } else { oid }).collect();
        Self { types, most: usize::from(u16::MAX) }
    }

    /// The types as far as they were found, 0 for others.
    pub fn types(&self) -> &[Oid] {
        &self.types
    }

    /// The types that were found.
    ///
    /// # Errors
    /// 42P18 for one whose type nothing says.
    pub fn found(&self) -> SqlResult<&[Oid]> {
        match self.types.iter().position(|oid| *oid == 0) {
            Some(at) => Err(undetermined(at + 1)),
            None => Ok(&self.types),
        }
    }
}

fn undetermined(number: usize) -> Box<SqlError> {
    let message = format!("could not determine data type of parameter ${number}");
    SqlError::new(ErrorKind::IndeterminateDatatype, message)
}

impl Typing<'_> {
    /// A parameter where it stands.
    ///
    /// # Errors
    /// 42P02 for a number that is none.
    pub(crate) fn parameter(&mut self, number: usize, place: Place) -> SqlResult<BoundExpr> {
        let types = &mut self.parameters.types;
        if number == 0 || number > self.parameters.most {
            let message = format!("there is no parameter ${number}");
            return Err(SqlError::new(ErrorKind::UndefinedParameter, message).at_place(place));
        }
        if types.len() < number {
            types.resize(number, 0);
        }
        let oid = match types[number - 1] {
            0 => oids::UNKNOWN,
            known => known,
        };
        Ok(BoundExpr::new(ExprKind::Parameter(number), self.lookup.of_type(oid, -1), place))
    }

    /// A parameter where a value of the type is asked for.
    ///
    /// # Errors
    /// 42P08 where it has another one.
    pub(crate) fn typed_parameter(&mut self, number: usize, target: Oid, place: Place) -> SqlResult<BoundExpr> {
        let Some(known) = self.parameters.types.get_mut(number - 1) else {
            return Err(SqlError::new(ErrorKind::Internal, "a parameter that was not met"));
        };
        match *known {
            0 => *known = target,
            other if other == target => {}
            other => {
                let (one, other) = (self.lookup.type_name(other), self.lookup.type_name(target));
                let message = format!("inconsistent types deduced for parameter ${number}");
                return Err(SqlError::new(ErrorKind::AmbiguousParameter, message)
                    .with_detail(format!("{one} versus {other}"))
                    .at_place(place));
            }
        }
        Ok(BoundExpr::new(ExprKind::Parameter(number), self.lookup.of_type(target, -1), place))
    }
}
