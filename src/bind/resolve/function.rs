//! Functions: `func_get_detail`, by position and by name, with defaults and with lists that are written out.

use super::candidates::{self, Unresolved};
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, FunctionRef, Lookup};
use crate::coerce::Pathway;

/// What a call asks for.
pub(crate) struct Asked<'a> {
    pub schema: Option<&'a str>,
    pub name: &'a str,
    /// The types of its arguments.
    pub given: &'a [Oid],
    /// The names of the last of them.
    pub names: &'a [String],
    /// VARIADIC stands before the last one.
    pub variadic: bool,
}

/// What it is.
pub(crate) enum Chosen {
    Function(Fit),
    /// The name is a type's: a cast.
    Cast(Oid),
}

/// A function as a call uses it.
#[derive(Clone)]
pub(crate) struct Fit {
    pub function: FunctionRef,
    /// The types of its arguments in the order of the call, then of those that have their defaults.
    pub asked: Vec<Oid>,
    /// How many of the last arguments are items of a list.
    pub listed: usize,
    /// How many arguments have their defaults.
    pub defaults: usize,
}

impl Lookup<'_> {
    /// PostgreSQL's `func_get_detail`.
    pub(crate) fn function(self, asked: &Asked<'_>) -> Result<Chosen, Unresolved> {
        let fits = self.fits(asked);
        let exact = fits.iter().find(|fit| fit.asked[..asked.given.len()] == *asked.given);
        if let Some(exact) = exact {
            return Ok(Chosen::Function(exact.clone()));
        }
        if let ([given], []) = (asked.given, asked.names)
            && let Some(target) = self.cast_by_name(asked, *given)
        {
            return Ok(Chosen::Cast(target));
        }
        let types: Vec<Vec<Oid>> = fits.iter().map(|fit| fit.asked[..asked.given.len()].to_vec()).collect();
        let at = candidates::best(self, asked.given, &types)?;
        Ok(Chosen::Function(fits[at].clone()))
    }

    /// The type that a function's name is, if the call is a cast to it.
    fn cast_by_name(self, asked: &Asked<'_>, given: Oid) -> Option<Oid> {
        // Rows of tables are not made so.
        let target = self.type_named(asked.schema, asked.name).filter(|of| of.relation == 0)?.oid;
        if given == oids::UNKNOWN {
            return Some(target);
        }
        match self.pathway(target, given, CastContext::Explicit)? {
            Pathway::Binary => Some(target),
            Pathway::Text => {
                let is_row_to_text = self.is_row(given) && self.category(target) == b'S';
                (!is_row_to_text).then_some(target)
            }
            Pathway::Function(_) | Pathway::Items => None,
        }
    }

    /// `FuncnameGetCandidates`: those that take as many arguments.
    fn fits(self, asked: &Asked<'_>) -> Vec<Fit> {
        let mut fits: Vec<Fit> = Vec::new();
        for function in self.functions(asked.schema, asked.name) {
            let Some(fit) = fit(&function, asked) else { continue };
            // One that takes the same without a list, or without defaults, goes before.
            let same = fits.iter().position(|other| {
                let count = asked.given.len();
                other.asked[..count] == fit.asked[..count]
            });
            match same {
                None => fits.push(fit),
                Some(at) => {
                    let rank = |fit: &Fit| (fit.listed > 0, fit.defaults);
                    if rank(&fit) < rank(&fits[at]) {
                        fits[at] = fit;
                    }
                }
            }
        }
        fits
    }
}

/// How a call uses the function, if it may.
fn fit(function: &FunctionRef, asked: &Asked<'_>) -> Option<Fit> {
    let (given, takes) = (asked.given.len(), function.arguments.len());
    let plain = |asked: Vec<Oid>, listed, defaults| Some(Fit { function: function.clone(), asked, listed, defaults });
    if !asked.names.is_empty() {
        return by_names(function, asked);
    }
    // Its list is written out, unless the call says that it is given as one.
    if function.variadic != 0 && !asked.variadic {
        if given + 1 < takes || takes == 0 {
            return None;
        }
        let listed = (given + 1).saturating_sub(takes);
        let mut types = function.arguments[..takes - 1].to_vec();
        types.extend(std::iter::repeat_n(function.variadic, listed));
        return (types.len() >= given && given >= takes).then(|| plain(types, listed, 0)).flatten();
    }
    if asked.variadic && function.variadic == 0 {
        return None;
    }
    if given > takes || given < function.least_arguments() {
        return None;
    }
    plain(function.arguments.clone(), 0, takes - given)
}

/// `MatchNamedCall`: the arguments by their names.
fn by_names(function: &FunctionRef, asked: &Asked<'_>) -> Option<Fit> {
    let (given, takes) = (asked.given.len(), function.arguments.len());
    if asked.variadic && function.variadic == 0 || given > takes || given < function.least_arguments() {
        return None;
    }
    let first_named = given - asked.names.len();
    let mut numbers: Vec<usize> = (0..first_named).collect();
    for name in asked.names {
        let number = function.names.iter().position(|known| known == name)?;
        if numbers.contains(&number) {
            return None;
        }
        numbers.push(number);
    }
    let missing: Vec<usize> = (0..takes).filter(|number| !numbers.contains(number)).collect();
    if missing.iter().any(|number| *number < function.least_arguments()) {
        return None;
    }
    let defaults = missing.len();
    numbers.extend(missing);
    let types = numbers.iter().map(|number| function.arguments[*number]).collect();
    Some(Fit { function: function.clone(), asked: types, listed: 0, defaults })
}

/// A call as messages have it: `f(integer, name => text)`.
pub(crate) fn signature(lookup: Lookup<'_>, asked: &Asked<'_>) -> String {
    let first_named = asked.given.len() - asked.names.len();
    let argument = |(at, oid): (usize, &Oid)| {
        let name = at.checked_sub(first_named).and_then(|at| asked.names.get(at));
        let name = name.map_or_else(String::new, |name| format!("{name} => "));
        name + &lookup.type_name(*oid)
    };
    let arguments: Vec<String> = asked.given.iter().enumerate().map(argument).collect();
    let schema = asked.schema.map_or_else(String::new, |schema| format!("{schema}."));
    format!("{schema}{}({})", asked.name, arguments.join(", "))
}
