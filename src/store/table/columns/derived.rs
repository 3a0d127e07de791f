//! Columns that are computed from stored ones by a function that the caller supplies; the store knows only its id.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::dictionary::{dictionary, dictionary_type};
use super::{ColumnType, ScanColumn};
use crate::model::PropertyName;

/// Why a column could not be made, in the words of the code that asked for it.
pub type DeriveError = Arc<dyn Error + Send + Sync>;

/// From the inputs, all of one length, to as many values.
type Derive = dyn Fn(&[ArrayRef]) -> Result<ArrayRef, DeriveError> + Send + Sync;

/// A column whose values are made of others of the same row.
///
/// Its id names the inputs and the function: columns with one id have the same values over the same rows. A store may
/// keep them under it, and hand them out in a later run
/// ([`TableStore::keep_derived`](crate::table::TableStore::keep_derived)).
pub struct DerivedColumn {
    id: String,
    inputs: Vec<ScanColumn>,
    data_type: DataType,
    derive: Box<Derive>,
    is_dictionary: bool,
}

impl DerivedColumn {
    /// `derive` gives an array of `data_type` out of those of the inputs, none of which is derived itself.
    pub fn new(
        id: String,
        inputs: Vec<ScanColumn>,
        data_type: DataType,
        derive: impl Fn(&[ArrayRef]) -> Result<ArrayRef, DeriveError> + Send + Sync + 'static,
    ) -> Self {
        Self { id, inputs, data_type, derive: Box::new(derive), is_dictionary: false }
    }

    /// A property's texts, as Dictionary(UInt32, Utf8): where many rows have the same text they have the same key, and the
    /// keys are rows of the column that the texts themselves are in.
    pub fn dictionary(name: &PropertyName) -> Self {
        let input = ScanColumn::Property { name: name.clone(), column_type: ColumnType::Text };
        let derive = |texts: &[ArrayRef]| dictionary(&texts[0]).map_err(|error| Arc::new(error) as DeriveError);
        let column = Self::new(format!("dictionary of {name}"), vec![input], dictionary_type(), derive);
        Self { is_dictionary: true, ..column }
    }

    /// Whether it is the dictionary of its one input: who keeps that needs to keep no more than its keys.
    pub fn is_dictionary(&self) -> bool {
        self.is_dictionary
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn inputs(&self) -> &[ScanColumn] {
        &self.inputs
    }

    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Its values in these rows.
    ///
    /// # Errors
    /// What stands in the way of making them.
    pub fn derive(&self, inputs: &[ArrayRef]) -> Result<ArrayRef, DeriveError> {
        (self.derive)(inputs)
    }
}

impl fmt::Debug for DerivedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DerivedColumn").field(&self.id).finish()
    }
}

impl PartialEq for DerivedColumn {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for DerivedColumn {}
