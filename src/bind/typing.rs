//! What finding types needs and leaves: the catalogue, how texts of values are read, the parameters met so far.
//!
//! Conversions (`coerce`), operators (`resolve`) and parameters are methods of it, and know nothing of the syntax.

use std::collections::HashMap;

use tablegate_types::style::Reading;

use crate::catalogue::{Lookup, Oid, Operator, oids};
use crate::expr::ExprType;
use crate::parameters::Parameters;

/// What is found once and holds for the whole statement.
#[derive(Default)]
pub(crate) struct Noted {
    /// Operators that were chosen, by the types of their operands.
    pub operators: HashMap<(Oid, Oid), Vec<&'static Operator>>,
    /// The columns of rows whose type does not say them: the modifier of the type is the number of their list.
    records: Vec<Vec<Field>>,
}

/// A column of a row: its name, its type and the modifier of that.
pub(crate) type Field = (String, Oid, i32);

pub(crate) struct Typing<'b> {
    pub lookup: Lookup<'b>,
    /// How texts of values are read.
    pub reading: Reading,
    pub parameters: Parameters,
    pub noted: Noted,
}

impl<'b> Typing<'b> {
    pub(crate) fn new(lookup: Lookup<'b>) -> Self {
        let (reading, parameters, noted) = (Reading::default(), Parameters::default(), Noted::default());
        Self { lookup, reading, parameters, noted }
    }

    /// The type of rows of these columns; that of rows of which nothing is known where there are none.
    pub(crate) fn record(&mut self, columns: Vec<Field>) -> ExprType {
        let plain = ExprType::plain(oids::RECORD);
        if columns.is_empty() {
            return plain;
        }
        let records = &mut self.noted.records;
        let number = records.iter().position(|known| *known == columns).unwrap_or_else(|| {
            records.push(columns);
            records.len() - 1
        });
        ExprType { typmod: i32::try_from(number).unwrap_or(-1), ..plain }
    }

    /// The columns of values of a row type.
    pub(crate) fn fields(&self, ty: ExprType) -> Vec<Field> {
        let base = self.lookup.base(ty.oid);
        if base == oids::RECORD {
            let number = usize::try_from(ty.typmod).ok();
            return number.and_then(|number| self.noted.records.get(number)).cloned().unwrap_or_default();
        }
        let of_row = self.lookup.get(base).filter(|known| known.relation != 0);
        of_row.map(|known| self.lookup.0.columns_of(known.relation)).unwrap_or_default()
    }
}
