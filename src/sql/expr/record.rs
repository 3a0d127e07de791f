//! Rows as values: made of their fields, taken apart, compared.
//!
//! A row is an Arrow struct whose fields say their types as columns do. It is NULL as a whole only where there is no row at
//! all: a table without a partner in an outer join.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility, lit,
};
use serde::{Deserialize, Serialize};
use tablegate_types::conversion::{is_same, name};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{RowType, SqlType, TableRow, row_field};

use super::kernels::{Computation, RECORD_FIELD};
use super::operand::Operand;
use super::parameters::Parameters;
use super::typed::{Shape, ValueType};

/// What is known of a row before its fields have types.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct RowLayout {
    /// The table whose row it is.
    pub table: Option<TableRow>,
    /// The names of the fields.
    pub names: Vec<String>,
}

impl RowLayout {
    /// Of `ROW(...)` with so many fields.
    pub(crate) fn of_values(count: usize) -> Self {
        Self { table: None, names: (1..=count).map(|number| format!("f{number}")).collect() }
    }

    fn row_type(&self, fields: Fields) -> RowType {
        RowType { fields, table: self.table.clone() }
    }
}

/// The row of the operands; the first of them says whether it is there.
pub(super) fn row(layout: &RowLayout, operands: Vec<Operand>, parameters: &Parameters<'_>) -> SqlResult<Expr> {
    let mut arguments = Vec::with_capacity(operands.len());
    let mut types = Vec::with_capacity(operands.len());
    for (place, operand) in operands.into_iter().enumerate() {
        let (sql_type, argument) = match operand.is_unknown() {
            true => (SqlType::Text, operand.coerced(&SqlType::Text, parameters)?),
            false => (operand.value_type.sql_type, operand.expr),
        };
        types.extend((place > 0).then_some(sql_type));
        arguments.push(argument);
    }
    let is_always_there = matches!(arguments.first(), Some(Expr::Literal(ScalarValue::Boolean(Some(true)), _)) | None);
    if is_always_there && !arguments.is_empty() {
        arguments.remove(0);
    }
    let anything = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
    let signature = Signature::new(anything, Volatility::Immutable);
    let function = Row { layout: layout.clone(), types, may_be_missing: !is_always_there, signature };
    Ok(ScalarUDF::new_from_impl(function).call(arguments))
}

/// A field of a row by its name.
///
/// # Errors
/// 42809 for what is not a row, 42703 for a field that it does not have.
pub(super) fn field(wanted: &str, row: Operand) -> SqlResult<Expr> {
    let (row_type, place) = place_of(wanted, row.sql_type())?;
    if let Expr::ScalarFunction(call) = &row.expr
        && let Some(made) = call.func.inner().downcast_ref::<Row>()
        && let Some(value) = call.args.get(place + usize::from(made.may_be_missing))
    {
        return Ok(value.clone());
    }
    let value_type = ValueType::of_field(&row_type.fields[place]);
    Ok(nth(row.expr, place, value_type))
}

fn place_of<'t>(wanted: &str, sql_type: &'t SqlType) -> SqlResult<(&'t RowType, usize)> {
    let SqlType::Record(row_type) = sql_type else {
        let message =
            format!("column notation .{wanted} applied to type {}, which is not a composite type", name(sql_type));
        return Err(SqlError::new(ErrorKind::WrongObjectType, message));
    };
    let exact = row_type.fields.iter().position(|field| field.name() == wanted);
    // As columns are looked up.
    let folded = || {
        let mut found = row_type.fields.iter().enumerate().filter(|(_, field)| field.name().to_lowercase() == wanted);
        found.next().filter(|_| found.next().is_none()).map(|(place, _)| place)
    };
    exact.or_else(folded).map(|place| (row_type, place)).ok_or_else(|| {
        let message = match &row_type.table {
            Some(table) => format!("column \"{wanted}\" not found in data type {}", table.name),
            None => format!("could not identify column \"{wanted}\" in record data type"),
        };
        SqlError::new(ErrorKind::UndefinedColumn, message)
    })
}

fn nth(row: Expr, place: usize, value_type: ValueType) -> Expr {
    let place = lit(i32::try_from(place).unwrap_or(i32::MAX));
    Computation::call(&RECORD_FIELD, None, value_type, vec![row, place])
}

/// `row IS NULL`, `row IS NOT NULL`: whether all of its fields are. `None` for what is not a row.
pub(super) fn all_null(row: &Operand, negated: bool) -> Option<Expr> {
    let SqlType::Record(row_type) = row.sql_type() else { return None };
    let is_null = |(place, field): (usize, &FieldRef)| {
        let value = field_at(row, place, ValueType::of_field(field));
        if negated { value.is_not_null() } else { value.is_null() }
    };
    Some(row_type.fields.iter().enumerate().map(is_null).reduce(Expr::and).unwrap_or_else(|| lit(true)))
}

fn field_at(row: &Operand, place: usize, value_type: ValueType) -> Expr {
    match &row.expr {
        Expr::ScalarFunction(call) if let Some(made) = call.func.inner().downcast_ref::<Row>() => {
            let value = call.args.get(place + usize::from(made.may_be_missing));
            value.cloned().unwrap_or_else(|| nth(row.expr.clone(), place, value_type))
        }
        _ => nth(row.expr.clone(), place, value_type),
    }
}

/// Two rows that are compared, and the type that both have then; `None` where neither is a row.
///
/// # Errors
/// 42804 for rows of different shapes, 42883 where a row meets something else or a field cannot be compared.
pub(super) fn aligned(
    operator: &str,
    left: &Operand,
    right: &Operand,
    parameters: &Parameters<'_>,
) -> SqlResult<Option<(Expr, Expr, SqlType)>> {
    let (left_type, right_type) = match (left.sql_type(), right.sql_type()) {
        (SqlType::Record(left), SqlType::Record(right)) => (left, right),
        (SqlType::Record(row), SqlType::Unknown) | (SqlType::Unknown, SqlType::Record(row)) => (row, row),
        (SqlType::Record(_), _) | (_, SqlType::Record(_)) => {
            return Err(super::operators::missing(operator, Some(left.sql_type()), right.sql_type()));
        }
        _ => return Ok(None),
    };
    let rows = compared_as(left_type, right_type)?;
    if rows.types().any(|field| field == SqlType::Json) {
        let message = "could not identify an equality operator for type json";
        return Err(SqlError::new(ErrorKind::UndefinedFunction, message));
    }
    let common = ValueType::of(SqlType::Record(rows));
    let side = |operand: &Operand| operand.clone().converted_to(&common, parameters);
    Ok(Some((side(left)?, side(right)?, common.sql_type.clone())))
}

/// The type that rows of two types are compared in: their numbers have one layout.
fn compared_as(left: &RowType, right: &RowType) -> SqlResult<RowType> {
    let refused = |message| Err(SqlError::new(ErrorKind::DatatypeMismatch, message));
    if left.fields.len() != right.fields.len() {
        return refused("cannot compare record types with different numbers of columns".to_owned());
    }
    let mut fields = Vec::with_capacity(left.fields.len());
    for (index, (l, r)) in left.fields.iter().zip(&right.fields).enumerate() {
        let (left, right) = (ValueType::of_field(l), ValueType::of_field(r));
        if !is_same(&left.sql_type, &right.sql_type) {
            let (left, right) = (name(&left.sql_type), name(&right.sql_type));
            let column = index + 1;
            return refused(format!(
                "cannot compare dissimilar column types {left} and {right} at record column {column}"
            ));
        }
        let common = match (Shape::of(&left), Shape::of(&right)) {
            _ if left.data_type == right.data_type => left,
            (Some(left), Some(right)) => left.union(right).value_type(),
            _ => ValueType::of(left.sql_type),
        };
        fields.push(row_field(l.name(), &common.field(l.name(), true)));
    }
    Ok(RowType { fields: fields.into(), table: None })
}

/// Makes rows: of whether each is there, if that is a question, and of their fields.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Row {
    layout: RowLayout,
    /// Of the fields: what computes them may come to say less of their types while the plan is optimized.
    types: Vec<SqlType>,
    may_be_missing: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Row {
    fn name(&self) -> &'static str {
        "row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a row is a field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let values = args.arg_fields.iter().skip(usize::from(self.may_be_missing));
        let fields = self.layout.names.iter().zip(&self.types).zip(values).map(|((name, sql_type), values)| {
            let value_type = ValueType { sql_type: sql_type.clone(), data_type: values.data_type().clone() };
            value_type.field(name, true)
        });
        let row = SqlType::Record(self.layout.row_type(fields.collect()));
        Ok(Arc::new(row.field(self.name(), self.may_be_missing)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Struct(fields) = args.return_field.data_type() else { return exec_err!("a row is a struct") };
        let is_constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let mut columns: Vec<ArrayRef> = args.args.iter().map(|value| value.to_array(rows)).collect::<Result<_>>()?;
        let mut nulls = None;
        if self.may_be_missing && !columns.is_empty() {
            let there = columns.remove(0);
            let there = there.as_boolean();
            nulls = Some(NullBuffer::new(match there.nulls() {
                Some(known) => there.values() & known.inner(),
                None => there.values().clone(),
            }));
        }
        let made = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows)?;
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(Arc::new(made)),
        })
    }
}

/// The type that rows have in common, in which their numbers have one layout; `None` where not all are rows of one kind.
///
/// # Errors
/// 0A000 for rows whose fields are of other types: a column has one.
pub(super) fn common_type(
    operands: &[&Operand],
    context: &str,
    common: &dyn Fn(&[&Operand]) -> SqlResult<ValueType>,
) -> SqlResult<Option<ValueType>> {
    let mut rows = Vec::with_capacity(operands.len());
    for operand in operands.iter().filter(|operand| !operand.is_unknown()) {
        let SqlType::Record(row) = operand.sql_type() else { return Ok(None) };
        rows.push(row);
    }
    let Some((first, others)) = rows.split_first() else { return Ok(None) };
    if others.iter().any(|other| other.table != first.table) {
        return Ok(None);
    }
    let mut fields = Vec::with_capacity(first.fields.len());
    for (index, field) in first.fields.iter().enumerate() {
        let meeting = rows.iter().map(|row| row.fields.get(index).map(of_field));
        let meeting = meeting.collect::<Option<Vec<_>>>().ok_or_else(|| shapes_differ(context))?;
        if meeting.iter().any(|operand| !is_same(operand.sql_type(), meeting[0].sql_type())) {
            return Err(shapes_differ(context));
        }
        let common = common(&meeting.iter().collect::<Vec<_>>())?;
        fields.push(row_field(field.name(), &common.field(field.name(), true)));
    }
    if others.iter().any(|other| other.fields.len() != first.fields.len()) {
        return Err(shapes_differ(context));
    }
    let row = RowType { fields: fields.into(), table: first.table.clone() };
    Ok(Some(ValueType::of(SqlType::Record(row))))
}

fn of_field(field: &FieldRef) -> Operand {
    Operand { expr: Expr::Literal(ScalarValue::Null, None), value_type: ValueType::of_field(field) }
}

fn shapes_differ(context: &str) -> Box<SqlError> {
    SqlError::not_supported(format!("{context} of rows whose fields are of different types"))
        .with_hint("Cast the fields to the same types, or the rows to text.")
}
