//! Numbers: operators over every pair of types, and the mathematical functions.

use std::borrow::Cow;

use super::{Makes, Template};
use crate::differential::types::Ty;

pub(crate) const TEMPLATES: &[(&str, &str)] = &[
    ("num", "abs({num})"),
    ("num", "(- {num})"),
    ("num", "(+ {num})"),
    ("num", "(@ {num})"),
    ("num", "least({num}, {num})"),
    ("num", "greatest({num}, {num}, {num})"),
    ("f8", "sign({f8})"),
    ("n", "sign({n})"),
    ("f8", "ceil({f8})"),
    ("n", "ceiling({n})"),
    ("f8", "floor({f8})"),
    ("n", "floor({n})"),
    ("f8", "round({f8})"),
    ("n", "round({n})"),
    ("f8", "round({i4})"),
    ("n", "round({n}, {scale})"),
    ("f8", "trunc({f8})"),
    ("n", "trunc({n})"),
    ("n", "trunc({n}, {scale})"),
    ("f8", "sqrt({f8})"),
    ("n", "sqrt({n})"),
    ("f8", "cbrt({f8})"),
    ("f8", "exp({f8})"),
    ("n", "exp({littlen})"),
    ("f8", "ln({f8})"),
    ("n", "ln({n})"),
    ("f8", "log({f8})"),
    ("n", "log({n})"),
    ("n", "log({littlen}, {n})"),
    ("f8", "log10({f8})"),
    ("f8", "power({f8}, {f8})"),
    ("n", "power({n}, {littlen})"),
    ("f8", "({f8} ^ {f8})"),
    ("n", "({n} ^ {small})"),
    ("f8", "({i4} ^ {small})"),
    ("f8", "(|/ {f8})"),
    ("f8", "(||/ {f8})"),
    ("i4", "mod({i4}, {i4})"),
    ("i8", "mod({i8}, {i8})"),
    ("n", "mod({n}, {n})"),
    ("n", "div({n}, {n})"),
    ("i4", "gcd({i4}, {i4})"),
    ("i8", "lcm({i8}, {i8})"),
    ("n", "gcd({n}, {n})"),
    ("n", "lcm({n}, {littlen})"),
    ("n", "factorial({small})"),
    ("f8", "pi()"),
    ("f8", "degrees({f8})"),
    ("f8", "radians({f8})"),
    ("f8", "sin({f8})"),
    ("f8", "cos({f8})"),
    ("f8", "tan({f8})"),
    ("f8", "cot({f8})"),
    ("f8", "asin({f8})"),
    ("f8", "acos({f8})"),
    ("f8", "atan({f8})"),
    ("f8", "atan2({f8}, {f8})"),
    ("f8", "sind({f8})"),
    ("f8", "cosd({f8})"),
    ("f8", "tand({f8})"),
    ("f8", "sinh({f8})"),
    ("f8", "cosh({f8})"),
    ("f8", "tanh({f8})"),
    ("f8", "asinh({f8})"),
    ("f8", "acosh({f8})"),
    ("f8", "atanh({f8})"),
    ("i4", "width_bucket({f8}, 0.0::float8, 10.0::float8, 5)"),
    ("i4", "width_bucket({n}, 0, 10, {small})"),
    ("i4", "width_bucket({i4}, ARRAY[1, 5, 10])"),
    ("i4", "scale({n})"),
    ("i4", "min_scale({n})"),
    ("n", "trim_scale({n})"),
    ("i4", "({i4} & {i4})"),
    ("i8", "({i8} | {i8})"),
    ("i4", "({i4} # {i4})"),
    ("i2", "({i2} & {i2})"),
    ("i4", "(~ {i4})"),
    ("i8", "({i8} << {small})"),
    ("i4", "({i4} >> {small})"),
    ("i4", "({i4} + {i4} * {i4})"),
    ("i4", "(- {i4} ^ 2)::int"),
    ("i4", "({i4} - {i4} - {i4})"),
    ("i4", "({i4} / {i4} * {i4} % {i4})"),
    ("t", "to_hex({i4})"),
    ("t", "to_hex({i8})"),
    ("t", "to_char({i4}, {numfmt})"),
    ("t", "to_char({n}, {numfmt})"),
    ("t", "to_char({f8}, {numfmt})"),
    ("n", "to_number({numtext}, {numfmt})"),
    ("i4", "({i4} + '7')"),
    ("n", "({n} * '1.5')"),
    ("i4", "('10' - {i4})"),
];

/// Every pair of number types under every operator that PostgreSQL has for it.
pub(crate) fn arithmetic() -> Vec<Template> {
    let types = ["i2", "i4", "i8", "n", "f4", "f8"];
    let mut templates = Vec::new();
    for (i, left) in types.iter().enumerate() {
        for (j, right) in types.iter().enumerate() {
            for operator in ["+", "-", "*", "/", "%"] {
                let wider = Ty::of_placeholder(types[i.max(j)]).expect("it is a type");
                let makes = match wider {
                    Ty::Float4 if i != j => Ty::Float8,
                    same => same,
                };
                let is_float = matches!(makes, Ty::Float4 | Ty::Float8);
                if operator != "%" || !is_float {
                    let text = Cow::Owned(format!("({{{left}}} {operator} {{{right}}})"));
                    templates.push(Template { makes: Makes::Type(makes), text });
                }
            }
        }
    }
    templates
}
