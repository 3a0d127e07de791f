//! Every setting there is: PostgreSQL 15's names, kinds, bounds, defaults and descriptions, and this product's own.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::unit::Unit;
use super::value::Value;

/// A setting, as its row of the table says.
#[derive(Debug)]
pub(crate) struct Definition {
    /// As PostgreSQL spells it; looked up ignoring case.
    pub name: &'static str,
    pub kind: Kind,
    pub context: Context,
    pub default: Value,
    /// Told to the client by ParameterStatus.
    pub is_reported: bool,
    /// Only the default is there: another value would promise what is not done.
    pub is_fixed: bool,
    /// Left out of SHOW ALL and `pg_settings`.
    pub is_hidden: bool,
    /// SET takes several values.
    pub list: List,
    pub category: &'static str,
    pub description: &'static str,
    /// More of it; empty for none.
    pub details: &'static str,
}

/// What values a setting has.
#[derive(Debug)]
pub(crate) enum Kind {
    Bool,
    /// Inclusive bounds, in the unit.
    Integer {
        least: i64,
        most: i64,
        unit: Option<Unit>,
    },
    Real {
        least: f64,
        most: f64,
        unit: Option<Unit>,
    },
    Enum(Vec<&'static str>),
    Text,
}

impl Kind {
    /// As `pg_settings` names it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Integer { .. } => "integer",
            Kind::Real { .. } => "real",
            Kind::Enum(_) => "enum",
            Kind::Text => "string",
        }
    }

    pub(crate) fn unit(&self) -> Option<Unit> {
        match self {
            Kind::Integer { unit, .. } | Kind::Real { unit, .. } => *unit,
            Kind::Bool | Kind::Enum(_) | Kind::Text => None,
        }
    }
}

/// Who may set it, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// It cannot be set: it says what the server is.
    Internal,
    /// The command line.
    Postmaster,
    Superuser,
    User,
}

impl Context {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Postmaster => "postmaster",
            Context::Superuser => "superuser",
            Context::User => "user",
        }
    }
}

/// Whether a setting is a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    No,
    Words,
    /// Each is quoted where an identifier needs it.
    Names,
}

/// All settings, in the order of their names.
pub(crate) static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let lines = include_str!("data/settings.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(definition).collect()
});

static PLACES: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let place = |(place, definition): (usize, &Definition)| (definition.name.to_ascii_lowercase(), place);
    DEFINITIONS.iter().enumerate().map(place).collect()
});

/// The place of a setting among [`DEFINITIONS`].
pub(crate) fn place(name: &str) -> Option<usize> {
    PLACES.get(&name.to_ascii_lowercase()).copied()
}

fn definition(line: &'static str) -> Definition {
    let columns: Vec<&'static str> = line.split('|').collect();
    let column = |index: usize| columns.get(index).copied().unwrap_or_default();
    let unit = Unit::named(column(3));
    let kind = match column(1) {
        "bool" => Kind::Bool,
        "integer" => Kind::Integer {
            least: column(4).parse().unwrap_or(i32::MIN.into()),
            most: column(5).parse().unwrap_or(i32::MAX.into()),
            unit,
        },
        "real" => Kind::Real {
            least: column(4).parse().unwrap_or(f64::MIN),
            most: column(5).parse().unwrap_or(f64::MAX),
            unit,
        },
        "enum" => Kind::Enum(column(7).split(',').collect()),
        _ => Kind::Text,
    };
    let flags = column(8);
    Definition {
        name: column(0),
        default: Value::of_default(&kind, column(6)),
        context: match column(2) {
            "internal" => Context::Internal,
            "postmaster" => Context::Postmaster,
            "superuser" => Context::Superuser,
            _ => Context::User,
        },
        kind,
        is_reported: flags.contains('r'),
        is_fixed: flags.contains('f'),
        is_hidden: flags.contains('h'),
        list: match (flags.contains('l'), flags.contains('q')) {
            (true, true) => List::Names,
            (true, false) => List::Words,
            (false, _) => List::No,
        },
        category: column(9),
        description: column(10),
        details: column(11),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_whole() {
        for line in include_str!("data/settings.txt").lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.split('|').count(), 12, "{line}");
        }
        for definition in DEFINITIONS.iter() {
            let shown = definition.default.shown(&definition.kind);
            let is_value = Value::parse(definition, &shown).is_ok_and(|value| value == definition.default);
            assert!(is_value, "{}: {shown}", definition.name);
            assert_eq!(place(&definition.name.to_uppercase()).map(|p| DEFINITIONS[p].name), Some(definition.name));
        }
        let names: Vec<String> = DEFINITIONS.iter().map(|d| d.name.to_lowercase()).collect();
        assert!(names.is_sorted());
    }

    #[test]
    fn what_postgresql_reports_is_reported() {
        let reported: Vec<&str> = DEFINITIONS.iter().filter(|d| d.is_reported).map(|d| d.name).collect();
        assert_eq!(
            reported,
            [
                "application_name",
                "client_encoding",
                "DateStyle",
                "default_transaction_read_only",
                "in_hot_standby",
                "integer_datetimes",
                "IntervalStyle",
                "is_superuser",
                "server_encoding",
                "server_version",
                "session_authorization",
                "standard_conforming_strings",
                "TimeZone",
            ]
        );
    }
}
