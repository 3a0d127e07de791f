//! One column of a binary COPY as it is read: values of common types go where the column keeps them, without a form in between.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int16Builder, Int32Builder,
    Int64Builder, StringBuilder, TimestampMicrosecondBuilder, new_empty_array,
};
use tablegate_types::ScalarValue;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use crate::body::utf8;
use crate::error::Failure;
use crate::params::{Format, date, decode, fixed, timestamp};

pub(super) enum TupleColumn {
    Bool(BooleanBuilder),
    Int2(Int16Builder),
    Int4(Int32Builder),
    Int8(Int64Builder),
    Float4(Float32Builder),
    Float8(Float64Builder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Other(Vec<ScalarValue>),
}

impl TupleColumn {
    pub(super) fn new(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Bool => TupleColumn::Bool(BooleanBuilder::new()),
            SqlType::Int2 => TupleColumn::Int2(Int16Builder::new()),
            SqlType::Int4 => TupleColumn::Int4(Int32Builder::new()),
            SqlType::Int8 => TupleColumn::Int8(Int64Builder::new()),
            SqlType::Float4 => TupleColumn::Float4(Float32Builder::new()),
            SqlType::Float8 => TupleColumn::Float8(Float64Builder::new()),
            SqlType::Date => TupleColumn::Date(Date32Builder::new()),
            SqlType::Timestamp | SqlType::Timestamptz => {
                TupleColumn::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(sql_type.arrow()))
            }
            SqlType::Text | SqlType::Varchar(None) => TupleColumn::Text(StringBuilder::new()),
            SqlType::Bytea => TupleColumn::Bytes(BinaryBuilder::new()),
            _ => TupleColumn::Other(Vec::new()),
        }
    }

    /// Adds a field; `None` is NULL.
    ///
    /// # Errors
    /// As [`decode`], without a place.
    pub(super) fn push(&mut self, sql_type: &SqlType, field: Option<&[u8]>, reading: Reading) -> Result<(), Failure> {
        match self {
            TupleColumn::Bool(values) => values.append_option(number(field, |bytes: [u8; 1]| Ok(bytes != [0]))?),
            TupleColumn::Int2(values) => values.append_option(number(field, |bytes| Ok(i16::from_be_bytes(bytes)))?),
            TupleColumn::Int4(values) => values.append_option(number(field, |bytes| Ok(i32::from_be_bytes(bytes)))?),
            TupleColumn::Int8(values) => values.append_option(number(field, |bytes| Ok(i64::from_be_bytes(bytes)))?),
            TupleColumn::Float4(values) => values.append_option(number(field, |bytes| Ok(f32::from_be_bytes(bytes)))?),
            TupleColumn::Float8(values) => values.append_option(number(field, |bytes| Ok(f64::from_be_bytes(bytes)))?),
            TupleColumn::Date(values) => {
                values.append_option(number(field, |bytes| date(i32::from_be_bytes(bytes)))?);
            }
            TupleColumn::Timestamp(values) => {
                values.append_option(number(field, |bytes| timestamp(i64::from_be_bytes(bytes)))?);
            }
            TupleColumn::Text(values) => values.append_option(field.map(utf8).transpose()?),
            TupleColumn::Bytes(values) => values.append_option(field),
            // No place in the statement's parameters: that of the input is said by whoever reads it.
            TupleColumn::Other(values) => values.push(decode(sql_type, Format::Binary, field, 0, reading)?),
        }
        Ok(())
    }

    /// What was added since the last time.
    ///
    /// # Errors
    /// XX000 when the values are not of one type.
    pub(super) fn take(&mut self, sql_type: &SqlType) -> SqlResult<ArrayRef> {
        Ok(match self {
            TupleColumn::Bool(values) => Arc::new(values.finish()),
            TupleColumn::Int2(values) => Arc::new(values.finish()),
            TupleColumn::Int4(values) => Arc::new(values.finish()),
            TupleColumn::Int8(values) => Arc::new(values.finish()),
            TupleColumn::Float4(values) => Arc::new(values.finish()),
            TupleColumn::Float8(values) => Arc::new(values.finish()),
            TupleColumn::Date(values) => Arc::new(values.finish()),
            TupleColumn::Timestamp(values) => Arc::new(values.finish()),
            TupleColumn::Text(values) => Arc::new(values.finish()),
            TupleColumn::Bytes(values) => Arc::new(values.finish()),
            TupleColumn::Other(values) if values.is_empty() => new_empty_array(&sql_type.arrow()),
            TupleColumn::Other(values) => ScalarValue::iter_to_array(std::mem::take(values))?,
        })
    }
}

fn number<const N: usize, T>(field: Option<&[u8]>, read: impl Fn([u8; N]) -> SqlResult<T>) -> SqlResult<Option<T>> {
    field.map(|bytes| read(fixed(bytes)?)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each value alone becomes, as for a parameter.
    fn one_by_one(sql_type: &SqlType, fields: &[Option<&[u8]>]) -> Result<ArrayRef, Failure> {
        let values = fields.iter().map(|field| decode(sql_type, Format::Binary, *field, 0, Reading::default()));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        Ok(ScalarValue::iter_to_array(values).unwrap())
    }

    fn as_column(sql_type: &SqlType, fields: &[Option<&[u8]>]) -> Result<ArrayRef, Failure> {
        let mut column = TupleColumn::new(sql_type);
        for field in fields {
            column.push(sql_type, *field, Reading::default())?;
        }
        Ok(column.take(sql_type).unwrap())
    }

    #[test]
    fn a_column_has_the_values_that_parameters_have() {
        let fields: [&[u8]; 8] = [
            b"",
            b"\x01",
            b"ab",
            b"\x7f\xff\xff\xff",
            b"\x80\0\0\0",
            b"\x7f\xff\xff\xff\xff\xff\xff\xff",
            b"\0\x02\x9b\xd1\x9f\x5e\x40\0",
            b"\xff\xfe",
        ];
        let types = [
            SqlType::Bool,
            SqlType::Int2,
            SqlType::Int4,
            SqlType::Int8,
            SqlType::Float4,
            SqlType::Float8,
            SqlType::Date,
            SqlType::Time,
            SqlType::Timestamp,
            SqlType::Timestamptz,
            SqlType::Text,
            SqlType::Varchar(None),
            SqlType::Varchar(Some(1)),
            SqlType::Bytea,
            SqlType::Oid,
        ];
        let mut taken = 0;
        for (sql_type, field) in types.iter().flat_map(|sql_type| fields.map(|field| (sql_type, field))) {
            let rows = [Some(field), None, Some(field)];
            match (as_column(sql_type, &rows), one_by_one(sql_type, &rows)) {
                (Ok(column), Ok(values)) => {
                    assert_eq!(&column, &values, "{sql_type} {field:?}");
                    taken += 1;
                }
                (Err(Failure::Sql(column)), Err(Failure::Sql(value))) => {
                    assert_eq!((column.kind, &column.message), (value.kind, &value.message), "{sql_type} {field:?}");
                }
                (column, value) => panic!("{sql_type} {field:?}: {column:?}, {value:?}"),
            }
        }
        assert!(taken > 30, "only {taken} were values");
    }

    #[test]
    fn a_column_begins_anew_when_it_was_taken() {
        for sql_type in [SqlType::Int4, SqlType::Oid] {
            let mut column = TupleColumn::new(&sql_type);
            column.push(&sql_type, Some(&[0, 0, 0, 1]), Reading::default()).unwrap();
            assert_eq!(column.take(&sql_type).unwrap().len(), 1);
            let empty = column.take(&sql_type).unwrap();
            assert_eq!((empty.len(), empty.data_type()), (0, &sql_type.arrow()));
        }
    }
}
