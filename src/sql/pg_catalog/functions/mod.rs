//! The functions of `pg_catalog` that clients call, as functions of the engine.
//!
//! Each works on single values: the catalogue is small, and one table of plain functions is easy to read and extend.
//! They answer from the catalogue as the statement sees it, so they belong to one statement.

mod acl;
mod activity;
mod arrays;
mod definitions;
mod describing;
mod identifiers;
mod naming;
mod notify;
mod privileges;
mod relations;
mod routines;
mod server;
mod session;
mod sets;
mod sizes;
mod sleep;
mod text;
mod type_parts;

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
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use self::naming::NamingFunction;
pub(super) use self::naming::oids;
pub(super) use self::relations::relation_of;
use super::cells::{Cell, array_of};
use super::granted::Granted;
use super::objects::Objects;
use super::origins::Origins;
use super::sizes::Sizes;
use crate::copies::Copies;
use crate::cursor::ShownCursor;
use crate::database::Database;
use crate::handles::Handles;
use crate::login::Login;
use crate::observe::Observations;

/// What the functions of one statement know.
#[derive(Clone)]
pub(super) struct FunctionContext {
    pub objects: Arc<Objects>,
    pub database: Database,
    pub user: Arc<str>,
    pub login: Arc<Login>,
    /// What they reach of the session and of the server.
    pub handles: Handles,
    pub granted: Arc<Granted>,
    pub sizes: Arc<Sizes>,
    pub origins: Arc<Origins>,
    /// What observe mode saw, for the statements that read it.
    pub observations: Arc<Observations>,
    /// The COPY statements under way, of all sessions.
    pub copies: Arc<Copies>,
    /// The session's open cursors.
    pub cursors: Arc<[ShownCursor]>,
}

#[cfg(test)]
impl FunctionContext {
    pub(super) fn for_tests(tables: Vec<Arc<crate::relation::Relation>>) -> Self {
        let objects = Arc::new(Objects::new(tables, Vec::new()));
        Self {
            objects,
            database: Database::new("d", "d"),
            user: "u".into(),
            login: Arc::default(),
            handles: Handles::for_tests(),
            granted: Arc::new(Granted::for_tests("u")),
            sizes: Arc::default(),
            origins: Arc::default(),
            observations: Arc::default(),
            copies: Arc::default(),
            cursors: Arc::default(),
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
    volatility: Volatility,
    evaluate: Evaluate,
}

impl Definition {
    const fn new(name: &'static str, returns: fn(&[FieldRef]) -> SqlType, evaluate: Evaluate) -> Self {
        Self { name, returns, strict: true, volatility: Volatility::Stable, evaluate }
    }

    const fn of_nulls(mut self) -> Self {
        self.strict = false;
        self
    }

    /// It does something: for each row, once.
    const fn volatile(mut self) -> Self {
        self.volatility = Volatility::Volatile;
        self
    }
}

static DEFINITIONS: LazyLock<HashMap<&'static str, &'static Definition>> = LazyLock::new(|| {
    let families = [
        activity::FUNCTIONS,
        definitions::FUNCTIONS,
        naming::FUNCTIONS,
        notify::FUNCTIONS,
        privileges::FUNCTIONS,
        session::FUNCTIONS,
        server::FUNCTIONS,
        text::FUNCTIONS,
        routines::FUNCTIONS,
        sets::FUNCTIONS,
        identifiers::FUNCTIONS,
        describing::FUNCTIONS,
        sizes::FUNCTIONS,
        type_parts::FUNCTIONS,
        acl::FUNCTIONS,
    ];
    families.into_iter().flatten().map(|definition| (definition.name, definition)).collect()
});

/// What a function of the catalogue computes.
#[derive(Clone, Copy)]
enum Body {
    Defined(&'static Definition),
    Naming(NamingFunction),
}

impl Body {
    fn find(name: &str) -> Option<Self> {
        let defined = DEFINITIONS.get(name).copied().map(Body::Defined);
        defined.or_else(|| NamingFunction::find(name).map(Body::Naming))
    }

    fn name(&self) -> String {
        match self {
            Body::Defined(definition) => definition.name.to_owned(),
            Body::Naming(function) => function.name(),
        }
    }

    fn returns(&self, arguments: &[FieldRef]) -> SqlType {
        match self {
            Body::Defined(definition) => (definition.returns)(arguments),
            Body::Naming(function) => function.returns(),
        }
    }

    fn volatility(&self) -> Volatility {
        match self {
            Body::Defined(definition) => definition.volatility,
            Body::Naming(_) => Volatility::Stable,
        }
    }

    fn evaluate(&self, context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
        match self {
            Body::Defined(definition) if definition.strict && arguments.contains(&Cell::Null) => Ok(Cell::Null),
            Body::Defined(definition) => (definition.evaluate)(context, arguments),
            Body::Naming(function) => function.evaluate(context, arguments),
        }
    }
}

/// The function of this name, for one statement.
pub(super) fn find(name: &str, context: &FunctionContext) -> Option<Arc<ScalarUDF>> {
    if name == arrays::ListOrEmpty::NAME {
        return Some(Arc::new(ScalarUDF::new_from_impl(arrays::ListOrEmpty::new())));
    }
    if let Some(sleep) = sleep::find(name) {
        return Some(sleep);
    }
    Some(Arc::new(ScalarUDF::new_from_impl(CatalogFunction::new(Body::find(name)?, context.clone()))))
}

/// Whether a function is defined here.
pub(super) fn is_known(name: &str) -> bool {
    Body::find(name).is_some()
}

struct CatalogFunction {
    name: String,
    body: Body,
    context: FunctionContext,
    signature: Signature,
}

impl CatalogFunction {
    fn new(body: Body, context: FunctionContext) -> Self {
        let any_arguments = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
        let volatility = body.volatility();
        Self { name: body.name(), body, context, signature: Signature::new(any_arguments, volatility) }
    }

    /// What it gives for one row. To a function an argument that names an object is its OID.
    fn evaluate(&self, arguments: impl Iterator<Item = (Cell, SqlType)>) -> SqlResult<Cell> {
        let arguments = arguments.map(|(cell, sql_type)| naming::as_oid(&self.context, &sql_type, cell));
        self.body.evaluate(&self.context, &arguments.collect::<SqlResult<Vec<_>>>()?)
    }
}

impl std::fmt::Debug for CatalogFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for CatalogFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.context.objects, &other.context.objects)
    }
}

impl Eq for CatalogFunction {}

impl Hash for CatalogFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for CatalogFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.body.returns(&[]).arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.body.returns(args.arg_fields).field(&self.name, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_volatile = self.signature.volatility == Volatility::Volatile;
        let constant = !is_volatile && args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let count = if constant { 1 } else { args.number_rows };
        let columns: Vec<ArrayRef> = args.args.iter().map(|a| a.to_array(count)).collect::<Result<_>>()?;
        let types: Vec<SqlType> = args.arg_fields.iter().map(|field| SqlType::of_field(field)).collect();
        let mut cells = Vec::with_capacity(count);
        for row in 0..count {
            let arguments = columns.iter().map(|column| Cell::at(column, row)).zip(types.iter().cloned());
            cells.push(self.evaluate(arguments).map_err(|error| DataFusionError::External(error))?);
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

/// Of what there is none here: NULL.
fn nothing(_: &FunctionContext, _: &[Cell]) -> SqlResult<Cell> {
    Ok(Cell::Null)
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
