//! Clauses behind FROM: GROUP BY, WINDOW, ORDER BY and LIMIT.

use tablegate_types::quoting::quote_ident;

use super::over_rows::direction;
use super::query::QueryPrinter;
use crate::query::bound::{BoundWindow, Frame, FrameBound, FrameExclusion, FrameUnit, Grouping, GroupingSet, SortItem};

impl QueryPrinter<'_> {
    /// A target that is sorted or grouped by.
    fn sorted_target(&mut self, target: usize) {
        if let Some(target) = self.level.query.targets.get(target) {
            self.out.sorted(&target.expr);
        }
    }

    pub(super) fn sorted_targets(&mut self, targets: &[usize]) {
        self.listed(targets, &mut |printer, target| printer.sorted_target(*target));
    }

    /// What is sorted by: of a set operation the numbers of its results.
    pub(super) fn order(&mut self, items: &[SortItem], by_number: bool) {
        self.listed(items, &mut |printer, item| {
            if by_number {
                printer.out.push(&(item.target + 1).to_string());
            } else {
                printer.sorted_target(item.target);
            }
            printer.out.push(direction(item.descending, item.nulls_first));
        });
    }

    pub(super) fn grouping(&mut self, grouping: &Grouping) {
        if grouping.is_empty() {
            return;
        }
        self.clause(" GROUP BY ", 1);
        self.out.push(if grouping.is_distinct { "DISTINCT " } else { "" });
        // An empty set beside others says nothing.
        let is_empty = |set: &GroupingSet| matches!(set, GroupingSet::Simple(keys) if keys.is_empty());
        let sets: Vec<&GroupingSet> = grouping.sets.iter().filter(|set| !is_empty(set)).collect();
        match (sets.as_slice(), grouping.keys.is_empty()) {
            ([], true) => self.out.push("()"),
            ([], false) => self.sorted_targets(&grouping.keys),
            (sets, _) => self.listed(sets, &mut |printer, set| printer.grouping_set(set, true)),
        }
    }

    /// PostgreSQL's `get_rule_groupingset`.
    fn grouping_set(&mut self, set: &GroupingSet, is_bare: bool) {
        match set {
            GroupingSet::Simple(keys) => self.keys(keys, is_bare),
            GroupingSet::Rollup(lists) | GroupingSet::Cube(lists) => {
                self.out.push(if matches!(set, GroupingSet::Rollup(_)) { "ROLLUP(" } else { "CUBE(" });
                self.listed(lists, &mut |printer, keys| printer.keys(keys, true));
                self.out.push(")");
            }
            GroupingSet::Sets(sets) => {
                self.out.push("GROUPING SETS (");
                let mut flat = Vec::new();
                add_sets(sets, &mut flat);
                self.listed(flat, &mut |printer, set| printer.grouping_set(set, false));
                self.out.push(")");
            }
        }
    }

    fn keys(&mut self, keys: &[usize], is_bare: bool) {
        let in_parentheses = !is_bare || keys.len() != 1;
        self.out.push(if in_parentheses { "(" } else { "" });
        self.sorted_targets(keys);
        self.out.push(if in_parentheses { ")" } else { "" });
    }

    pub(super) fn windows(&mut self, windows: &[BoundWindow]) {
        let mut is_first = true;
        for window in windows {
            let Some(name) = &window.name else { continue };
            if std::mem::take(&mut is_first) {
                self.clause(" WINDOW ", 1);
            } else {
                self.out.push(", ");
            }
            self.out.push(&format!("{} AS ", quote_ident(name)));
            self.window(window);
        }
    }

    /// A window's definition. What it has from another one is not said again.
    pub(super) fn window(&mut self, window: &BoundWindow) {
        self.out.push("(");
        if let Some(name) = &window.inherits {
            self.out.push(&quote_ident(name));
        } else if !window.partition.is_empty() {
            self.word_of_window("PARTITION BY ");
            self.sorted_targets(&window.partition);
        }
        let base = self.level.query.windows.iter().find(|other| other.name.is_some() && other.name == window.inherits);
        if !window.order.is_empty() && base.is_none_or(|base| base.order.is_empty()) {
            self.word_of_window("ORDER BY ");
            self.order(&window.order, false);
        }
        if let Some(frame) = &window.frame {
            self.word_of_window("");
            self.frame(frame);
        }
        self.out.push(")");
    }

    fn word_of_window(&mut self, word: &str) {
        if !self.out.text.ends_with('(') {
            self.out.push(" ");
        }
        self.out.push(word);
    }

    fn frame(&mut self, frame: &Frame) {
        self.out.push(match frame.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        });
        if frame.is_between {
            self.out.push("BETWEEN ");
        }
        self.frame_bound(&frame.start);
        if frame.is_between {
            self.out.push(" AND ");
            self.frame_bound(&frame.end);
        }
        self.out.push(match frame.exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        });
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
            self.out.expr(offset, false);
        }
        self.out.push(match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING",
            FrameBound::Preceding(_) => " PRECEDING",
            FrameBound::CurrentRow => "CURRENT ROW",
            FrameBound::Following(_) => " FOLLOWING",
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING",
        });
    }

    pub(super) fn limits(&mut self) {
        let query = self.level.query;
        if let Some(offset) = &query.offset {
            self.clause(" OFFSET ", 0);
            self.out.expr(offset, false);
        }
        match &query.limit {
            None => {}
            Some(limit) if query.with_ties => {
                self.clause(" FETCH FIRST ", 0);
                self.out.push("(");
                self.out.expr(limit, false);
                self.out.push(") ROWS WITH TIES");
            }
            Some(limit) => {
                self.clause(" LIMIT ", 0);
                if limit.is_null_literal() {
                    self.out.push("ALL");
                } else {
                    self.out.expr(limit, false);
                }
            }
        }
    }
}

/// Adds sets of keys; sets that are sets of them themselves are no others.
fn add_sets<'s>(sets: &'s [GroupingSet], flat: &mut Vec<&'s GroupingSet>) {
    for set in sets {
        match set {
            GroupingSet::Sets(inner) => add_sets(inner, flat),
            other => flat.push(other),
        }
    }
}
