//! Building pieces of syntax.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, GroupByExpr, Ident, LimitClause, ObjectName, Query, Select, SelectFlavor, SelectItem, SetExpr, TableAlias,
    TableFactor, TableWithJoins, UnaryOperator, Value,
};
use tablegate_bind::{ParsedExpression, ParsedQuery};

use super::depth::SHORT_ROW;

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
fn select(projection: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Select {
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

/// Which rows of a table a query that is made gives.
#[derive(Default)]
pub(crate) struct MadeRows<'r> {
    /// The name of the table with what stands before it, which is also what it is called; none for one row of no table.
    pub table: &'r [&'r str],
    pub condition: Option<ParsedExpression>,
    pub only_one: bool,
}

/// `SELECT expressions FROM table WHERE condition LIMIT 1`, with labels that no column can have.
pub(crate) fn made_query(expressions: impl IntoIterator<Item = ParsedExpression>, rows: MadeRows<'_>) -> ParsedQuery {
    let labelled = |(label, expression): (usize, ParsedExpression)| SelectItem::ExprWithAlias {
        expr: expression.into_tree(),
        alias: quoted(&format!("\u{2}{label}")),
    };
    let items = expressions.into_iter().enumerate().map(labelled).collect();
    let from = rows.table.last().map(|alias| table_as(rows.table, alias));
    let selection = rows.condition.map(ParsedExpression::into_tree);
    let mut made = query(SetExpr::Select(Box::new(select(items, from.into_iter().collect(), selection))));
    if rows.only_one {
        let limit = Some(number("1").into_tree());
        made.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
    }
    made.into()
}

/// `name AS alias` as a FROM item.
fn table_as(name: &[&str], alias: &str) -> TableWithJoins {
    let alias = TableAlias { explicit: true, name: quoted(alias), columns: Vec::new(), at: None };
    let relation = TableFactor::Table {
        name: ObjectName::from(name.iter().map(|part| quoted(part)).collect::<Vec<_>>()),
        alias: Some(alias),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    TableWithJoins { relation, joins: Vec::new() }
}

pub(crate) fn number(digits: &str) -> ParsedExpression {
    Expr::Value(Value::Number(digits.to_owned(), false).into()).into()
}

/// `table."column"`
pub(crate) fn column_of(table: &str, column: &str) -> ParsedExpression {
    Expr::CompoundIdentifier(vec![quoted(table), quoted(column)]).into()
}

/// `"column" IS NULL`
pub(crate) fn is_null(column: &str) -> ParsedExpression {
    Expr::IsNull(Box::new(Expr::Identifier(quoted(column)))).into()
}

/// `NOT (condition)`
pub(crate) fn not(condition: ParsedExpression) -> ParsedExpression {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(condition.into_tree()))) }.into()
}

/// An identifier that means exactly this.
fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
