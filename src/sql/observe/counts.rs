//! For each application and shape of its transactions, how many there were and how many fitted.

use serde::{Deserialize, Serialize};

use super::rule::Observed;
use super::seen::bounded;
use super::tally::Counted;
use super::violation::Outcome;

/// The shape of transactions that are not told apart.
const OTHERS: &str = "(others)";
/// Characters of a transaction's shape that are kept.
const SHAPE_MAX_CHARS: usize = 2_000;

/// The count of one application and shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub application_name: String,
    /// The shapes of the writing statements, each once, in the order of their first run.
    pub shape: String,
    /// Committed, and one EGT at every step.
    pub fitted: u64,
    /// Committed, atomically, although a rule was broken.
    pub violating: u64,
    /// Statements outside a block that ran as several EGTs.
    pub split: u64,
    pub rolled_back: u64,
    /// Microseconds since 1970.
    pub first_seen: i64,
    pub last_seen: i64,
}

impl Count {
    /// Of one transaction.
    pub(super) fn of(application: &str, observed: &Observed, outcome: Outcome, now: i64) -> Self {
        let shapes: Vec<&str> = observed.statements().iter().map(|statement| statement.shape()).collect();
        let mut count = Self {
            application_name: application.to_owned(),
            shape: bounded(&shapes.join("; "), SHAPE_MAX_CHARS),
            fitted: 0,
            violating: 0,
            split: 0,
            rolled_back: 0,
            first_seen: now,
            last_seen: now,
        };
        let counter = match outcome {
            Outcome::Committed if observed.breaches().is_empty() => &mut count.fitted,
            Outcome::Committed => &mut count.violating,
            Outcome::Split | Outcome::Torn => &mut count.split,
            Outcome::RolledBack => &mut count.rolled_back,
        };
        *counter = 1;
        count
    }

    pub(crate) fn transactions(&self) -> u64 {
        self.fitted + self.violating + self.split + self.rolled_back
    }
}

impl Counted for Count {
    const PARTITION: &'static str = "count1";

    fn kind(&self) -> String {
        format!("{}\0{}", self.application_name, self.shape)
    }

    fn of_others(self) -> Self {
        Self { application_name: String::new(), shape: OTHERS.to_owned(), ..self }
    }

    fn add(&mut self, other: &Self) {
        self.fitted += other.fitted;
        self.violating += other.violating;
        self.split += other.split;
        self.rolled_back += other.rolled_back;
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::observe::tally::Tally;
    use crate::observe::{Rule, SeenStatement};

    fn observed(text: &str, rule: Option<Rule>) -> Observed {
        let statement = Arc::new(SeenStatement::new(text));
        let mut observed = Observed::default();
        observed.see(&statement);
        if let Some(rule) = rule {
            observed.broke(rule, &statement);
        }
        observed
    }

    #[test]
    fn every_end_has_its_count() {
        let mut counts = Tally::default();
        let broken = || observed("DELETE FROM t WHERE a = 1", Some(Rule::SecondPartition));
        counts.count(Count::of("app", &observed("DELETE FROM t WHERE a = 2", None), Outcome::Committed, 1));
        counts.count(Count::of("app", &broken(), Outcome::Committed, 2));
        counts.count(Count::of("app", &broken(), Outcome::RolledBack, 3));
        counts.count(Count::of("app", &broken(), Outcome::Split, 4));
        counts.count(Count::of("app", &broken(), Outcome::Torn, 5));
        counts.count(Count::of("other", &observed("DELETE FROM t", None), Outcome::Committed, 6));
        let all = counts.all();
        let told: Vec<_> = all.iter().map(|c| (c.fitted, c.violating, c.split, c.rolled_back)).collect();
        assert_eq!(told, [(1, 1, 2, 1), (1, 0, 0, 0)]);
        assert_eq!((all[0].transactions(), all[0].first_seen, all[0].last_seen), (5, 1, 5));
        assert_eq!(all[0].shape, "delete from t where a = ?");
    }
}
