//! What PostgreSQL 15 can compute, as templates: one file per family of functions and operators.
//!
//! A template is SQL with placeholders in braces. `{i4}` is an expression of type integer, and so on for every type of
//! [`Ty::of_placeholder`]; `{any}`, `{num}` and `{ord}` are expressions of one type of a class, the same one throughout a
//! template; any other name is a pool of literal texts (see [`pools`]).

pub(super) mod aggregates;
pub(super) mod arrays;
pub(super) mod casts;
pub(super) mod json;
pub(super) mod logic;
pub(super) mod numbers;
pub(super) mod pools;
pub(super) mod text;
pub(super) mod time;
pub(super) mod whole;

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::differential::types::{self, Ty};

/// What a template makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makes {
    Type(Ty),
    /// The type that its `{any}` stands for.
    Any,
    /// The type that its `{num}` stands for.
    Number,
    /// The type that its `{ord}` stands for.
    Ordered,
}

impl Makes {
    /// The class a placeholder stands for, if it is one.
    pub(super) fn class(placeholder: &str) -> Option<&'static [Ty]> {
        match placeholder {
            "any" => Some(types::COMPARABLE),
            "num" => Some(types::NUMBERS),
            "ord" => Some(types::ORDERED),
            _ => None,
        }
    }

    /// Whether a template makes values of a type.
    pub(super) fn can_be(self, ty: Ty) -> bool {
        match self {
            Makes::Type(made) => made == ty,
            Makes::Any => types::COMPARABLE.contains(&ty),
            Makes::Number => types::NUMBERS.contains(&ty),
            Makes::Ordered => types::ORDERED.contains(&ty),
        }
    }
}

/// One thing that can be computed.
#[derive(Debug, Clone)]
pub(super) struct Template {
    pub makes: Makes,
    pub text: Cow<'static, str>,
}

/// A family: its name, and its templates.
#[derive(Debug)]
pub(super) struct Family {
    pub name: &'static str,
    pub templates: Vec<Template>,
}

/// Every family of scalar expressions.
pub(super) static SCALARS: LazyLock<Vec<Family>> = LazyLock::new(|| {
    vec![
        Family { name: "numbers", templates: [fixed(numbers::TEMPLATES), numbers::arithmetic()].concat() },
        Family { name: "logic", templates: [fixed(logic::TEMPLATES), logic::comparisons()].concat() },
        Family { name: "text", templates: fixed(text::TEMPLATES) },
        Family { name: "time", templates: fixed(time::TEMPLATES) },
        Family { name: "casts", templates: casts::templates() },
        Family { name: "arrays", templates: fixed(arrays::TEMPLATES) },
        Family { name: "json", templates: fixed(json::TEMPLATES) },
    ]
});

fn fixed(templates: &'static [(&'static str, &'static str)]) -> Vec<Template> {
    templates.iter().map(|(makes, text)| Template { makes: made_by(makes), text: Cow::Borrowed(text) }).collect()
}

/// The first column of a table of templates: the placeholder of what is made.
pub(super) fn made_by(placeholder: &str) -> Makes {
    match placeholder {
        "any" => Makes::Any,
        "num" => Makes::Number,
        "ord" => Makes::Ordered,
        name => Makes::Type(Ty::of_placeholder(name).unwrap_or_else(|| panic!("no type is called {name}"))),
    }
}
