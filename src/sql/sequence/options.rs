//! The options of a sequence: what was given, with PostgreSQL's defaults and checks.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use crate::catalog::SequenceOptions;
use crate::syntax::{GivenOptions, TypeName};

/// The options of a new sequence. `default_type` is that of the column it is made for; bigint when it stands alone.
///
/// # Errors
/// 22023 for options that contradict each other or the type.
pub(crate) fn created(given: &GivenOptions, default_type: &SqlType) -> SqlResult<SequenceOptions> {
    if given.restart.is_some() {
        return Err(SqlError::new(ErrorKind::Syntax, "invalid sequence option RESTART"));
    }
    let counted = counted_type(given.data_type.as_ref(), default_type)?;
    let blank = SequenceOptions {
        sql_type: counted.to_string(),
        start: 0,
        increment: 1,
        minimum: 0,
        maximum: 0,
        cache: 1,
        cycle: false,
    };
    let all = GivenOptions {
        minimum: Some(given.minimum.clone().flatten()),
        maximum: Some(given.maximum.clone().flatten()),
        ..given.clone()
    };
    let mut options = bounded(blank, &all, &counted)?;
    let first = if options.increment > 0 { options.minimum } else { options.maximum };
    options.start = number(given.start.as_ref())?.unwrap_or(first);
    check_within("START", options.start, &options)?;
    Ok(options)
}

/// The options of a sequence after ALTER SEQUENCE, and the value it restarts with.
///
/// # Errors
/// As [`created`].
pub(crate) fn altered(old: &SequenceOptions, given: &GivenOptions) -> SqlResult<(SequenceOptions, Option<i64>)> {
    let old_type = SqlType::parse(&old.sql_type).unwrap_or(SqlType::Int8);
    let counted = counted_type(given.data_type.as_ref(), &old_type)?;
    let mut given = given.clone();
    if counted != old_type {
        // Bounds that were those of the old type become those of the new one.
        let (lowest, highest) = bounds(&old_type);
        if old.maximum == highest {
            given.maximum.get_or_insert(None);
        }
        if old.minimum == lowest {
            given.minimum.get_or_insert(None);
        }
    }
    let retyped = SequenceOptions { sql_type: counted.to_string(), ..old.clone() };
    let mut options = bounded(retyped, &given, &counted)?;
    if let Some(start) = number(given.start.as_ref())? {
        options.start = start;
    }
    check_within("START", options.start, &options)?;
    let restart = match &given.restart {
        None => None,
        Some(value) => Some(number(value.as_ref())?.unwrap_or(options.start)),
    };
    Ok((options, restart))
}

/// Whether a sequence that stands at a value may be given these options.
///
/// # Errors
/// 22023.
pub(crate) fn check_restart(options: &SequenceOptions, value: i64) -> SqlResult<()> {
    check_within("RESTART", value, options)
}

/// Increment, bounds, cache and cycle.
fn bounded(mut options: SequenceOptions, given: &GivenOptions, counted: &SqlType) -> SqlResult<SequenceOptions> {
    let invalid = |message: String| Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
    if let Some(increment) = number(given.increment.as_ref())? {
        options.increment = increment;
    }
    if options.increment == 0 {
        return invalid("INCREMENT must not be zero".to_owned());
    }
    let (lowest, highest) = bounds(counted);
    let rises = options.increment > 0;
    if let Some(maximum) = &given.maximum {
        options.maximum = number(maximum.as_ref())?.unwrap_or(if rises { highest } else { -1 });
    }
    if let Some(minimum) = &given.minimum {
        options.minimum = number(minimum.as_ref())?.unwrap_or(if rises { 1 } else { lowest });
    }
    for (name, bound) in [("MAXVALUE", options.maximum), ("MINVALUE", options.minimum)] {
        if !(lowest..=highest).contains(&bound) {
            return invalid(format!("{name} ({bound}) is out of range for sequence data type {counted}"));
        }
    }
    if options.minimum >= options.maximum {
        return invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", options.minimum, options.maximum));
    }
    if let Some(cache) = number(given.cache.as_ref())? {
        options.cache = cache;
    }
    if options.cache < 1 {
        return invalid(format!("CACHE ({}) must be greater than zero", options.cache));
    }
    if let Some(cycle) = given.cycle {
        options.cycle = cycle;
    }
    Ok(options)
}

fn check_within(name: &str, value: i64, options: &SequenceOptions) -> SqlResult<()> {
    let message = if value < options.minimum {
        format!("{name} value ({value}) cannot be less than MINVALUE ({})", options.minimum)
    } else if value > options.maximum {
        format!("{name} value ({value}) cannot be greater than MAXVALUE ({})", options.maximum)
    } else {
        return Ok(());
    };
    Err(SqlError::new(ErrorKind::InvalidParameterValue, message))
}

fn counted_type(given: Option<&TypeName>, default_type: &SqlType) -> SqlResult<SqlType> {
    let counted = given.map_or_else(|| Ok(default_type.clone()), TypeName::sql_type)?;
    match counted {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Ok(counted),
        _ => Err(SqlError::new(ErrorKind::InvalidParameterValue, "sequence type must be smallint, integer, or bigint")),
    }
}

fn bounds(counted: &SqlType) -> (i64, i64) {
    match counted {
        SqlType::Int2 => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Int4 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

fn number(text: Option<&String>) -> SqlResult<Option<i64>> {
    let Some(text) = text else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        let message = format!("value \"{text}\" is out of range for type bigint");
        SqlError::new(ErrorKind::NumericOutOfRange, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Command, parse};

    fn given(
        increment: Option<&str>,
        minimum: Option<&str>,
        maximum: Option<&str>,
        start: Option<&str>,
    ) -> GivenOptions {
        GivenOptions {
            increment: increment.map(str::to_owned),
            minimum: minimum.map(|m| Some(m.to_owned())),
            maximum: maximum.map(|m| Some(m.to_owned())),
            start: start.map(str::to_owned),
            ..GivenOptions::default()
        }
    }

    #[test]
    fn defaults_are_those_of_the_type_and_direction() {
        let up = created(&GivenOptions::default(), &SqlType::Int4).unwrap();
        assert_eq!((up.start, up.minimum, up.maximum), (1, 1, i32::MAX.into()));
        let down = created(&given(Some("-1"), None, None, None), &SqlType::Int8).unwrap();
        assert_eq!((down.start, down.minimum, down.maximum), (-1, i64::MIN, -1));
    }

    #[test]
    fn contradictions_are_refused() {
        for (options, message) in [
            (given(Some("0"), None, None, None), "INCREMENT must not be zero"),
            (given(None, Some("10"), Some("5"), None), "MINVALUE (10) must be less than MAXVALUE (5)"),
            (given(None, Some("5"), None, Some("1")), "START value (1) cannot be less than MINVALUE (5)"),
            (given(None, None, Some("5"), Some("9")), "START value (9) cannot be greater than MAXVALUE (5)"),
            (
                given(None, None, Some("100000"), None),
                "MAXVALUE (100000) is out of range for sequence data type smallint",
            ),
        ] {
            assert_eq!(created(&options, &SqlType::Int2).unwrap_err().message, message);
        }
    }

    #[test]
    fn an_alteration_keeps_what_it_does_not_name() {
        let old = created(&given(Some("2"), None, None, Some("5")), &SqlType::Int4).unwrap();
        let restart = GivenOptions { restart: Some(None), ..GivenOptions::default() };
        assert_eq!(altered(&old, &restart).unwrap(), (old.clone(), Some(5)));
        let Command::CreateSequence(retyped) = parse("CREATE SEQUENCE s AS bigint").unwrap().remove(0).command else {
            panic!("no sequence")
        };
        let retyped = retyped.options;
        let (new, restart) = altered(&old, &retyped).unwrap();
        assert_eq!((new.maximum, new.minimum, new.increment, restart), (i64::MAX, 1, 2, None));
        assert_eq!(check_restart(&old, -3).unwrap_err().message, "RESTART value (-3) cannot be less than MINVALUE (1)");
    }
}
