//! SET as data: the values that are given to a setting.

use sqlparser::ast::{ContextModifier, Expr, Set, UnaryOperator, Value};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::{dotted, fold};

#[derive(Debug, Clone)]
pub(crate) enum SetCommand {
    Setting {
        name: String,
        local: bool,
        values: Vec<SetValue>,
    },
    TimeZone {
        local: bool,
        value: SetValue,
    },
    /// SET NAMES, `None` for DEFAULT.
    Names(Option<String>),
    /// What cannot be set, as it is written.
    Other(String),
}

#[derive(Debug, Clone)]
pub(crate) enum SetValue {
    Constant(String),
    /// A name, folded.
    Word {
        text: String,
        is_quoted: bool,
    },
    Interval {
        value: Box<SetValue>,
        written: String,
    },
    /// What is no constant, as it is written.
    Other(String),
}

impl SetCommand {
    pub(super) fn of(set: Set) -> Self {
        match set {
            Set::SingleAssignment { scope, variable, values, .. } => Self::Setting {
                name: dotted(&variable.into()),
                local: matches!(scope, Some(ContextModifier::Local)),
                values: values.iter().map(SetValue::of).collect(),
            },
            Set::SetTimeZone { local, value } => Self::TimeZone { local, value: SetValue::of(&value) },
            Set::SetNames { charset_name, .. } => Self::Names(Some(charset_name.value)),
            Set::SetNamesDefault {} => Self::Names(None),
            other => Self::Other(other.to_string()),
        }
    }
}

impl SetValue {
    fn of(value: &Expr) -> Self {
        match value {
            Expr::Value(v) => Self::Constant(match &v.value {
                Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) | Value::Number(text, _) => {
                    text.clone()
                }
                Value::DollarQuotedString(text) => text.value.clone(),
                other => other.to_string(),
            }),
            Expr::Identifier(ident) => Self::Word { text: fold(ident), is_quoted: ident.quote_style.is_some() },
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::of(expr) {
                Self::Constant(text) | Self::Word { text, .. } => Self::Constant(format!("-{text}")),
                other => Self::Other(other.written().to_owned()),
            },
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => match Self::of(expr) {
                Self::Constant(text) | Self::Word { text, .. } => Self::Constant(text),
                other => Self::Other(other.written().to_owned()),
            },
            Expr::Interval(interval) => {
                Self::Interval { value: Box::new(Self::of(&interval.value)), written: value.to_string() }
            }
            other => Self::Other(other.to_string()),
        }
    }

    fn written(&self) -> &str {
        match self {
            Self::Constant(text) | Self::Word { text, .. } => text,
            Self::Interval { written, .. } | Self::Other(written) => written,
        }
    }

    /// Whether it is this word, which must be in lower case.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word { text, is_quoted: false } if text == word)
    }

    /// What a constant says.
    ///
    /// # Errors
    /// 42601 for what is none.
    pub(crate) fn text(&self) -> SqlResult<String> {
        match self {
            Self::Constant(text) | Self::Word { text, .. } => Ok(text.clone()),
            Self::Interval { written, .. } | Self::Other(written) => {
                Err(SqlError::new(ErrorKind::Syntax, format!("SET takes constants only, not {written}")))
            }
        }
    }
}
