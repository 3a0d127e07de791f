//! The one table of operators: `pg_operator`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::oids::Oid;
use super::rows::{cells, number};

/// One row of `pg_operator`.
#[derive(Debug, PartialEq, Eq)]
pub struct Operator {
    pub oid: Oid,
    pub name: &'static str,
    /// 0 for one that stands before its operand.
    pub left: Oid,
    pub right: Oid,
    pub result: Oid,
    pub function: Oid,
    pub negator: Oid,
    pub commutator: Oid,
}

static OPERATORS: LazyLock<HashMap<&'static str, Vec<Operator>>> = LazyLock::new(|| {
    let columns = ["oid", "oprname", "oprleft", "oprright", "oprresult", "oprcode", "oprnegate", "oprcom"];
    let mut by_name: HashMap<&'static str, Vec<Operator>> = HashMap::new();
    for [oid, name, rest @ ..] in cells("pg_operator", columns) {
        let [left, right, result, function, negator, commutator] = rest.map(number);
        let operator = Operator { oid: number(oid), name, left, right, result, function, negator, commutator };
        by_name.entry(name).or_default().push(operator);
    }
    by_name
});

/// The operators of a name.
pub(crate) fn named(name: &str) -> &'static [Operator] {
    OPERATORS.get(name).map_or(&[], Vec::as_slice)
}

impl Operator {
    pub fn is_prefix(&self) -> bool {
        self.left == 0
    }
}
