//! Key ranges as requests: points, and `$filter` expressions over PartitionKey and RowKey, with what else is asked.
//!
//! The service compares keys by their UTF-16 units; here they are ordered by their UTF-8 bytes. The two agree but for
//! characters beyond U+D7FF. A bound that has one is widened to the part of the text before it. The reader checks each
//! key against its range, so a filter may be too wide, but must never be too narrow.

use std::sync::Arc;

use tablegate_store::model::limits::FILTER_COMPARISONS_MAX;
use tablegate_store::model::{Cut, EntityKey, Span};
use tablegate_store::table::KeyRange;

use super::property_filter::PropertyFilter;

/// Two comparisons are for the PartitionKey, and two for each of these.
const ROW_SPANS_MAX: usize = (FILTER_COMPARISONS_MAX - 2) / 2;
/// The last character before those that UTF-16 orders differently.
const LAST_AGREED: char = '\u{d7ff}';

/// One step of a scan, in key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Point(EntityKey),
    Query(Query),
}

/// Entities that a filter finds, as far as they are in the range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    /// Where the keys lie; None for the whole table.
    pub keys: Option<String>,
    /// What is asked of other values.
    pub values: Option<String>,
    pub range: KeyRange,
}

impl Query {
    /// The whole `$filter`.
    pub(super) fn filter(&self) -> Option<String> {
        match (&self.keys, &self.values) {
            (Some(keys), Some(values)) => Some(format!("{keys} and {values}")),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        }
    }
}

/// The steps that read one range, as far as the values pass. A range that can hold no key has none.
pub(super) fn steps(range: &KeyRange, values: &PropertyFilter) -> Vec<Step> {
    let rows = || range.rows.iter().filter(|span| !span.is_empty());
    if range.partitions.is_empty() {
        return Vec::new();
    }
    let Some(partition) = range.partitions.as_point() else {
        let spans: Vec<&Span> = rows().collect();
        return query(range.clone(), &spans, values).into_iter().map(Step::Query).collect();
    };
    rows().filter_map(|span| in_partition(partition, &range.partitions, span, values)).collect()
}

fn in_partition(partition: &Arc<str>, partitions: &Span, rows: &Span, values: &PropertyFilter) -> Option<Step> {
    match rows.as_point() {
        // What cannot be a key is not there.
        Some(row) => EntityKey::parse(partition, row).ok().map(Step::Point),
        None => {
            let range = KeyRange { partitions: partitions.clone(), rows: Arc::new([rows.clone()]) };
            query(range, &[rows], values).map(Step::Query)
        }
    }
}

fn query(range: KeyRange, rows: &[&Span], values: &PropertyFilter) -> Option<Query> {
    let (first, last) = (rows.first()?, rows.last()?);
    let whole = Span { from: first.from.clone(), to: last.to.clone() };
    let rows: Vec<Vec<String>> = if rows.len() <= ROW_SPANS_MAX {
        rows.iter().map(|span| comparisons("RowKey", span)).collect()
    } else {
        vec![comparisons("RowKey", &whole)]
    };
    let mut conditions = comparisons("PartitionKey", &range.partitions);
    let mut count = conditions.len();
    // Where one of the spans is everything, so are all together.
    if !rows.iter().any(Vec::is_empty) {
        count += rows.iter().map(Vec::len).sum::<usize>();
        match rows.as_slice() {
            [one] => conditions.extend_from_slice(one),
            several => {
                let several: Vec<String> = several.iter().map(|rows| format!("({})", rows.join(" and "))).collect();
                conditions.push(format!("({})", several.join(" or ")));
            }
        }
    }
    let keys = (!conditions.is_empty()).then(|| conditions.join(" and "));
    Some(Query { keys, values: values.beside(count), range })
}

/// The span as comparisons of a key; none for no bounds.
fn comparisons(key: &str, span: &Span) -> Vec<String> {
    if let Some(point) = span.as_point().filter(|point| is_agreed(point)) {
        return vec![format!("{key} eq {}", literal(point))];
    }
    let bounds = [lower(&span.from), upper(&span.to)];
    bounds.into_iter().flatten().map(|(operator, at)| format!("{key} {operator} {}", literal(&at))).collect()
}

pub(super) type Bound = (&'static str, String);

/// The comparison that lets through what is behind a cut; `None` where that is everything.
pub(super) fn lower(cut: &Cut) -> Option<Bound> {
    let (operator, at) = match cut {
        Cut::Min | Cut::Max => return None,
        Cut::Before(at) | Cut::After(at) | Cut::AfterPrefix(at) if !is_agreed(at) => ("ge", agreed(at).to_owned()),
        Cut::Before(at) => ("ge", at.to_string()),
        Cut::After(at) => ("gt", at.to_string()),
        // Behind a prefix that ends in the last agreed character come those that the orders disagree about.
        Cut::AfterPrefix(prefix) if prefix.ends_with(LAST_AGREED) => ("ge", prefix.to_string()),
        Cut::AfterPrefix(prefix) => ("ge", behind_prefix(prefix).unwrap_or_else(|| prefix.to_string())),
    };
    // Nothing is before the empty text.
    ((operator, at.as_str()) != ("ge", "")).then_some((operator, at))
}

/// The comparison that lets through what is before a cut; `None` where that is everything.
pub(super) fn upper(cut: &Cut) -> Option<Bound> {
    match cut {
        Cut::Min | Cut::Max => None,
        Cut::Before(at) | Cut::After(at) | Cut::AfterPrefix(at) if !is_agreed(at) => {
            behind_prefix(agreed(at)).map(|behind| ("lt", behind))
        }
        Cut::Before(at) => Some(("lt", at.to_string())),
        Cut::After(at) => Some(("le", at.to_string())),
        Cut::AfterPrefix(prefix) => behind_prefix(prefix).map(|behind| ("lt", behind)),
    }
}

/// Whether both orders put the text at one place.
fn is_agreed(text: &str) -> bool {
    text.chars().all(|c| c <= LAST_AGREED)
}

/// The part of the text before the first character that the orders disagree about.
fn agreed(text: &str) -> &str {
    let end = text.find(|c| c > LAST_AGREED).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// The first text behind all that start with an agreed prefix; `None` when there is none that both orders agree about.
fn behind_prefix(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = char::from_u32(u32::from(last) + 1).filter(|next| *next <= LAST_AGREED);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filters(partitions: Span, rows: impl IntoIterator<Item = Span>) -> Vec<String> {
        let range = KeyRange { partitions, rows: rows.into_iter().collect() };
        let text = |step| match step {
            Step::Point(key) => format!("get {key}"),
            Step::Query(query) => query.filter().unwrap_or_default(),
        };
        steps(&range, &PropertyFilter::default()).into_iter().map(text).collect()
    }

    fn between(from: Cut, to: Cut) -> Span {
        Span { from, to }
    }

    #[test]
    fn ranges_become_points_and_filters() {
        let cases = [
            (Span::ALL, vec![Span::ALL], vec![""]),
            (Span::point("p"), vec![Span::ALL], vec!["PartitionKey eq 'p'"]),
            (
                Span::point("o'p"),
                vec![Span::point("a"), Span::prefix("b")],
                vec![
                    "get (PartitionKey=\"o'p\", RowKey=\"a\")",
                    "PartitionKey eq 'o''p' and RowKey ge 'b' and RowKey lt 'c'",
                ],
            ),
            (
                between(Cut::After("a".into()), Cut::Before("b".into())),
                vec![Span::point("x"), Span::point("y")],
                vec!["PartitionKey gt 'a' and PartitionKey lt 'b' and ((RowKey eq 'x') or (RowKey eq 'y'))"],
            ),
            (Span::ALL, vec![], vec![]),
            (Span::point("a/b"), vec![Span::point("x")], vec![]),
            (between(Cut::Before("b".into()), Cut::Before("a".into())), vec![Span::ALL], vec![]),
            (Span::prefix("a\u{d7ff}"), vec![Span::ALL], vec!["PartitionKey ge 'a\u{d7ff}' and PartitionKey lt 'b'"]),
            (Span::prefix("a😀"), vec![Span::ALL], vec!["PartitionKey ge 'a' and PartitionKey lt 'b'"]),
        ];
        for (partitions, rows, expected) in cases {
            assert_eq!(filters(partitions.clone(), rows.clone()), expected, "{partitions:?} {rows:?}");
        }
    }

    #[test]
    fn a_filter_has_at_most_fifteen_comparisons() {
        for spans in [1, 6, 7, 100] {
            let rows = (0..spans).map(|i| Span::prefix(format!("{i:03}")));
            let filter = filters(between(Cut::Before("a".into()), Cut::Before("b".into())), rows).pop().unwrap();
            assert!(filter.matches("Key ").count() <= 15, "{filter}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        "[ab\u{d7ff}\u{e000}😀]{0,3}"
    }

    fn cut() -> impl Strategy<Value = Cut> {
        prop_oneof![
            Just(Cut::Min),
            Just(Cut::Max),
            text().prop_map(|t| Cut::Before(t.into())),
            text().prop_map(|t| Cut::After(t.into())),
            text().prop_map(|t| Cut::AfterPrefix(t.into())),
        ]
    }

    proptest! {
        /// As the service would evaluate it, a bound lets everything through that lies in the span.
        #[test]
        fn no_bound_is_too_narrow(from in cut(), to in cut(), text in text()) {
            let span = Span { from, to };
            let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
            let holds = |(operator, at): Bound| match operator {
                "ge" => units(&text) >= units(&at),
                "gt" => units(&text) > units(&at),
                "le" => units(&text) <= units(&at),
                _ => units(&text) < units(&at),
            };
            if span.contains(&text) {
                prop_assert!(lower(&span.from).is_none_or(holds), "{:?}", lower(&span.from));
                prop_assert!(upper(&span.to).is_none_or(holds), "{:?}", upper(&span.to));
            }
        }
    }
}
