//! Building pieces of syntax.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr,
    Ident, ObjectName, ObjectNamePart, OrderByExpr, OrderByOptions, Query, Select, SelectFlavor, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, UnaryOperator, Value, ValueWithSpan, WindowSpec, WindowType,
};
use sqlparser::tokenizer::Span;

use super::depth::SHORT_ROW;
use super::fold;

/// An identifier that means exactly this.
pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// `"table"."column"`
pub(crate) fn column(table: &str, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(table), quoted(column)])
}

/// `expr AS "label"`
pub(crate) fn item(expr: Expr, label: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: quoted(label) }
}

pub(crate) fn value(value: Value) -> Expr {
    Expr::Value(ValueWithSpan { value, span: Span::empty() })
}

pub(crate) fn number(number: impl ToString) -> Expr {
    value(Value::Number(number.to_string(), false))
}

pub(crate) fn boolean(truth: bool) -> Expr {
    value(Value::Boolean(truth))
}

pub(crate) fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

pub(crate) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(nested(left)), op, right: Box::new(nested(right)) }
}

pub(crate) fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
}

/// All of the conditions; true when there are none.
pub(crate) fn all(conditions: impl IntoIterator<Item = Expr>) -> Expr {
    let and = |left, right| binary(left, BinaryOperator::And, right);
    balanced(conditions.into_iter().collect(), and).unwrap_or_else(|| boolean(true))
}

/// Any of the conditions; false when there are none.
pub(crate) fn any(conditions: impl IntoIterator<Item = Expr>) -> Expr {
    let or = |left, right| binary(left, BinaryOperator::Or, right);
    balanced(conditions.into_iter().collect(), or).unwrap_or_else(|| boolean(false))
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

/// `name(arguments)`
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Function(function(name, arguments))
}

/// Whether a call is `ROW(...)`, which is no function.
pub(crate) fn is_row_call(function: &Function) -> bool {
    let [name] = function.name.0.as_slice() else { return false };
    let is_row = name.as_ident().is_some_and(|ident| ident.quote_style.is_none() && fold(ident) == "row");
    is_row && function.over.is_none()
}

/// `name() OVER (PARTITION BY ... ORDER BY ...)`
pub(crate) fn over(name: &str, partition_by: Vec<Expr>, order_by: Vec<OrderByExpr>) -> Expr {
    let spec = WindowSpec { window_name: None, partition_by, order_by, window_frame: None };
    Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), ..function(name, Vec::new()) })
}

fn function(name: &str, arguments: Vec<Expr>) -> Function {
    let args = arguments.into_iter().map(|a| FunctionArg::Unnamed(FunctionArgExpr::Expr(a))).collect();
    Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(quoted(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}

pub(crate) fn order_by(expr: Expr) -> OrderByExpr {
    OrderByExpr { expr, options: OrderByOptions { asc: None, nulls_first: None }, with_fill: None }
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
pub(crate) fn query(body: SetExpr) -> Query {
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

/// `(query) AS "alias"` in FROM.
pub(crate) fn derived(query: Query, alias: &str) -> TableFactor {
    sub_query(false, query, alias)
}

/// `LATERAL (query) AS "alias"` in FROM.
pub(crate) fn lateral(query: Query, alias: &str) -> TableFactor {
    sub_query(true, query, alias)
}

fn sub_query(lateral: bool, query: Query, alias: &str) -> TableFactor {
    TableFactor::Derived { lateral, subquery: Box::new(query), alias: Some(table_alias(alias)), sample: None }
}

pub(crate) fn table_alias(name: &str) -> TableAlias {
    TableAlias { explicit: true, name: quoted(name), columns: Vec::new(), at: None }
}

/// A FROM item without joins.
pub(crate) fn from(relation: TableFactor) -> TableWithJoins {
    TableWithJoins { relation, joins: Vec::new() }
}

/// The expression, with NULL left in its place.
pub(crate) fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, value(Value::Null))
}

/// The column's name of a plain column.
pub(crate) fn name_of_column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.as_str()),
        _ => None,
    }
}
