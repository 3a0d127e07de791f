//! Types as PostgreSQL writes them: `format_type`.

use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::{TimeLimits, TimeType};

use super::Lookup;
use super::oids::{self, Oid, PG_CATALOG};

/// What PostgreSQL counts into the modifier of a length or precision.
pub(crate) const MODIFIER_HEADER: i32 = 4;

impl Lookup<'_> {
    /// The name of a type, as messages have it.
    pub fn type_name(self, oid: Oid) -> String {
        self.written(oid, None)
    }

    /// A type with its modifier, as a cast to it is written.
    pub fn type_with_modifier(self, oid: Oid, typmod: i32) -> String {
        self.written(oid, Some(typmod))
    }

    fn written(self, oid: Oid, typmod: Option<i32>) -> String {
        let Some(known) = self.get(oid) else { return if oid == 0 { "-" } else { "???" }.to_owned() };
        if known.is_array && known.element != 0 {
            return self.written(known.element, typmod) + "[]";
        }
        let given = typmod.filter(|typmod| *typmod >= 0);
        let length = |name: &str| match given.map(|typmod| typmod - MODIFIER_HEADER) {
            Some(length) => format!("{name}({length})"),
            None => name.to_owned(),
        };
        let bits = |name: &str| given.map_or_else(|| name.to_owned(), |length| format!("{name}({length})"));
        let of_time = |of: TimeType, name: &str| {
            let limits = given.and_then(|typmod| TimeLimits::of_modifier(of, typmod.into()));
            limits.map_or_else(|| name.to_owned(), |limits| limits.to_string())
        };
        match oid {
            oids::BOOL => "boolean".to_owned(),
            oids::INT2 => "smallint".to_owned(),
            oids::INT4 => "integer".to_owned(),
            oids::INT8 => "bigint".to_owned(),
            oids::FLOAT4 => "real".to_owned(),
            oids::FLOAT8 => "double precision".to_owned(),
            oids::NUMERIC => numeric(given),
            oids::VARCHAR => length("character varying"),
            oids::VARBIT => bits("bit varying"),
            // Without a length they are not what SQL calls so, which has a length of one.
            oids::BPCHAR if given.is_some() || typmod.is_none() => length("character"),
            oids::BIT if given.is_some() || typmod.is_none() => bits("bit"),
            oids::TIME => of_time(TimeType::Time, "time without time zone"),
            oids::TIMETZ => match given {
                Some(digits) => format!("time({digits}) with time zone"),
                None => "time with time zone".to_owned(),
            },
            oids::TIMESTAMP => of_time(TimeType::Timestamp, "timestamp without time zone"),
            oids::TIMESTAMPTZ => of_time(TimeType::Timestamptz, "timestamp with time zone"),
            oids::INTERVAL => of_time(TimeType::Interval, "interval"),
            _ if known.schema == PG_CATALOG => quote_ident(&known.name),
            _ if known.oid < 16384 => format!("information_schema.{}", quote_ident(&known.name)),
            _ => quote_ident(&known.name),
        }
    }
}

fn numeric(typmod: Option<i32>) -> String {
    let Some(typmod) = typmod else { return "numeric".to_owned() };
    let packed = typmod - MODIFIER_HEADER;
    let (precision, scale) = ((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024);
    format!("numeric({precision},{scale})")
}
