//! Makes queries of every shape around expressions.
//!
//! Two servers agree on the order of rows only where a query fixes it: a list is sorted when its ORDER BY ends with a unique
//! key, and everything else is compared as a bag. LIMIT stands only behind such an order.

use std::borrow::Cow;

use crate::differential::expressions::{Scope, any_type, expression, fill, leaf};
use crate::differential::families::aggregates::{AGGREGATES, FRAMES, WINDOWS};
use crate::differential::families::whole::{SERIES, SUBQUERIES};
use crate::differential::families::{Makes, made_by};
use crate::differential::fixture::{FACTS, ITEMS, Table};
use crate::differential::node::{Node, Part};
use crate::differential::types::{self, Ty};
use crate::support::rng::Rng;

/// A query, and whether the order of its rows is fixed.
#[derive(Debug)]
pub(super) struct Query {
    pub tree: Node,
    pub is_ordered: bool,
}

impl Query {
    pub(super) fn copy(&self) -> Self {
        Self { tree: self.tree.clone(), is_ordered: self.is_ordered }
    }
}

/// What kinds of queries are made, in a hundred.
type Shape = fn(&mut Rng, &Scope) -> Query;
pub(super) const SHAPES: &[(&str, usize, Shape)] = &[
    ("scalars", 34, scalars),
    ("rows", 20, rows),
    ("groups", 14, groups),
    ("windows", 7, windows),
    ("sets", 7, sets),
    ("joins", 8, joins),
    ("subqueries", 8, subqueries),
    ("series", 2, series),
];

fn text(text: impl Into<Cow<'static, str>>) -> Part {
    Part::Text(text.into())
}

/// Expressions without a table.
fn scalars(rng: &mut Rng, scope: &Scope) -> Query {
    let items = (0..1 + rng.below(2)).map(|_| some_expression(rng, scope)).collect();
    Query { tree: Node::clause("", vec![text("SELECT "), Part::List(", ", items)]), is_ordered: true }
}

fn some_expression(rng: &mut Rng, scope: &Scope) -> Node {
    let ty = any_type(rng);
    expression(rng, scope, ty)
}

fn scope_of(base: &Scope, table: &Table, alias: &str) -> Scope {
    Scope { columns: table.columns_of(alias), without: base.without.clone() }
}

fn condition(rng: &mut Rng, scope: &Scope, keyword: &'static str) -> Part {
    let parts = vec![text(keyword), Part::Node(expression(rng, scope, Ty::Bool))];
    if rng.percent(50) { Part::Optional(Node::clause("", parts)) } else { text("") }
}

/// One table: projection, condition, order, limit.
fn rows(rng: &mut Rng, base: &Scope) -> Query {
    let (table, alias) = rng.pick(&[(&FACTS, "f"), (&FACTS, "f"), (&ITEMS, "i")]);
    let scope = scope_of(base, table, alias);
    let key = format!("{alias}.{}", table.key());
    let mut items: Vec<Node> = (0..1 + rng.below(3)).map(|_| some_expression(rng, &scope)).collect();
    items.push(Node::leaf(None, key.clone()));
    let mut parts = vec![text("SELECT ")];
    if rng.percent(10) {
        let on = any_comparable_leaf(rng, &scope);
        let distinct = format!("DISTINCT ON ({0}) ", on.render());
        parts.push(Part::Optional(Node::clause("DISTINCT ON", vec![text(distinct)])));
        let order = format!(" ORDER BY {}, {key}", on.render());
        return finish(rng, scope, parts, items, table, alias, order);
    }
    let order = order_by(rng, &scope, &key);
    if !order.is_empty() && rng.percent(6) {
        return distinct(rng, &scope, table, alias);
    }
    finish(rng, scope, parts, items, table, alias, order)
}

fn any_comparable_leaf(rng: &mut Rng, scope: &Scope) -> Node {
    let columns: Vec<&Node> =
        scope.columns.iter().filter(|column| column.ty.is_some_and(|ty| types::COMPARABLE.contains(&ty))).collect();
    rng.pick(&columns).clone()
}

fn finish(
    rng: &mut Rng,
    scope: Scope,
    mut parts: Vec<Part>,
    items: Vec<Node>,
    table: &Table,
    alias: &str,
    order: String,
) -> Query {
    parts.push(Part::List(", ", items));
    parts.push(text(format!(" FROM {} AS {alias}", table.name)));
    parts.push(condition(rng, &scope, " WHERE "));
    let is_ordered = !order.is_empty();
    parts.push(text(order));
    if is_ordered && rng.percent(30) {
        parts.push(Part::Optional(Node::clause("LIMIT", vec![text(limit(rng))])));
    }
    Query { tree: Node::clause("", parts), is_ordered }
}

fn limit(rng: &mut Rng) -> &'static str {
    const LIMITS: &[&str] = &[
        " LIMIT 3",
        " LIMIT 5 OFFSET 2",
        " OFFSET 4",
        " LIMIT ALL",
        " FETCH FIRST 2 ROWS ONLY",
        " LIMIT 0",
        " LIMIT NULL",
        " OFFSET 1 ROWS FETCH NEXT 3 ROWS ONLY",
        " LIMIT -1",
        " LIMIT 1 + 1",
        " LIMIT '2'",
    ];
    rng.pick(LIMITS)
}

/// An order that ends with the unique key, or none.
fn order_by(rng: &mut Rng, scope: &Scope, key: &str) -> String {
    if rng.percent(40) {
        return String::new();
    }
    if rng.percent(25) {
        return format!(" ORDER BY {key}");
    }
    let by = any_comparable_leaf(rng, scope).render();
    let direction =
        rng.pick(&["", " ASC", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC NULLS FIRST", " DESC NULLS FIRST"]);
    let key_direction = rng.pick(&["", " DESC"]);
    format!(" ORDER BY {by}{direction}, {key}{key_direction}")
}

fn distinct(rng: &mut Rng, scope: &Scope, table: &Table, alias: &str) -> Query {
    let items: Vec<Node> = (0..1 + rng.below(2)).map(|_| some_expression(rng, scope)).collect();
    let parts = vec![
        text("SELECT DISTINCT "),
        Part::List(", ", items),
        text(format!(" FROM {} AS {alias}", table.name)),
        condition(rng, scope, " WHERE "),
    ];
    Query { tree: Node::clause("SELECT DISTINCT", parts), is_ordered: false }
}

fn aggregate(rng: &mut Rng, scope: &Scope, key: &str) -> Node {
    let (made, template) = rng.pick(AGGREGATES);
    let mut parts = from_table(rng, scope, made, &template.replace("{key}", key));
    if rng.percent(12) && !template.contains("round(") && !template.starts_with(['(', 'c']) {
        let filter = vec![text(" FILTER (WHERE "), Part::Node(expression(rng, scope, Ty::Bool)), text(")")];
        let wraps_cast = template.ends_with("::text");
        if !wraps_cast {
            parts.push(Part::Optional(Node::clause("FILTER", filter)));
        }
    }
    Node { label: Cow::Borrowed(template), ty: None, is_column: true, parts }
}

/// The parts of a template of a table of aggregates or window functions; its arguments are shallow.
fn from_table(rng: &mut Rng, scope: &Scope, made: &str, template: &str) -> Vec<Part> {
    let makes = made_by(made);
    let ty = match makes {
        Makes::Type(ty) => ty,
        Makes::Any => rng.pick(types::COMPARABLE),
        Makes::Number => rng.pick(types::NUMBERS),
        Makes::Ordered => rng.pick(types::ORDERED),
    };
    let depth = rng.below(2);
    fill(rng, scope, makes, template, ty, depth)
}

/// GROUP BY, grouping sets, HAVING; aggregates without groups.
fn groups(rng: &mut Rng, base: &Scope) -> Query {
    let (table, alias) = rng.pick(&[(&FACTS, "f"), (&FACTS, "f"), (&ITEMS, "i")]);
    let scope = scope_of(base, table, alias);
    let key = format!("{alias}.{}", table.key());
    let mut items: Vec<Node> = (0..1 + rng.below(2)).map(|_| aggregate(rng, &scope, &key)).collect();
    let mut parts = vec![text("SELECT ")];
    let mut by = Vec::new();
    let grouping = rng.pick(&["none", "none", "plain", "plain", "plain", "rollup", "cube", "sets", "position"]);
    if grouping != "none" {
        for _ in 0..1 + rng.below(2) {
            let column = any_comparable_leaf(rng, &scope);
            if by.iter().all(|other: &Node| other.render() != column.render()) {
                by.push(column);
            }
        }
        items.splice(0..0, by.iter().map(|column| Node::leaf(None, column.render())));
    }
    if matches!(grouping, "rollup" | "cube" | "sets") && rng.percent(60) {
        let label = "GROUPING()";
        items.push(Node::clause(label, vec![text(format!("GROUPING({})", by[0].render()))]));
    }
    parts.push(Part::List(", ", items));
    parts.push(text(format!(" FROM {} AS {alias}", table.name)));
    parts.push(condition(rng, &scope, " WHERE "));
    if !by.is_empty() {
        parts.push(Part::Node(group_by(grouping, &by)));
        if rng.percent(25) {
            let having = having(rng, &scope, &key);
            parts.push(Part::Optional(having));
        }
    }
    Query { tree: Node::clause("", parts), is_ordered: false }
}

fn group_by(grouping: &str, by: &[Node]) -> Node {
    let names: Vec<String> = by.iter().map(Node::render).collect();
    let names = names.join(", ");
    let first = by[0].render();
    match grouping {
        "rollup" => Node::clause("ROLLUP", vec![text(format!(" GROUP BY ROLLUP ({names})"))]),
        "cube" => Node::clause("CUBE", vec![text(format!(" GROUP BY CUBE ({names})"))]),
        "sets" => {
            Node::clause("GROUPING SETS", vec![text(format!(" GROUP BY GROUPING SETS (({names}), ({first}), ())"))])
        }
        "position" if by.len() == 1 => Node::clause("GROUP BY 1", vec![text(" GROUP BY 1")]),
        _ => Node::clause("", vec![text(format!(" GROUP BY {names}"))]),
    }
}

fn having(rng: &mut Rng, scope: &Scope, key: &str) -> Node {
    let aggregate = aggregate(rng, scope, key);
    let test = rng.pick(&[" IS NOT NULL", " IS NULL"]);
    let parts = if rng.percent(50) {
        vec![text(" HAVING count(*) > 1")]
    } else {
        vec![text(" HAVING "), Part::Node(aggregate), text(test)]
    };
    Node::clause("HAVING", parts)
}

/// Window functions over a fixed order.
fn windows(rng: &mut Rng, base: &Scope) -> Query {
    let scope = scope_of(base, &FACTS, "f");
    let mut items = Vec::new();
    for _ in 0..1 + rng.below(2) {
        let (made, template) = rng.pick(WINDOWS);
        let partition = if rng.percent(50) {
            format!("PARTITION BY {}", any_comparable_leaf(rng, &scope).render())
        } else {
            String::new()
        };
        let by = any_comparable_leaf(rng, &scope).render();
        let direction = rng.pick(&["", " DESC", " DESC NULLS LAST", " NULLS FIRST"]);
        let sql = template
            .replace("{window}", &format!("{partition} ORDER BY {by}{direction}, f.id"))
            .replace("{ties}", &format!("{partition} ORDER BY {by}{direction}"))
            .replace("{partition}", &partition)
            .replace("{frame}", rng.pick(FRAMES));
        let parts = from_table(rng, &scope, made, &sql);
        items.push(Node { label: Cow::Borrowed(template), ty: None, is_column: true, parts });
    }
    items.push(Node::leaf(None, "f.id"));
    let parts = vec![
        text("SELECT "),
        Part::List(", ", items),
        text(" FROM facts AS f"),
        condition(rng, &scope, " WHERE "),
        text(" ORDER BY f.id"),
    ];
    Query { tree: Node::clause("", parts), is_ordered: true }
}

/// UNION, INTERSECT, EXCEPT, with and without ALL, over types that meet in the middle.
fn sets(rng: &mut Rng, base: &Scope) -> Query {
    const MIXED: &[(Ty, Ty)] = &[
        (Ty::Int4, Ty::Int8),
        (Ty::Int4, Ty::Numeric),
        (Ty::Int2, Ty::Float8),
        (Ty::Text, Ty::Varchar),
        (Ty::Date, Ty::Timestamp),
        (Ty::Timestamp, Ty::Timestamptz),
        (Ty::Int4, Ty::Text),
    ];
    let operator = rng.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]);
    let (left, right) = if rng.percent(30) {
        rng.pick(MIXED)
    } else {
        let ty = rng.pick(types::COMPARABLE);
        (ty, ty)
    };
    let scope = scope_of(base, &FACTS, "f");
    let mut parts = vec![Part::Node(branch(rng, &scope, left)), text(format!(" {operator} "))];
    parts.push(Part::Node(branch(rng, &scope, right)));
    if rng.percent(15) {
        let second = rng.pick(&["UNION", "INTERSECT", "EXCEPT"]);
        let third = vec![text(format!(" {second} ")), Part::Node(branch(rng, &scope, left))];
        parts.push(Part::Optional(Node::clause("three sets", third)));
    }
    let is_distinct = !operator.ends_with("ALL");
    let is_ordered = is_distinct && parts.len() == 3 && rng.percent(40);
    if is_ordered {
        parts.push(text(rng.pick(&[" ORDER BY 1", " ORDER BY 1 DESC", " ORDER BY 1 NULLS FIRST LIMIT 4"])));
    }
    let label = match operator {
        "UNION" => "UNION",
        "UNION ALL" => "UNION ALL",
        "INTERSECT" => "INTERSECT",
        "EXCEPT" => "EXCEPT",
        "INTERSECT ALL" => "INTERSECT ALL",
        _ => "EXCEPT ALL",
    };
    Query { tree: Node::clause(label, parts), is_ordered }
}

fn branch(rng: &mut Rng, scope: &Scope, ty: Ty) -> Node {
    if rng.percent(15) {
        let bare = Scope { columns: Vec::new(), without: scope.without.clone() };
        let values: Vec<Node> =
            (0..2).map(|_| Node::clause("", vec![text("("), Part::Node(leaf(rng, &bare, ty)), text(")")])).collect();
        return Node::clause("VALUES", vec![text("VALUES "), Part::List(", ", values)]);
    }
    if rng.percent(15) {
        return Node::clause("", vec![text("SELECT NULL")]);
    }
    let item = if rng.percent(60) { leaf(rng, scope, ty) } else { expression(rng, scope, ty) };
    let parts = vec![text("SELECT "), Part::Node(item), text(" FROM facts AS f"), condition(rng, scope, " WHERE ")];
    Node::clause("", parts)
}

/// Joins of every kind.
fn joins(rng: &mut Rng, base: &Scope) -> Query {
    let kind = rng.pick(&[
        "JOIN",
        "LEFT JOIN",
        "RIGHT JOIN",
        "FULL JOIN",
        "CROSS JOIN",
        "LATERAL",
        "USING",
        "NATURAL",
        "SELF",
    ]);
    let mut scope = scope_of(base, &FACTS, "f");
    scope.columns.extend(ITEMS.columns_of("i"));
    let mut items: Vec<Node> = (0..1 + rng.below(2)).map(|_| some_expression(rng, &scope)).collect();
    let mut order = " ORDER BY f.id, i.item";
    items.push(Node::leaf(None, "f.id"));
    items.push(Node::leaf(None, "i.item"));
    let from = match kind {
        "CROSS JOIN" => text(" FROM facts AS f CROSS JOIN items AS i"),
        "LATERAL" => text(
            " FROM facts AS f LEFT JOIN LATERAL (SELECT * FROM items AS x WHERE x.fact = f.id ORDER BY x.item DESC LIMIT 1) AS i ON true",
        ),
        "USING" => text(" FROM facts AS f JOIN (SELECT fact AS id, * FROM items) AS i USING (id)"),
        "NATURAL" => text(
            " FROM facts AS f NATURAL LEFT JOIN (SELECT fact AS id, item, fact, label, amount, qty, day FROM items) AS i",
        ),
        "SELF" => text(" FROM items AS i, facts AS f, items AS again WHERE i.fact = f.id AND again.item = i.qty"),
        kind => {
            let on = rng.pick(&[
                "i.fact = f.id",
                "i.fact = f.id AND i.qty > 1",
                "i.label = f.t",
                "i.day = f.d",
                "i.amount > f.n",
                "i.day BETWEEN f.d - 400 AND f.d",
                "i.fact = f.id AND i.day <= f.d AND i.amount <> f.n",
                "i.label >= f.t AND i.label < f.vc",
                "f.f8 <= i.amount::float8",
                "f.ts > i.day AND f.i2 <= i.qty",
            ]);
            let on = Node::clause("", vec![text(on)]);
            Part::Node(Node::clause(
                joined(kind),
                vec![text(format!(" FROM facts AS f {kind} items AS i ON ")), Part::Node(on)],
            ))
        }
    };
    let is_ordered = rng.percent(50);
    if !is_ordered {
        order = "";
    }
    let filter = if kind == "SELF" { text("") } else { condition(rng, &scope, " WHERE ") };
    let parts = vec![text("SELECT "), Part::List(", ", items), from, filter, text(order)];
    Query { tree: Node::clause(joined(kind), parts), is_ordered }
}

fn joined(kind: &str) -> &'static str {
    match kind {
        "JOIN" => "JOIN",
        "LEFT JOIN" => "LEFT JOIN",
        "RIGHT JOIN" => "RIGHT JOIN",
        "FULL JOIN" => "FULL JOIN",
        "CROSS JOIN" => "CROSS JOIN",
        "LATERAL" => "LATERAL",
        "USING" => "JOIN USING",
        "NATURAL" => "NATURAL JOIN",
        _ => "self join",
    }
}

/// Sub-queries: scalar, EXISTS, IN and NOT IN with NULLs, quantified, correlated, WITH, derived tables.
fn subqueries(rng: &mut Rng, base: &Scope) -> Query {
    let template = rng.pick(SUBQUERIES);
    let items = scope_of(base, &ITEMS, "i");
    let facts = scope_of(base, &FACTS, "f");
    let correlated = template.contains("facts f") && !template.contains("HAVING");
    let scope = if correlated { facts } else { Scope { columns: Vec::new(), without: base.without.clone() } };
    let parts = match template.split_once("{ib}") {
        Some((before, after)) => {
            let mut parts = fill(rng, &scope, Makes::Any, before, Ty::Int4, 1);
            parts.push(Part::Node(expression(rng, &items, Ty::Bool)));
            parts.extend(fill(rng, &scope, Makes::Any, after, Ty::Int4, 1));
            parts
        }
        None => {
            let ty = rng.pick(types::COMPARABLE);
            fill(rng, &scope, Makes::Any, template, ty, 1)
        }
    };
    Query { tree: Node::clause(template, parts), is_ordered: template.contains("ORDER BY") }
}

/// Sets of rows from functions.
fn series(rng: &mut Rng, base: &Scope) -> Query {
    let template = rng.pick(SERIES);
    let is_lateral = template.contains("facts f");
    let scope = Scope { columns: Vec::new(), without: base.without.clone() };
    let parts = fill(rng, &scope, Makes::Any, template, Ty::Int4, 1);
    Query { tree: Node::clause(template, parts), is_ordered: is_lateral || template.contains("ORDER BY") }
}
