//! The functions of `pg_catalog` that clients call, as functions of the planner.
//!
//! Each works on single values: the catalogue is small, and one table of plain functions is easy to read and extend.
//! They answer from the catalogue as the statement sees it, so they belong to one statement.

mod arrays;
mod definitions;
mod naming;
mod privileges;
mod session;
mod text;

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use super::cells::{Cell, array_of};
use super::granted::Granted;
use super::objects::Objects;
use crate::sql::error::SqlResult;
use crate::sql::login::Login;
use crate::sql::observe::Observations;
use crate::sql::types::SqlType;

/// What the functions of one statement know.
#[derive(Clone)]
pub(super) struct FunctionContext {
    pub objects: Arc<Objects>,
    pub database: Arc<str>,
    pub user: Arc<str>,
    pub login: Arc<Login>,
    pub granted: Arc<Granted>,
    pub settings: Arc<[(String, String)]>,
    /// What observe mode saw, for the statements that read it.
    pub observations: Arc<Observations>,
}

#[cfg(test)]
impl FunctionContext {
    pub fn for_tests(tables: Vec<Arc<crate::sql::relation::Relation>>) -> Self {
        let objects = Arc::new(Objects::new(tables, Vec::new()));
        Self {
            objects,
            database: "d".into(),
            user: "u".into(),
            login: Arc::default(),
            granted: Arc::default(),
            settings: Arc::new([]),
            observations: Arc::default(),
        }
    }
}

type Evaluate = fn(&FunctionContext, &[Cell]) -> SqlResult<Cell>;

/// One function.
pub(super) struct Definition {
    name: &'static str,
    returns: fn(&[FieldRef]) -> SqlType,
    /// NULL for any NULL argument.
    strict: bool,
    evaluate: Evaluate,
}

impl Definition {
    const fn new(name: &'static str, returns: fn(&[FieldRef]) -> SqlType, evaluate: Evaluate) -> Self {
        Self { name, returns, strict: true, evaluate }
    }

    const fn of_nulls(mut self) -> Self {
        self.strict = false;
        self
    }
}

static DEFINITIONS: LazyLock<HashMap<&'static str, &'static Definition>> = LazyLock::new(|| {
    [
        definitions::FUNCTIONS,
        naming::FUNCTIONS,
        privileges::FUNCTIONS,
        session::FUNCTIONS,
        text::FUNCTIONS,
        arrays::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
    .map(|definition| (definition.name, definition))
    .collect()
});

/// The function of this name, for one statement.
pub(super) fn find(name: &str, context: &FunctionContext) -> Option<Arc<ScalarUDF>> {
    if name == arrays::ListOrEmpty::NAME {
        return Some(Arc::new(ScalarUDF::new_from_impl(arrays::ListOrEmpty::new())));
    }
    let definition = DEFINITIONS.get(name).copied()?;
    Some(Arc::new(ScalarUDF::new_from_impl(CatalogFunction::new(definition, context.clone()))))
}

/// Whether a function is defined here.
pub(super) fn is_known(name: &str) -> bool {
    DEFINITIONS.contains_key(name)
}

struct CatalogFunction {
    definition: &'static Definition,
    context: FunctionContext,
    signature: Signature,
}

impl CatalogFunction {
    fn new(definition: &'static Definition, context: FunctionContext) -> Self {
        let any_arguments = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
        Self { definition, context, signature: Signature::new(any_arguments, Volatility::Stable) }
    }

    fn evaluate(&self, arguments: &[Cell]) -> Result<Cell> {
        if self.definition.strict && arguments.contains(&Cell::Null) {
            return Ok(Cell::Null);
        }
        (self.definition.evaluate)(&self.context, arguments).map_err(|error| DataFusionError::External(error))
    }
}

impl std::fmt::Debug for CatalogFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.definition.name)
    }
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name && Arc::ptr_eq(&self.context.objects, &other.context.objects)
    }
}

impl Eq for CatalogFunction {}

impl Hash for CatalogFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok((self.definition.returns)(&[]).arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new((self.definition.returns)(args.arg_fields).field(self.definition.name, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let count = if constant { 1 } else { args.number_rows };
        let columns: Vec<ArrayRef> = args.args.iter().map(|a| a.to_array(count)).collect::<Result<_>>()?;
        let mut cells = Vec::with_capacity(count);
        let mut arguments = Vec::with_capacity(columns.len());
        for row in 0..count {
            arguments.clear();
            arguments.extend(columns.iter().map(|column| Cell::at(column, row)));
            cells.push(self.evaluate(&arguments)?);
        }
        let array = array_of(args.return_field.data_type(), &cells);
        Ok(if constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)
        } else {
            ColumnarValue::Array(array)
        })
    }
}

/// The argument at an index; NULL when it is not given.
fn argument(arguments: &[Cell], index: usize) -> &Cell {
    arguments.get(index).unwrap_or(&Cell::Null)
}

fn text(_: &[FieldRef]) -> SqlType {
    SqlType::Text
}

fn name(_: &[FieldRef]) -> SqlType {
    SqlType::Name
}

fn boolean(_: &[FieldRef]) -> SqlType {
    SqlType::Bool
}

fn int4(_: &[FieldRef]) -> SqlType {
    SqlType::Int4
}

fn int8(_: &[FieldRef]) -> SqlType {
    SqlType::Int8
}

fn oid(_: &[FieldRef]) -> SqlType {
    SqlType::Oid
}
