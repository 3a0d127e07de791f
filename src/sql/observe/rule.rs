//! The rules of entity group transactions, and which of them a transaction has broken.

use std::sync::Arc;

use tablegate_store::model::limits::{EGT_MAX_BYTES, EGT_MAX_OPERATIONS};

use super::SeenStatement;

/// One rule that a transaction can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// It writes to a second table.
    SecondTable,
    /// It writes to a second PartitionKey.
    SecondPartition,
    /// It writes more than 100 entities.
    TooManyEntities,
    /// Its payload would be 4 MiB or more.
    TooLarge,
    /// An UPDATE of key columns moves a row to another partition.
    MovedRow,
}

impl Rule {
    pub(crate) const ALL: [Rule; 5] =
        [Rule::SecondTable, Rule::SecondPartition, Rule::TooManyEntities, Rule::TooLarge, Rule::MovedRow];

    /// As the view `egt_violations` and the WARNING name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rule::SecondTable => "second table",
            Rule::SecondPartition => "second partition",
            Rule::TooManyEntities => "more than 100 entities",
            Rule::TooLarge => "4 MiB or more",
            Rule::MovedRow => "row moved to another partition",
        }
    }
}

/// What the rules about size ask.
pub(crate) fn broken_by_size(entities: usize, bytes: usize) -> impl Iterator<Item = Rule> {
    let rules = [(Rule::TooManyEntities, entities > EGT_MAX_OPERATIONS), (Rule::TooLarge, bytes >= EGT_MAX_BYTES)];
    rules.into_iter().filter(|(_, broken)| *broken).map(|(rule, _)| rule)
}

/// A rule, and the statement that broke it first.
#[derive(Debug, Clone)]
pub(crate) struct Breach {
    pub rule: Rule,
    pub statement: Arc<SeenStatement>,
}

/// What observe mode has seen of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    breaches: Vec<Breach>,
    /// The writing statements, each shape once, in the order of their first run.
    statements: Vec<Arc<SeenStatement>>,
}

impl Observed {
    /// Notes that a statement of the transaction writes.
    pub(crate) fn see(&mut self, statement: &Arc<SeenStatement>) {
        if !self.statements.iter().any(|seen| Arc::ptr_eq(seen, statement) || seen.shape() == statement.shape()) {
            self.statements.push(Arc::clone(statement));
        }
    }

    /// Notes that the statement breaks the rule, unless an earlier one did.
    pub(crate) fn broke(&mut self, rule: Rule, statement: &Arc<SeenStatement>) {
        if !self.breaches.iter().any(|breach| breach.rule == rule) {
            self.breaches.push(Breach { rule, statement: Arc::clone(statement) });
        }
    }

    /// Whether nothing was seen.
    pub(crate) fn is_untouched(&self) -> bool {
        self.breaches.is_empty() && self.statements.is_empty()
    }

    /// The writing statements, each shape once, in the order of their first run.
    pub(crate) fn statements(&self) -> &[Arc<SeenStatement>] {
        &self.statements
    }

    /// In the order they were broken.
    pub(crate) fn breaches(&self) -> &[Breach] {
        &self.breaches
    }

    /// Goes back to a savepoint: what was broken since is forgotten.
    pub(crate) fn forget_breaches_after(&mut self, count: usize) {
        self.breaches.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_its_place() {
        for (place, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(rule as usize, place, "{}", rule.name());
        }
    }

    #[test]
    fn names_say_the_limits_that_hold() {
        assert!(Rule::TooManyEntities.name().contains(&EGT_MAX_OPERATIONS.to_string()));
        assert_eq!(Rule::TooLarge.name(), format!("{} MiB or more", EGT_MAX_BYTES >> 20));
    }

    #[test]
    fn a_hundred_entities_are_within_the_rules_and_four_mebibytes_are_not() {
        let broken = |entities, bytes| broken_by_size(entities, bytes).collect::<Vec<_>>();
        assert!(broken(100, 4 * 1024 * 1024 - 1).is_empty());
        assert!(matches!(broken(101, 0).as_slice(), [Rule::TooManyEntities]));
        assert!(matches!(broken(1, 4 * 1024 * 1024).as_slice(), [Rule::TooLarge]));
        assert!(matches!(broken(101, 4 * 1024 * 1024).as_slice(), [Rule::TooManyEntities, Rule::TooLarge]));
    }

    #[test]
    fn a_rule_is_broken_once_by_the_first_statement() {
        let (first, second) = (Arc::new(SeenStatement::new("A")), Arc::new(SeenStatement::new("B")));
        let mut observed = Observed::default();
        observed.broke(Rule::SecondTable, &first);
        observed.broke(Rule::SecondTable, &second);
        observed.broke(Rule::SecondPartition, &second);
        let told: Vec<_> = observed.breaches().iter().map(|b| (b.rule, b.statement.text())).collect();
        assert_eq!(told, [(Rule::SecondTable, "A"), (Rule::SecondPartition, "B")]);
        observed.forget_breaches_after(1);
        assert_eq!(observed.breaches().len(), 1);
    }
}
