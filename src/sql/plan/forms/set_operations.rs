//! EXCEPT ALL and INTERSECT ALL: equal rows are numbered, and the numbered rows are then sets.

use datafusion::sql::sqlparser::ast::{Expr, SelectItem, SetExpr, SetOperator, SetQuantifier};

use super::build::{column, derived, from, item, over, query, query_of, select};

/// Turns a resolved EXCEPT ALL or INTERSECT ALL, given the columns of its two sides.
pub(in crate::sql::plan) fn number_rows(body: &mut SetExpr, left_columns: &[String], right_columns: &[String]) {
    let SetExpr::SetOperation { left, right, op, set_quantifier } = body else { return };
    if *set_quantifier != SetQuantifier::All || !matches!(op, SetOperator::Except | SetOperator::Intersect) {
        return;
    }
    let nothing = || Box::new(SetExpr::Select(Box::new(select(Vec::new(), Vec::new(), None))));
    let numbered = SetExpr::SetOperation {
        left: Box::new(numbered(std::mem::replace(left, nothing()), left_columns, left_columns)),
        right: Box::new(numbered(std::mem::replace(right, nothing()), right_columns, left_columns)),
        op: *op,
        set_quantifier: SetQuantifier::None,
    };
    const ROWS: &str = "rows#";
    let items: Vec<SelectItem> = left_columns.iter().map(|c| item(column(ROWS, c), c)).collect();
    *body = SetExpr::Select(Box::new(select(items, vec![from(derived(query(numbered), ROWS))], None)));
}

fn numbered(side: Box<SetExpr>, columns: &[String], labels: &[String]) -> SetExpr {
    const SIDE: &str = "side#";
    let values: Vec<Expr> = columns.iter().map(|c| column(SIDE, c)).collect();
    let mut items: Vec<SelectItem> = values.iter().zip(labels).map(|(v, label)| item(v.clone(), label)).collect();
    items.push(item(over("row_number", values, Vec::new()), "number#"));
    let select = select(items, vec![from(derived(query(*side), SIDE))], None);
    SetExpr::Query(Box::new(query_of(select)))
}
