//! Bounds as positions *between* strings.
//!
//! A [`Cut`] is a place on the ordered line of all strings, a [`Span`] is what lies between two cuts. There is no
//! inclusive or exclusive flag anywhere, and a prefix stays symbolic: nothing ever "increments" the last character of
//! a string into something that is not a string. Order is UTF-8 bytes, as `str` compares in Rust.

use std::cmp::Ordering;
use std::sync::Arc;

/// A position between strings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cut {
    /// Before every string.
    Min,
    /// Just before this string: it and all that follow are to the right.
    Before(Arc<str>),
    /// Just after this string: its own extensions are to the right.
    After(Arc<str>),
    /// Just after every string that starts with this one.
    AfterPrefix(Arc<str>),
    /// After every string.
    Max,
}

impl Cut {
    /// Whether `text` lies to the right of this cut.
    pub fn is_before(&self, text: &str) -> bool {
        match self {
            Cut::Min => true,
            Cut::Before(at) => text >= &**at,
            Cut::After(at) => text > &**at,
            Cut::AfterPrefix(prefix) => text > &**prefix && !text.starts_with(&**prefix),
            Cut::Max => false,
        }
    }
}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cut {
    fn cmp(&self, other: &Self) -> Ordering {
        use Cut::{After, AfterPrefix, Before, Max, Min};
        match (self, other) {
            (Min, Min) | (Max, Max) => Ordering::Equal,
            (Min, _) | (_, Max) => Ordering::Less,
            (_, Min) | (Max, _) => Ordering::Greater,
            (Before(a), Before(b)) | (After(a), After(b)) => a.cmp(b),
            (Before(a), After(b)) => a.cmp(b).then(Ordering::Less),
            (After(a), Before(b)) => a.cmp(b).then(Ordering::Greater),
            (AfterPrefix(a), Before(b) | After(b)) => prefix_against(a, b),
            (Before(a) | After(a), AfterPrefix(b)) => prefix_against(b, a).reverse(),
            (AfterPrefix(a), AfterPrefix(b)) => {
                // The shorter of two nested prefixes ends later.
                if b.starts_with(&**a) {
                    b.len().cmp(&a.len())
                } else if a.starts_with(&**b) {
                    Ordering::Less
                } else {
                    a.cmp(b)
                }
            }
        }
    }
}

/// Where "after every string with `prefix`" lies against a cut at `at`: never equal to it.
fn prefix_against(prefix: &str, at: &str) -> Ordering {
    if at.starts_with(prefix) { Ordering::Greater } else { prefix.cmp(at) }
}

/// The strings between two cuts. Empty when `from >= to`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Span {
    pub from: Cut,
    pub to: Cut,
}

impl Span {
    /// Every string.
    pub const ALL: Span = Span { from: Cut::Min, to: Cut::Max };

    /// Exactly one string.
    pub fn point(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Span { from: Cut::Before(text.clone()), to: Cut::After(text) }
    }

    /// Every string that starts with `prefix`.
    pub fn prefix(prefix: impl Into<Arc<str>>) -> Self {
        let prefix = prefix.into();
        Span { from: Cut::Before(prefix.clone()), to: Cut::AfterPrefix(prefix) }
    }

    /// The one string this span holds, if it is a point.
    pub fn as_point(&self) -> Option<&Arc<str>> {
        match (&self.from, &self.to) {
            (Cut::Before(a), Cut::After(b)) if a == b => Some(a),
            _ => None,
        }
    }

    pub fn contains(&self, text: &str) -> bool {
        self.from.is_before(text) && !self.to.is_before(text)
    }

    /// True when the cuts leave no room. A span can be non-empty by its cuts and still hold no string
    /// (`After("a")` to `Before("a\0")`): such a span costs a look-up, never a row.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    pub fn is_all(&self) -> bool {
        *self == Span::ALL
    }

    /// What lies in both.
    pub fn intersect(&self, other: &Span) -> Span {
        Span { from: self.from.clone().max(other.from.clone()), to: self.to.clone().min(other.to.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut() -> impl Strategy<Value = Cut> {
        let text = "[ab\u{7f}é]{0,3}".prop_map(|s: String| Arc::<str>::from(s));
        prop_oneof![
            Just(Cut::Min),
            Just(Cut::Max),
            text.clone().prop_map(Cut::Before),
            text.clone().prop_map(Cut::After),
            text.prop_map(Cut::AfterPrefix),
        ]
    }

    proptest! {
        #[test]
        fn order_of_cuts_agrees_with_what_lies_right_of_them(a in cut(), b in cut(), text in "[ab\u{7f}é]{0,4}") {
            if a <= b && b.is_before(&text) {
                prop_assert!(a.is_before(&text), "{a:?} <= {b:?}, but only {b:?} is before {text:?}");
            }
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        }

        #[test]
        fn order_of_cuts_is_transitive(a in cut(), b in cut(), c in cut()) {
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }

    #[test]
    fn a_prefix_span_holds_what_starts_with_it() {
        let span = Span::prefix("ab");
        assert!(span.contains("ab") && span.contains("ab\u{10ffff}\u{10ffff}"));
        assert!(!span.contains("a") && !span.contains("ac"));
    }
}
