//! UNION, INTERSECT and EXCEPT: PostgreSQL's `get_setop_query`.

use tablegate_types::stack::deeper;

use super::query::{INDENT, QueryPrinter, Shown};
use crate::query::bound::{RangeSource, SetOperator, SetTree};

impl QueryPrinter<'_> {
    pub(super) fn set(&mut self, tree: &SetTree, shown: Shown<'_>) {
        match tree {
            SetTree::Member(entry) => self.member(*entry, shown),
            SetTree::Node { operator, all, parts, .. } => {
                for (at, part) in parts.iter().enumerate() {
                    match at {
                        0 => self.first_of_set(part, (*operator, *all), shown),
                        _ => self.next_of_set(part, (*operator, *all), shown),
                    }
                }
            }
        }
    }

    fn first_of_set(&mut self, part: &SetTree, (operator, all): (SetOperator, bool), shown: Shown<'_>) {
        let in_parentheses = match part {
            SetTree::Member(_) => false,
            SetTree::Node { operator: of, all: is_all, .. } => (*of, *is_all) != (operator, all),
        };
        if in_parentheses {
            self.out.push("(");
            self.out.indent += INDENT;
            self.out.line("");
        }
        deeper(|| self.set(part, shown));
        if in_parentheses {
            self.out.indent -= INDENT;
            self.out.line(") ");
        }
    }

    fn next_of_set(&mut self, part: &SetTree, (operator, all): (SetOperator, bool), shown: Shown<'_>) {
        if !self.out.text.ends_with(") ") {
            self.out.line("");
        }
        self.out.push(operator.spelled());
        self.out.push(if all { " ALL " } else { " " });
        let in_parentheses = matches!(part, SetTree::Node { .. });
        if in_parentheses {
            self.out.push("(");
            self.out.indent += INDENT;
        }
        self.out.line("");
        deeper(|| self.set(part, Shown { are_visible: false, ..shown }));
        if in_parentheses {
            self.out.indent -= INDENT;
            self.out.line(")");
        }
    }

    fn member(&mut self, entry: usize, shown: Shown<'_>) {
        let Some(RangeSource::SubQuery(query)) = self.level.query.range.get(entry).map(|entry| &entry.source) else {
            return;
        };
        let in_parentheses = !query.with.is_empty()
            || !query.order.is_empty()
            || !query.row_marks.is_empty()
            || query.offset.is_some()
            || query.limit.is_some()
            || query.set.is_some();
        self.out.push(if in_parentheses { "(" } else { "" });
        self.inner(query, shown);
        self.out.push(if in_parentheses { ")" } else { "" });
    }
}
