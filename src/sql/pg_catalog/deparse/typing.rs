//! Which operator or function PostgreSQL takes for given types, by its own rules over its own lists.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use tablegate_types::built_in::{RecordedFile, routines};

use crate::pg_catalog::built_ins::{array_of, type_by_oid};

/// The type of a part of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty {
    Of(u32),
    /// A literal or NULL, which takes the type that is needed.
    Unknown,
    /// Not known here.
    Untyped,
}

pub(super) const BOOL: u32 = 16;
pub(super) const INT4: u32 = 23;
pub(super) const INT8: u32 = 20;
pub(super) const TEXT: u32 = 25;
pub(super) const NUMERIC: u32 = 1700;

/// What an operator or a function takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Routine {
    pub takes: Vec<u32>,
    pub gives: u32,
}

static OPERATORS: LazyLock<HashMap<&'static str, Vec<Routine>>> = LazyLock::new(|| {
    let rows = read("pg_operator", ["oprname", "oprleft", "oprright", "oprresult"]);
    grouped(rows.map(|[name, left, right, gives]| {
        let takes = [left, right].iter().filter_map(|oid| oid.parse().ok()).filter(|oid| *oid != 0).collect();
        (name, Routine { takes, gives: gives.parse().unwrap_or(0) })
    }))
});

static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<Routine>>> = LazyLock::new(|| {
    let functions = routines::all().iter().filter(|known| known.kind == "f");
    grouped(functions.map(|known| (known.name, Routine { takes: known.arguments.clone(), gives: known.result })))
});

/// Casts that are made without being asked for.
static IMPLICIT: LazyLock<HashSet<(u32, u32)>> = LazyLock::new(|| {
    let rows = read("pg_cast", ["castsource", "casttarget", "castcontext"]);
    rows.filter(|[_, _, context]| *context == "i")
        .filter_map(|[from, to, _]| Some((from.parse().ok()?, to.parse().ok()?)))
        .collect()
});

fn read<const N: usize>(relation: &str, columns: [&str; N]) -> impl Iterator<Item = [&'static str; N]> + use<N> {
    let file = RecordedFile::of(relation);
    let at = columns.map(|column| file.as_ref().and_then(|file| file.position(column)));
    let rows: Vec<_> = file.iter().flat_map(|file| file.rows().collect::<Vec<_>>()).collect();
    rows.into_iter().map(move |row| at.map(|at| at.and_then(|at| row.get(at).copied()).unwrap_or_default()))
}

fn grouped(rows: impl Iterator<Item = (&'static str, Routine)>) -> HashMap<&'static str, Vec<Routine>> {
    let mut by_name: HashMap<_, Vec<Routine>> = HashMap::new();
    rows.for_each(|(name, routine)| by_name.entry(name).or_default().push(routine));
    by_name
}

/// The operator of this name for these operands.
pub(super) fn operator(name: &str, operands: &[Ty]) -> Option<Routine> {
    // An operand without a type is first taken to have the other's.
    if let [left, right] = operands {
        let alike = match (left, right) {
            (Ty::Of(oid), Ty::Unknown) | (Ty::Unknown, Ty::Of(oid)) => Some([*oid, *oid]),
            _ => None,
        };
        let exact = alike.and_then(|takes| OPERATORS.get(name)?.iter().find(|known| known.takes == takes));
        if let Some(exact) = exact {
            return Some(exact.clone());
        }
    }
    choose(OPERATORS.get(name)?, operands)
}

/// The function of this name for these arguments.
pub(super) fn function(name: &str, arguments: &[Ty]) -> Option<Routine> {
    choose(FUNCTIONS.get(name)?, arguments)
}

/// `func_select_candidate`: the one that fits best, if one does.
fn choose(known: &[Routine], given: &[Ty]) -> Option<Routine> {
    if given.contains(&Ty::Untyped) {
        return None;
    }
    let is_exact = |routine: &&Routine| {
        routine.takes.len() == given.len() && routine.takes.iter().zip(given).all(|(to, from)| *from == Ty::Of(*to))
    };
    if let Some(exact) = known.iter().find(is_exact) {
        return Some(exact.clone());
    }
    let fits = |routine: &&Routine| {
        routine.takes.len() == given.len() && routine.takes.iter().zip(given).all(|(to, from)| is_taken(*from, *to))
    };
    let mut left: Vec<&Routine> = known.iter().filter(fits).collect();
    let exact = |to: u32, from: Ty| from == Ty::Of(to);
    keep_best(&mut left, given, exact);
    keep_best(&mut left, given, |to, from| exact(to, from) || (from != Ty::Unknown && is_preferred_for(to, from)));
    if left.len() > 1 {
        settle_unknown(&mut left, given);
    }
    if left.len() > 1 {
        assume_one_type(&mut left, given);
    }
    match left.as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    }
}

/// Keeps those that are right at the most places.
fn keep_best(left: &mut Vec<&Routine>, given: &[Ty], is_right: impl Fn(u32, Ty) -> bool) {
    if left.len() < 2 {
        return;
    }
    let right = |routine: &Routine| routine.takes.iter().zip(given).filter(|(to, from)| is_right(**to, **from)).count();
    let best = left.iter().map(|routine| right(routine)).max().unwrap_or(0);
    left.retain(|routine| right(routine) == best);
}

/// Where a literal stands, text is taken if any takes it there, else the category that all agree on.
fn settle_unknown(left: &mut Vec<&Routine>, given: &[Ty]) {
    for place in (0..given.len()).filter(|place| given[*place] == Ty::Unknown) {
        let at = |routine: &Routine| routine.takes.get(place).copied().unwrap_or(0);
        let is_text = |routine: &&Routine| category(at(routine)) == "S";
        let wanted = match left.iter().find(|routine| is_text(routine)) {
            Some(_) => "S",
            None => {
                let first = left.first().map_or("", |routine| category(at(routine)));
                if left.iter().any(|routine| category(at(routine)) != first) {
                    continue;
                }
                first
            }
        };
        left.retain(|routine| category(at(routine)) == wanted);
        let is_preferred = |routine: &&Routine| type_by_oid(at(routine)).is_some_and(|t| t.preferred);
        if left.iter().any(is_preferred) {
            left.retain(is_preferred);
        }
    }
}

/// Where all that is known has one type, the literals have it too.
fn assume_one_type(left: &mut Vec<&Routine>, given: &[Ty]) {
    let mut known = given.iter().filter(|ty| **ty != Ty::Unknown);
    let Some(Ty::Of(first)) = known.next() else { return };
    if !given.contains(&Ty::Unknown) || known.any(|ty| *ty != Ty::Of(*first)) {
        return;
    }
    left.retain(|routine| routine.takes.iter().all(|to| is_taken(Ty::Of(*first), *to)));
}

fn category(oid: u32) -> &'static str {
    type_by_oid(oid).map_or("", |t| t.category)
}

fn is_preferred_for(to: u32, from: Ty) -> bool {
    let Ty::Of(from) = from else { return false };
    category(from) == category(to) && type_by_oid(to).is_some_and(|t| t.preferred)
}

/// Whether a value is taken where one of this type is asked for.
fn is_taken(from: Ty, to: u32) -> bool {
    let Ty::Of(from) = from else { return from == Ty::Unknown };
    let element = |oid: u32| type_by_oid(oid).filter(|t| t.is_array()).map(|t| t.element());
    if from == to || IMPLICIT.contains(&(from, to)) {
        return true;
    }
    match type_by_oid(to).map(|t| t.name) {
        Some("any" | "anyelement" | "anycompatible") => true,
        Some("anyarray" | "anycompatiblearray") => element(from).is_some(),
        Some("anynonarray" | "anycompatiblenonarray") => element(from).is_none(),
        _ => match (element(from), element(to)) {
            (Some(from), Some(to)) => IMPLICIT.contains(&(from, to)),
            _ => false,
        },
    }
}

/// Whether any type may stand for this one.
fn is_polymorphic(oid: u32) -> bool {
    type_by_oid(oid).is_some_and(|t| t.name.starts_with("any"))
}

impl Routine {
    /// What it gives for these arguments.
    pub(super) fn result(&self, given: &[Ty]) -> Ty {
        if !is_polymorphic(self.gives) {
            return Ty::Of(self.gives);
        }
        let of = |name: &str| self.takes.iter().zip(given).find(|(to, _)| is_named(**to, name)).map(|(_, ty)| *ty);
        let gives = type_by_oid(self.gives).map_or("", |t| t.name);
        let (plain, array) = if gives.contains("compatible") {
            ("anycompatible", "anycompatiblearray")
        } else {
            ("anyelement", "anyarray")
        };
        let element_of = |ty: Ty| match ty {
            Ty::Of(oid) => type_by_oid(oid).map_or(Ty::Untyped, |t| Ty::Of(t.element())),
            other => other,
        };
        let array_type_of = |ty: Ty| match ty {
            Ty::Of(oid) => array_of(oid).map_or(Ty::Untyped, Ty::Of),
            other => other,
        };
        let found = if gives == array {
            of(array).or_else(|| of(plain).map(array_type_of))
        } else {
            of(plain).or_else(|| of(array).map(element_of))
        };
        found.filter(|ty| *ty != Ty::Unknown).unwrap_or(Ty::Untyped)
    }
}

impl Routine {
    /// The type that an argument is to have; `None` where its own will do.
    pub(super) fn taken(&self, index: usize, given: &[Ty]) -> Option<u32> {
        let wanted = *self.takes.get(index)?;
        if !is_polymorphic(wanted) {
            return Some(wanted);
        }
        // A literal has the type that the arguments beside it have.
        let others = self.takes.iter().zip(given).filter_map(|(to, ty)| match ty {
            Ty::Of(oid) => Some((*to, *oid)),
            Ty::Unknown | Ty::Untyped => None,
        });
        let is_array = |oid: u32| type_by_oid(oid).is_some_and(|t| t.name.ends_with("array"));
        let fitting = |(to, oid): (u32, u32)| match (is_array(to), is_array(wanted)) {
            _ if to == wanted => Some(oid),
            (true, false) => type_by_oid(oid).map(|t| t.element()),
            (false, true) => array_of(oid),
            _ => None,
        };
        (given.get(index) == Some(&Ty::Unknown)).then(|| others.filter_map(fitting).next()).flatten()
    }
}

fn is_named(oid: u32, name: &str) -> bool {
    type_by_oid(oid).is_some_and(|t| t.name == name)
}

/// `select_common_type`: of the values of a CASE, an array, an IN. Without a type among them, text.
pub(super) fn common(given: &[Ty]) -> Ty {
    if given.contains(&Ty::Untyped) {
        return Ty::Untyped;
    }
    let mut found: Option<u32> = None;
    for ty in given {
        let Ty::Of(next) = ty else { continue };
        found = Some(match found {
            None => *next,
            Some(known) if known == *next => known,
            Some(known) if category(known) != category(*next) => return Ty::Untyped,
            Some(known) => {
                let is_final = type_by_oid(known).is_some_and(|t| t.preferred);
                let widens = is_taken(Ty::Of(known), *next) && !is_taken(Ty::Of(*next), known);
                if !is_final && widens { *next } else { known }
            }
        });
    }
    Ty::Of(found.unwrap_or(TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_candidate_is_postgresqls() {
        let varchar = Ty::Of(1043);
        let cases = [
            (operator("=", &[varchar, Ty::Unknown]), vec![TEXT, TEXT]),
            (operator(">", &[Ty::Of(NUMERIC), Ty::Of(INT4)]), vec![NUMERIC, NUMERIC]),
            (operator("+", &[Ty::Of(1082), Ty::Of(INT4)]), vec![1082, INT4]),
            (operator("-", &[Ty::Of(INT4)]), vec![INT4]),
            (function("length", &[varchar]), vec![TEXT]),
            (function("power", &[Ty::Of(INT4), Ty::Of(INT4)]), vec![701, 701]),
            (function("date_trunc", &[Ty::Unknown, Ty::Of(1184)]), vec![TEXT, 1184]),
        ];
        for (found, takes) in cases {
            assert_eq!(found.map(|routine| routine.takes), Some(takes));
        }
        assert_eq!(common(&[Ty::Of(INT4), Ty::Of(NUMERIC), Ty::Unknown]), Ty::Of(NUMERIC));
    }
}
