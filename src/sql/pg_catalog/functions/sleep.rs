//! `pg_sleep` and the like. They wait without holding a thread, so that many sessions may, and a cancelled statement
//! stops at once.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Float64Type, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType};
use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use tablegate_types::input::ColumnParser;
use tablegate_types::sql_type::SqlType;

use crate::calls::moments_of;

const MICROS_PER_SECOND: f64 = 1e6;
const SECONDS_PER_DAY: f64 = 86_400.0;
const NANOS_PER_SECOND: f64 = 1e9;
const DAYS_PER_MONTH: f64 = 30.0;

/// How long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Until {
    /// So many seconds.
    Seconds,
    /// An interval.
    Interval,
    /// A time.
    Time,
}

/// The function of this name.
pub(super) fn find(name: &str) -> Option<Arc<ScalarUDF>> {
    let (name, until) = match name {
        "pg_sleep" => ("pg_sleep", Until::Seconds),
        "pg_sleep_for" => ("pg_sleep_for", Until::Interval),
        "pg_sleep_until" => ("pg_sleep_until", Until::Time),
        _ => return None,
    };
    let sleep = Sleep { name, until, signature: Signature::any(1, Volatility::Volatile) };
    Some(Arc::new(AsyncScalarUDF::new(Arc::new(sleep)).into_scalar_udf()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sleep {
    name: &'static str,
    until: Until,
    signature: Signature,
}

impl Sleep {
    /// The seconds that each row waits; none for NULL.
    fn seconds(&self, given: &ArrayRef, now: i64) -> Result<Vec<f64>> {
        let valid = |row: usize| given.is_valid(row);
        Ok(match self.until {
            Until::Seconds => {
                let seconds = cast(given, &DataType::Float64)?;
                let seconds = seconds.as_primitive::<Float64Type>();
                (0..seconds.len()).filter(|row| seconds.is_valid(*row)).map(|row| seconds.value(row)).collect()
            }
            Until::Interval => {
                let given = &read(given, &SqlType::Interval)?;
                let Some(intervals) = given.as_primitive_opt::<IntervalMonthDayNanoType>() else {
                    return internal_err!("{} of no interval", self.name);
                };
                let seconds = |row: usize| {
                    let interval = intervals.value(row);
                    let days = f64::from(interval.months) * DAYS_PER_MONTH + f64::from(interval.days);
                    #[expect(clippy::cast_precision_loss, reason = "nobody waits for a part of a nanosecond")]
                    let nanos = interval.nanoseconds as f64;
                    days * SECONDS_PER_DAY + nanos / NANOS_PER_SECOND
                };
                (0..intervals.len()).filter(|row| valid(*row)).map(seconds).collect()
            }
            Until::Time => {
                let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                let times = cast(&read(given, &SqlType::Timestamptz)?, &micros)?;
                let times = times.as_primitive::<TimestampMicrosecondType>();
                #[expect(clippy::cast_precision_loss, reason = "nobody waits for a part of a microsecond")]
                let seconds = |row: usize| times.value(row).saturating_sub(now) as f64 / MICROS_PER_SECOND;
                (0..times.len()).filter(|row| times.is_valid(*row)).map(seconds).collect()
            }
        })
    }
}

/// Literals without a type come as they are written.
fn read(given: &ArrayRef, sql_type: &SqlType) -> Result<ArrayRef> {
    let Some(texts) = given.as_string_opt::<i32>() else { return Ok(given.clone()) };
    let mut column = ColumnParser::new(sql_type);
    for text in texts {
        column.push(text).map_err(|error| DataFusionError::External(error))?;
    }
    Ok(column.finish())
}

impl ScalarUDFImpl for Sleep {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(SqlType::Void.arrow())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(SqlType::Void.field(self.name, true)))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} waits, and was called where nothing can", self.name)
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for Sleep {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let now = moments_of(&args.config_options).clock();
        let Some(given) = args.args.first() else { return internal_err!("{} of nothing", self.name) };
        let given = given.to_array(rows)?;
        for seconds in self.seconds(&given, now)? {
            // None for what is over, or no number.
            if let Ok(time) = Duration::try_from_secs_f64(seconds) {
                tokio::time::sleep(time).await;
            }
        }
        let nothing: StringArray = (0..rows).map(|row| given.is_valid(row).then_some("")).collect();
        Ok(ColumnarValue::Array(Arc::new(nothing)))
    }
}
