//! Forms of queries that the planner does not take, turned into ones it takes, once their names are resolved.

pub(super) mod limits;
pub(super) mod rows;
pub(super) mod symmetric;
