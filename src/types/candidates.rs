//! PostgreSQL's choice among the operators, or the functions, of one name (`func_select_candidate`).
//!
//! An operand that is a literal without a type fits any type; which one it is taken for decides among the candidates that
//! are left.

use super::conversion::{Category, category, is_implicit, is_preferred, is_same};
use crate::sql_type::SqlType;

/// An operator or a function.
pub trait Candidate {
    /// The type of an operand by position; `None` where a placeholder stands for any.
    fn asked(&self, index: usize) -> Option<SqlType>;
}

/// Why nothing was chosen.
pub enum Unresolved {
    /// Nothing takes the operands.
    None,
    /// Several do, and none is better than the others.
    Several,
}

/// The best of candidates which all take operands of the given types, `Unknown` for a literal without one.
pub fn best<'c, C: Candidate>(mut candidates: Vec<&'c C>, given: &[SqlType]) -> Result<&'c C, Unresolved> {
    keep_most(&mut candidates, |candidate| count(candidate, given, is_same));
    keep_most(&mut candidates, |candidate| {
        count(candidate, given, |asked, given| {
            is_same(asked, given) || (is_preferred(asked) && category(asked) == category(given))
        })
    });
    if candidates.len() > 1 {
        keep_for_literals(&mut candidates, given);
    }
    if candidates.len() > 1 {
        keep_for_one_type(&mut candidates, given);
    }
    match candidates.as_slice() {
        [] => Err(Unresolved::None),
        [one] => Ok(*one),
        _ => Err(Unresolved::Several),
    }
}

/// How many operands have a type that counts.
pub fn count<C: Candidate>(candidate: &C, given: &[SqlType], counts: impl Fn(&SqlType, &SqlType) -> bool) -> usize {
    let fits = |(index, given): &(usize, &SqlType)| {
        **given != SqlType::Unknown && candidate.asked(*index).is_some_and(|asked| counts(&asked, given))
    };
    given.iter().enumerate().filter(fits).count()
}

fn keep_most<C: Candidate>(candidates: &mut Vec<&C>, score: impl Fn(&C) -> usize) {
    let most = candidates.iter().map(|candidate| score(candidate)).max().unwrap_or(0);
    candidates.retain(|candidate| score(candidate) == most);
}

/// Takes each literal for a type of one category: text if a candidate takes that, else what all of them agree on.
fn keep_for_literals<C: Candidate>(candidates: &mut Vec<&C>, given: &[SqlType]) {
    let mut wanted: Vec<(usize, Category, bool)> = Vec::new();
    for (index, _) in given.iter().enumerate().filter(|(_, given)| **given == SqlType::Unknown) {
        let asked: Vec<SqlType> = candidates.iter().filter_map(|candidate| candidate.asked(index)).collect();
        let categories: Vec<Category> = asked.iter().map(category).collect();
        let chosen = match categories.first() {
            _ if categories.contains(&Category::Text) => Category::Text,
            Some(first) if asked.len() == candidates.len() && categories.iter().all(|category| category == first) => {
                *first
            }
            _ => return,
        };
        let has_preferred = asked.iter().any(|asked| category(asked) == chosen && is_preferred(asked));
        wanted.push((index, chosen, has_preferred));
    }
    let suits = |candidate: &C| {
        wanted.iter().all(|(index, chosen, has_preferred)| {
            let asked = candidate.asked(*index);
            asked.is_some_and(|asked| category(&asked) == *chosen && (!has_preferred || is_preferred(&asked)))
        })
    };
    if candidates.iter().any(|candidate| suits(candidate)) {
        candidates.retain(|candidate| suits(candidate));
    }
}

/// When all operands that have a type have the same, takes the literals for that type too.
fn keep_for_one_type<C: Candidate>(candidates: &mut Vec<&C>, given: &[SqlType]) {
    let known: Vec<&SqlType> = given.iter().filter(|given| **given != SqlType::Unknown).collect();
    let Some((first, others)) = known.split_first() else { return };
    if known.len() == given.len() || others.iter().any(|other| !is_same(first, other)) {
        return;
    }
    let suits = |candidate: &C| {
        (0..given.len()).all(|index| candidate.asked(index).is_none_or(|asked| is_implicit(first, &asked)))
    };
    if candidates.iter().filter(|candidate| suits(candidate)).count() == 1 {
        candidates.retain(|candidate| suits(candidate));
    }
}
