//! For which keys a predicate may be true, false or null.
//!
//! Each of the three sets may be too large, never too small. What lies in one and outside the two others is decided
//! without reading a row.

use datafusion::common::ScalarValue;
use tablegate_store::model::{Cut, Span};
use tablegate_store::table::predicate::CompareOp;
use tablegate_types::key_codec::{KeyCodec, Located};
use tablegate_types::key_set::KeySet;

use super::predicate::KeyPredicate;

/// The keys for which a predicate may have each outcome.
#[derive(Debug, Clone)]
pub(super) struct Outcomes {
    pub yes: KeySet,
    pub no: KeySet,
    pub null: KeySet,
}

/// A predicate with its outcomes, and those of its parts.
#[derive(Debug)]
pub(super) struct Analyzed {
    pub outcomes: Outcomes,
    pub shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    And(Vec<Analyzed>),
    Or(Vec<Analyzed>),
    Not(Box<Analyzed>),
    /// The expression with this number.
    Source(usize),
    /// Nothing to evaluate: a constant, or inside of a source.
    Leaf,
}

pub(super) fn analyze(codec: &KeyCodec, predicate: &KeyPredicate) -> Analyzed {
    let leaf = |outcomes| Analyzed { outcomes, shape: Shape::Leaf };
    match predicate {
        KeyPredicate::Literal(value) => leaf(Outcomes::constant(*value)),
        KeyPredicate::Compare { column, op, value } => leaf(compared(codec, *column, *op, value)),
        KeyPredicate::InList { column, values } => leaf(listed(codec, *column, values)),
        KeyPredicate::Prefix { column, prefix, exact } => leaf(prefixed(codec, *column, prefix, *exact)),
        KeyPredicate::Other { may_be_null } => leaf(Outcomes::unknown(*may_be_null)),
        KeyPredicate::And(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| analyze(codec, part)).collect();
            Analyzed { outcomes: all_of(&parts, false), shape: Shape::And(parts) }
        }
        KeyPredicate::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| analyze(codec, part)).collect();
            Analyzed { outcomes: all_of(&parts, true).negated(), shape: Shape::Or(parts) }
        }
        KeyPredicate::Not(inner) => {
            let inner = analyze(codec, inner);
            Analyzed { outcomes: inner.outcomes.clone().negated(), shape: Shape::Not(Box::new(inner)) }
        }
        KeyPredicate::Is { inner, outcome } => leaf(analyze(codec, inner).outcomes.is(*outcome)),
        KeyPredicate::OneOf(branches) => {
            let outcomes: Vec<_> = branches.iter().map(|branch| analyze(codec, branch).outcomes).collect();
            let union = |set: fn(&Outcomes) -> &KeySet| KeySet::union_all(outcomes.iter().map(set).cloned().collect());
            leaf(Outcomes { yes: union(|o| &o.yes), no: union(|o| &o.no), null: union(|o| &o.null) })
        }
        KeyPredicate::Sourced { inner, source } => {
            Analyzed { outcomes: analyze(codec, inner).outcomes, shape: Shape::Source(*source) }
        }
    }
}

impl Outcomes {
    fn constant(value: Option<bool>) -> Self {
        let when = |wanted| if value == wanted { KeySet::All } else { KeySet::None };
        Self { yes: when(Some(true)), no: when(Some(false)), null: when(None) }
    }

    fn unknown(may_be_null: bool) -> Self {
        Self { yes: KeySet::All, no: KeySet::All, null: if may_be_null { KeySet::All } else { KeySet::None } }
    }

    /// True for exactly these keys, false for the others.
    fn exactly(keys: KeySet) -> Self {
        Self { no: keys.complement(), yes: keys, null: KeySet::None }
    }

    fn negated(self) -> Self {
        Self { yes: self.no, no: self.yes, null: self.null }
    }

    /// Whether the predicate has this outcome, which is never null.
    fn is(self, outcome: Option<bool>) -> Self {
        let (yes, a, b) = match outcome {
            Some(true) => (self.yes, self.no, self.null),
            Some(false) => (self.no, self.yes, self.null),
            None => (self.null, self.yes, self.no),
        };
        Self { yes, no: a.union(&b), null: KeySet::None }
    }
}

/// The outcomes of AND. `dual`: of AND over the negated parts, so that its negation is OR.
fn all_of(parts: &[Analyzed], dual: bool) -> Outcomes {
    let yes = |o: &Outcomes| if dual { o.no.clone() } else { o.yes.clone() };
    let no = |o: &Outcomes| if dual { o.yes.clone() } else { o.no.clone() };
    let each = |set: &dyn Fn(&Outcomes) -> KeySet| parts.iter().map(|p| set(&p.outcomes)).collect::<Vec<_>>();
    // Null: some part may be null, and every part may be something other than false.
    let some_null = KeySet::union_all(each(&|o| o.null.clone()));
    let null = if some_null.is_none() {
        KeySet::None
    } else {
        some_null.intersect(&KeySet::intersect_all(each(&|o| yes(o).union(&o.null))))
    };
    Outcomes { yes: KeySet::intersect_all(each(&yes)), no: KeySet::union_all(each(&no)), null }
}

fn compared(codec: &KeyCodec, column: usize, op: CompareOp, value: &ScalarValue) -> Outcomes {
    let Some(located) = codec.locate(column, value) else { return Outcomes::unknown(true) };
    let descending = codec.columns().get(column).is_some_and(|c| c.descending);
    // In key order; DESC turns the comparison round.
    let below = |or_equal: bool| {
        let to = match &located {
            Located::At(part) if or_equal => Cut::After(part.clone()),
            Located::At(part) => Cut::Before(part.clone()),
            Located::Gap(cut) => cut.clone(),
        };
        KeySet::on_axis(column, vec![Span { from: Cut::Min, to }])
    };
    let point = || match &located {
        Located::At(part) => KeySet::on_axis(column, vec![Span::point(part.clone())]),
        Located::Gap(_) => KeySet::None,
    };
    Outcomes::exactly(match (op, descending) {
        (CompareOp::Eq, _) => point(),
        (CompareOp::NotEq, _) => point().complement(),
        (CompareOp::Lt, false) => below(false),
        (CompareOp::LtEq, false) => below(true),
        (CompareOp::Gt, false) => below(true).complement(),
        (CompareOp::GtEq, false) => below(false).complement(),
        (CompareOp::Lt, true) => below(true).complement(),
        (CompareOp::LtEq, true) => below(false).complement(),
        (CompareOp::Gt, true) => below(false),
        (CompareOp::GtEq, true) => below(true),
    })
}

fn listed(codec: &KeyCodec, column: usize, values: &[ScalarValue]) -> Outcomes {
    let mut points = Vec::with_capacity(values.len());
    let mut has_null = false;
    for value in values {
        if value.is_null() {
            has_null = true;
            continue;
        }
        match codec.locate(column, value) {
            Some(Located::At(part)) => points.push(Span::point(part)),
            Some(Located::Gap(_)) => {}
            None => return Outcomes::unknown(true),
        }
    }
    let decided = Outcomes::exactly(KeySet::on_axis(column, points));
    // What is not in a list with a NULL might be.
    if has_null { Outcomes { null: decided.no, no: KeySet::None, ..decided } } else { decided }
}

fn prefixed(codec: &KeyCodec, column: usize, prefix: &str, exact: bool) -> Outcomes {
    let Some(span) = codec.locate_prefix(column, prefix) else { return Outcomes::unknown(true) };
    let decided = Outcomes::exactly(KeySet::on_axis(column, vec![span]));
    if exact { decided } else { Outcomes { no: KeySet::All, ..decided } }
}
