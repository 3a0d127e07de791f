//! What finding types needs and leaves: the catalogue, how texts of values are read, the parameters met so far.
//!
//! Conversions (`coerce`), operators (`resolve`) and parameters are methods of it, and know nothing of the syntax.

use std::collections::HashMap;

use tablegate_types::style::Reading;

use crate::catalogue::{Lookup, Oid, Operator};
use crate::parameters::Parameters;

/// Operators by the types of their operands.
pub(crate) type ChosenOperators = HashMap<(Oid, Oid), Vec<&'static Operator>>;

pub(crate) struct Typing<'b> {
    pub lookup: Lookup<'b>,
    /// How texts of values are read.
    pub reading: Reading,
    pub parameters: Parameters,
    /// Operators that were chosen before.
    pub chosen: ChosenOperators,
}

impl<'b> Typing<'b> {
    pub(crate) fn new(lookup: Lookup<'b>) -> Self {
        let (reading, parameters, chosen) = (Reading::default(), Parameters::default(), HashMap::new());
        Self { lookup, reading, parameters, chosen }
    }
}
