//! GROUP BY: keys, and the sets of them that ROLLUP, CUBE and GROUPING SETS are.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, ObjectNamePart, Spanned,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{Grouping, GroupingSet};
use super::level::{Context, Level};
use super::sort::Names;
use crate::binder::is_mark;
use crate::place::{AtPlace, Place};
use crate::usage::Usage;

/// PostgreSQL's bound on the elements of one CUBE.
const MOST_OF_CUBE: usize = 12;
/// And on all sets together.
const MOST_SETS: usize = 4096;

impl Level<'_> {
    /// # Errors
    /// 42803, 42P10 and what is wrong with an expression; 54001 for too many sets.
    pub(super) fn grouping(&mut self, group_by: &GroupByExpr) -> SqlResult<()> {
        let elements = match group_by {
            GroupByExpr::Expressions(elements, modifiers) if modifiers.is_empty() => elements,
            _ => return Err(SqlError::not_supported("this form of GROUP BY")),
        };
        let is_distinct =
            matches!(elements.first(), Some(Expr::Function(function)) if is_marked(function, DISTINCT_SETS));
        let elements = &elements[usize::from(is_distinct)..];
        let mut grouping = Grouping { is_distinct, ..Grouping::default() };
        let mut sets = Vec::with_capacity(elements.len());
        let mut is_plain = true;
        for element in elements {
            match element {
                Expr::Tuple(items) if !items.is_empty() => {
                    for item in items {
                        sets.push(GroupingSet::Simple(vec![self.key(item, &mut grouping)?]));
                    }
                }
                element => {
                    let set = self.element(element, &mut grouping)?;
                    is_plain &= matches!(&set, GroupingSet::Simple(keys) if !keys.is_empty());
                    sets.push(set);
                }
            }
        }
        if !is_plain {
            check_size(self.context, &sets, elements)?;
            grouping.sets = sets;
        }
        self.query.grouping = grouping;
        Ok(())
    }

    fn element(&mut self, element: &Expr, grouping: &mut Grouping) -> SqlResult<GroupingSet> {
        Ok(match element {
            Expr::Tuple(items) => GroupingSet::Simple(self.keys(items, grouping)?),
            Expr::Rollup(lists) => GroupingSet::Rollup(self.lists(lists, grouping)?),
            Expr::Cube(lists) => GroupingSet::Cube(self.lists(lists, grouping)?),
            Expr::GroupingSets(lists) => {
                let mut sets = Vec::with_capacity(lists.len());
                for list in lists {
                    sets.push(match list.as_slice() {
                        [only] => self.element(only, grouping)?,
                        items => GroupingSet::Simple(self.keys(items, grouping)?),
                    });
                }
                GroupingSet::Sets(sets)
            }
            // Inside of GROUPING SETS the parser takes these for calls.
            Expr::Function(function) if is_called(function, "rollup") => {
                GroupingSet::Rollup(self.lists(&arguments(function), grouping)?)
            }
            Expr::Function(function) if is_called(function, "cube") => {
                GroupingSet::Cube(self.lists(&arguments(function), grouping)?)
            }
            Expr::Function(function) if is_marked(function, GROUPING_SETS) => {
                let sets = arguments(function).into_iter().flatten();
                GroupingSet::Sets(sets.map(|set| self.element(&set, grouping)).collect::<SqlResult<_>>()?)
            }
            Expr::Function(function) if is_marked(function, EMPTY_SET) => GroupingSet::Simple(Vec::new()),
            Expr::Nested(inner) => self.element(inner, grouping)?,
            other => GroupingSet::Simple(vec![self.key(other, grouping)?]),
        })
    }

    fn lists(&mut self, lists: &[Vec<Expr>], grouping: &mut Grouping) -> SqlResult<Vec<Vec<usize>>> {
        let mut all = Vec::with_capacity(lists.len());
        for list in lists {
            all.push(match list.as_slice() {
                [Expr::Tuple(items)] => self.keys(items, grouping)?,
                items => self.keys(items, grouping)?,
            });
        }
        Ok(all)
    }

    fn keys(&mut self, items: &[Expr], grouping: &mut Grouping) -> SqlResult<Vec<usize>> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let named = match item {
                Expr::Tuple(items) if !items.is_empty() => self.keys(items, grouping)?,
                item => vec![self.key(item, grouping)?],
            };
            for key in named {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        Ok(keys)
    }

    fn key(&mut self, expr: &Expr, grouping: &mut Grouping) -> SqlResult<usize> {
        let target = self.find_target(expr, Usage::GroupBy, Names::OfResults)?;
        if !grouping.keys.contains(&target) {
            self.type_target(target)?;
            self.check_told_apart(target, Place::start(expr.span()))?;
            grouping.keys.push(target);
        }
        Ok(target)
    }
}

/// What stands before the elements for DISTINCT, which the parser does not read.
pub const DISTINCT_SETS: &str = "distinct#sets";
/// What stands for GROUPING SETS and for `()` inside of GROUPING SETS, where the parser reads neither.
pub const GROUPING_SETS: &str = "grouping#sets";
pub const EMPTY_SET: &str = "empty#set";

fn is_marked(function: &Function, mark: &str) -> bool {
    let name = function.name.0.first().and_then(ObjectNamePart::as_ident);
    name.is_some_and(|name| is_mark(name, mark))
}

fn is_called(function: &Function, name: &str) -> bool {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(name),
        _ => false,
    }
}

pub(crate) fn row_items(function: &Function) -> Vec<Expr> {
    arguments(function).into_iter().flatten().collect()
}

fn arguments(function: &Function) -> Vec<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let plain = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(vec![expr.clone()]),
        _ => None,
    });
    plain.collect()
}

fn check_size(context: Context<'_>, sets: &[GroupingSet], elements: &[Expr]) -> SqlResult<()> {
    let first = elements.iter().find(|element| matches!(element, Expr::Cube(_) | Expr::GroupingSets(_)));
    let place = || first.map_or(Place::NOWHERE, |first| context.before(Place::start(first.span()), &["CUBE"]));
    let mut count = 1_usize;
    for set in sets {
        count = count.saturating_mul(size_of(set, &place)?);
    }
    if count > MOST_SETS {
        let message = format!("too many grouping sets present (maximum {MOST_SETS})");
        return Err(SqlError::new(ErrorKind::TooComplex, message));
    }
    Ok(())
}

fn size_of(set: &GroupingSet, place: &dyn Fn() -> Place) -> SqlResult<usize> {
    Ok(match set {
        GroupingSet::Simple(_) => 1,
        GroupingSet::Rollup(lists) => lists.len() + 1,
        GroupingSet::Cube(lists) if lists.len() > MOST_OF_CUBE => {
            let message = format!("CUBE is limited to {MOST_OF_CUBE} elements");
            return Err(SqlError::new(ErrorKind::TooManyColumns, message).at_place(place()));
        }
        GroupingSet::Cube(lists) => 1 << lists.len(),
        GroupingSet::Sets(sets) => {
            let mut count = 0_usize;
            for set in sets {
                count = count.saturating_add(size_of(set, place)?);
            }
            count
        }
    })
}

impl Grouping {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.sets.is_empty()
    }

    /// The keys that each set has.
    pub(super) fn common_keys(&self) -> Vec<usize> {
        match self.sets.as_slice() {
            [] => self.keys.clone(),
            sets => sets.iter().flat_map(common_of).collect(),
        }
    }

    /// The sets one by one: each of one element with each of the others.
    pub fn expanded(&self) -> Vec<Vec<usize>> {
        if self.sets.is_empty() {
            return vec![self.keys.clone()];
        }
        let mut all = vec![Vec::new()];
        for element in &self.sets {
            let next = expanded_of(element);
            let with = |known: &Vec<usize>| {
                let known = known.clone();
                next.iter()
                    .map(move |set| {
                        let mut joined = known.clone();
                        joined.extend(set.iter().filter(|key| !known.contains(key)));
                        joined
                    })
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        if self.is_distinct {
            let mut seen: Vec<Vec<usize>> = Vec::new();
            all.retain(|set| {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                let is_new = !seen.contains(&sorted);
                seen.push(sorted);
                is_new
            });
        }
        all
    }
}

fn common_of(set: &GroupingSet) -> Vec<usize> {
    match set {
        GroupingSet::Simple(keys) => keys.clone(),
        GroupingSet::Rollup(_) | GroupingSet::Cube(_) => Vec::new(),
        GroupingSet::Sets(sets) => {
            let mut each = sets.iter().map(common_of);
            let first = each.next().unwrap_or_default();
            each.fold(first, |known, next| known.into_iter().filter(|key| next.contains(key)).collect())
        }
    }
}

fn expanded_of(set: &GroupingSet) -> Vec<Vec<usize>> {
    match set {
        GroupingSet::Simple(keys) => vec![keys.clone()],
        GroupingSet::Rollup(lists) => (0..=lists.len()).rev().map(|count| lists[..count].concat()).collect(),
        GroupingSet::Cube(lists) => {
            let count = lists.len();
            let has = |bits: usize, at: usize| bits >> (count - 1 - at) & 1 == 1;
            let set = |bits: usize| (0..count).filter(|at| has(bits, *at)).flat_map(|at| lists[at].clone()).collect();
            (0..1_usize << count).rev().map(set).collect()
        }
        GroupingSet::Sets(sets) => sets.iter().flat_map(expanded_of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_each_of_one_element_with_each_of_the_others() {
        let rollup = GroupingSet::Rollup(vec![vec![0], vec![1]]);
        let grouping = |sets| Grouping { keys: vec![0, 1, 2], sets, ..Grouping::default() };
        assert_eq!(grouping(vec![rollup.clone()]).expanded(), [vec![0, 1], vec![0], vec![]]);
        let with_key = grouping(vec![GroupingSet::Simple(vec![2]), rollup]);
        assert_eq!(with_key.expanded(), [vec![2, 0, 1], vec![2, 0], vec![2]]);
        assert_eq!(with_key.common_keys(), [2]);
        let cube = grouping(vec![GroupingSet::Cube(vec![vec![0], vec![1]])]);
        assert_eq!(cube.expanded(), [vec![0, 1], vec![0], vec![1], vec![]]);
    }
}
