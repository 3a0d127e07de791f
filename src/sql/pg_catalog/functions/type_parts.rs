//! What `information_schema` makes of types: lengths and precisions of a type and its modifier.

use tablegate_types::sql_type::{TimeLimits, TimeType};

use super::{Definition, argument, int4, oid, text};
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::objects::Class;

pub(super) const FUNCTIONS: &[Definition] = &[
    // Of `typtype`, what a domain says, and what the column itself does: the rewriting takes these from the rows.
    Definition::new("_pg_truetypid", oid, |_, a| Ok(of_domain_or_column(a))),
    Definition::new("_pg_truetypmod", int4, |_, a| Ok(of_domain_or_column(a))),
    Definition::new("_pg_index_position", int4, |c, a| {
        let Some(Class::Index(index)) = argument(a, 0).as_oid().and_then(|oid| c.objects.class_by_oid(oid)) else {
            return Ok(Cell::Null);
        };
        let place =
            (1_i64..).zip(index.columns()).find(|(_, number)| argument(a, 1).as_int() == Some((*number).into()));
        Ok(place.map(|(place, _)| place).into())
    }),
    Definition::new("_pg_char_max_length", int4, |_, a| Ok(of_type(a, char_max_length))),
    Definition::new("_pg_char_octet_length", int4, |_, a| Ok(of_type(a, char_octet_length))),
    Definition::new("_pg_numeric_precision", int4, |_, a| Ok(of_type(a, numeric_precision))),
    Definition::new("_pg_numeric_precision_radix", int4, |_, a| Ok(of_type(a, numeric_radix))),
    Definition::new("_pg_numeric_scale", int4, |_, a| Ok(of_type(a, numeric_scale))),
    Definition::new("_pg_datetime_precision", int4, |_, a| Ok(of_type(a, datetime_precision))),
    Definition::new("_pg_interval_type", text, |_, a| {
        let modifier = argument(a, 1).as_int().unwrap_or(-1);
        let limits = TimeLimits::of_modifier(TimeType::Interval, modifier);
        let is_interval = argument(a, 0).as_oid() == Some(INTERVAL);
        let fields = limits.filter(|_| is_interval).map(|limits| limits.to_string());
        let fields = fields.as_deref().and_then(|shown| shown.strip_prefix("interval "));
        Ok(fields.map(|fields| fields.split('(').next().unwrap_or(fields).trim().to_uppercase()).into())
    }),
];

const BPCHAR: u32 = 1042;
const VARCHAR: u32 = 1043;
const TEXT: u32 = 25;
const BIT: u32 = 1560;
const VARBIT: u32 = 1562;
const INT2: u32 = 21;
const INT4: u32 = 23;
const INT8: u32 = 20;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const NUMERIC: u32 = 1700;
const DATE: u32 = 1082;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const INTERVAL: u32 = 1186;
const TIMETZ: u32 = 1266;
/// Header that PostgreSQL counts into the modifier of a length or precision.
const HEADER: i64 = 4;
/// Most bytes of a character in UTF-8.
const CHARACTER_BYTES: i64 = 4;
/// Most bytes of a text.
const TEXT_BYTES: i64 = 1 << 30;
const MICROSECOND_DIGITS: i64 = 6;

fn of_domain_or_column(arguments: &[Cell]) -> Cell {
    let is_domain = argument(arguments, 0).as_text().as_deref() == Some("d");
    argument(arguments, if is_domain { 1 } else { 2 }).clone()
}

/// What a function says of a type's OID and a modifier.
fn of_type(arguments: &[Cell], tell: fn(u32, i64) -> Option<i64>) -> Cell {
    let (oid, modifier) = (argument(arguments, 0).as_oid(), argument(arguments, 1).as_int());
    oid.zip(modifier).and_then(|(oid, modifier)| tell(oid, modifier)).into()
}

fn char_max_length(oid: u32, modifier: i64) -> Option<i64> {
    match oid {
        _ if modifier == -1 => None,
        BPCHAR | VARCHAR => Some(modifier - HEADER),
        BIT | VARBIT => Some(modifier),
        _ => None,
    }
}

fn char_octet_length(oid: u32, modifier: i64) -> Option<i64> {
    match oid {
        TEXT | BPCHAR | VARCHAR if modifier == -1 => Some(TEXT_BYTES),
        TEXT => Some(TEXT_BYTES),
        BPCHAR | VARCHAR => Some((modifier - HEADER) * CHARACTER_BYTES),
        _ => None,
    }
}

fn numeric_precision(oid: u32, modifier: i64) -> Option<i64> {
    match oid {
        INT2 => Some(16),
        INT4 => Some(32),
        INT8 => Some(64),
        NUMERIC if modifier == -1 => None,
        NUMERIC => Some(((modifier - HEADER) >> 16) & 0xFFFF),
        FLOAT4 => Some(24),
        FLOAT8 => Some(53),
        _ => None,
    }
}

fn numeric_radix(oid: u32, _: i64) -> Option<i64> {
    match oid {
        INT2 | INT4 | INT8 | FLOAT4 | FLOAT8 => Some(2),
        NUMERIC => Some(10),
        _ => None,
    }
}

fn numeric_scale(oid: u32, modifier: i64) -> Option<i64> {
    match oid {
        INT2 | INT4 | INT8 => Some(0),
        NUMERIC if modifier == -1 => None,
        NUMERIC => Some((modifier - HEADER) & 0x7FF),
        _ => None,
    }
}

fn datetime_precision(oid: u32, modifier: i64) -> Option<i64> {
    match oid {
        DATE => Some(0),
        TIME | TIMETZ | TIMESTAMP | TIMESTAMPTZ if modifier >= 0 => Some(modifier),
        TIME | TIMETZ | TIMESTAMP | TIMESTAMPTZ => Some(MICROSECOND_DIGITS),
        INTERVAL if modifier >= 0 && modifier & 0xFFFF != 0xFFFF => Some(modifier & 0xFFFF),
        INTERVAL => Some(MICROSECOND_DIGITS),
        _ => None,
    }
}
