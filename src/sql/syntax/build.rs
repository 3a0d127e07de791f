//! Building pieces of syntax.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Expr, GroupByExpr, Ident, Query, Select, SelectFlavor, SelectItem, SetExpr, TableWithJoins};

use super::depth::SHORT_ROW;

/// An identifier that means exactly this.
pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// `expr AS "label"`
pub(crate) fn item(expr: Expr, label: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: quoted(label) }
}

/// Joins operands by an operator for which it makes no difference how they are grouped: a few from the left to the right,
/// more of them as a balanced tree, which is not deep. They stay in their order. `None` when there are none.
pub(crate) fn balanced<T>(mut operands: Vec<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    while operands.len() > SHORT_ROW {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.into_iter().reduce(join)
}

/// `SELECT projection FROM from WHERE selection`
pub(crate) fn select(projection: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Select {
    Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views: Vec::new(),
        prewhere: None,
        selection,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }
}

/// A query that is no more than its body.
fn query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

pub(crate) fn query_of(select: Select) -> Query {
    query(SetExpr::Select(Box::new(select)))
}
