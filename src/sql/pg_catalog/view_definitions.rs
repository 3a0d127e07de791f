//! The queries of views as PostgreSQL prints them: a clause a line, a column a line.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, GroupByExpr, Join, JoinConstraint, JoinOperator, LimitClause, ObjectName, OrderByKind, Query, Select,
    SelectItem, SetExpr, SetQuantifier, TableFactor, TableWithJoins, Visitor, VisitorMut,
};

use super::spelling::spell;
use crate::catalog::{View, query_of, text_of};
use crate::syntax::{fold, walk, walk_mut};

/// The query of a view, with the schemas of relations where these are not found without.
pub(super) fn definition(view: &View, sees_public: bool) -> String {
    let Ok(mut query) = query_of(view) else { return view.query.clone() };
    let mut shorten = Shorten { taken: common_names(&query), sees_public };
    let _ = walk_mut(&mut query, &mut shorten);
    spell(&mut query);
    format!("{};", query_text(&query))
}

/// Names that mean parts of WITH somewhere in the query.
fn common_names(query: &Query) -> Vec<String> {
    struct Names(Vec<String>);
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            self.0.extend(query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| fold(&cte.alias.name)));
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let _ = walk(query, &mut names);
    names.0
}

/// Takes the schemas away that are looked at anyway.
struct Shorten {
    taken: Vec<String>,
    sees_public: bool,
}

impl VisitorMut for Shorten {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        if let [schema, table] = relation.0.as_slice()
            && let (Some(schema), Some(name)) = (schema.as_ident(), table.as_ident())
        {
            let is_own = schema.value == "pg_catalog" || schema.value.starts_with("pg_temp_");
            let is_seen = is_own || (schema.value == "public" && self.sees_public);
            if is_seen && !self.taken.contains(&fold(name)) {
                *relation = ObjectName::from(vec![name.clone()]);
            }
        }
        ControlFlow::Continue(())
    }
}

fn query_text(query: &Query) -> String {
    let mut text = match &query.with {
        Some(with) => {
            let ctes: Vec<String> = with.cte_tables.iter().map(ToString::to_string).collect();
            let recursive = if with.recursive { "RECURSIVE " } else { "" };
            format!(" WITH {recursive}{}\n", ctes.join(", "))
        }
        None => String::new(),
    };
    text += &body_text(&query.body);
    if let Some(OrderByKind::Expressions(items)) = query.order_by.as_ref().map(|order| &order.kind) {
        text += &format!("\n  ORDER BY {}", joined(items, ", "));
    }
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            if let Some(offset) = offset {
                text += &format!("\n OFFSET {}", offset.value);
            }
            if let Some(limit) = limit {
                text += &format!("\n LIMIT {limit}");
            }
        }
        Some(other) => text += &format!("\n{other}"),
        None => {}
    }
    if let Some(fetch) = &query.fetch {
        text += &format!("\n {fetch}");
    }
    text
}

fn body_text(body: &SetExpr) -> String {
    match body {
        SetExpr::Select(select) => select_text(select),
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            let all = if *set_quantifier == SetQuantifier::All { " ALL" } else { "" };
            let right = match right.as_ref() {
                nested @ SetExpr::SetOperation { .. } => format!("({})", body_text(nested)),
                plain => body_text(plain),
            };
            format!("{}\n{op}{all}\n{right}", body_text(left))
        }
        SetExpr::Query(query) => format!("({})", text_of(query)),
        other => format!(" {other}"),
    }
}

fn select_text(select: &Select) -> String {
    let mut text = " SELECT ".to_owned();
    match &select.distinct {
        Some(Distinct::Distinct) => text += "DISTINCT ",
        Some(Distinct::On(on)) => text += &format!("DISTINCT ON ({}) ", joined(on, ", ")),
        Some(Distinct::All) | None => {}
    }
    let items: Vec<String> = select.projection.iter().map(SelectItem::to_string).collect();
    text += &items.join(",\n    ");
    if !select.from.is_empty() {
        let tables: Vec<String> = select.from.iter().map(table_text).collect();
        text += &format!("\n   FROM {}", tables.join(",\n    "));
    }
    if let Some(condition) = &select.selection {
        text += &format!("\n  WHERE {condition}");
    }
    if let GroupByExpr::Expressions(by, _) = &select.group_by
        && !by.is_empty()
    {
        text += &format!("\n  GROUP BY {}", joined(by, ", "));
    }
    if let Some(condition) = &select.having {
        text += &format!("\n HAVING {condition}");
    }
    if !select.named_window.is_empty() {
        text += &format!("\n  WINDOW {}", joined(&select.named_window, ", "));
    }
    text
}

fn table_text(table: &TableWithJoins) -> String {
    let joins: Vec<String> = table.joins.iter().map(join_text).collect();
    format!("{}{}", factor_text(&table.relation), joins.concat())
}

fn factor_text(factor: &TableFactor) -> String {
    match factor {
        // An alias stands behind its table without AS.
        TableFactor::Table { name, alias: Some(alias), args: None, .. } if alias.columns.is_empty() => {
            format!("{name} {}", alias.name)
        }
        other => other.to_string(),
    }
}

fn join_text(join: &Join) -> String {
    let (words, constraint) = match &join.join_operator {
        JoinOperator::Join(c) | JoinOperator::Inner(c) => ("JOIN", c),
        JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => ("LEFT JOIN", c),
        JoinOperator::Right(c) | JoinOperator::RightOuter(c) => ("RIGHT JOIN", c),
        JoinOperator::FullOuter(c) => ("FULL JOIN", c),
        JoinOperator::CrossJoin(c) => ("CROSS JOIN", c),
        _ => return format!("\n    {join}"),
    };
    let relation = factor_text(&join.relation);
    match constraint {
        JoinConstraint::On(condition) => format!("\n     {words} {relation} ON {condition}"),
        JoinConstraint::Using(columns) => format!("\n     {words} {relation} USING ({})", joined(columns, ", ")),
        JoinConstraint::Natural => format!("\n     NATURAL {words} {relation}"),
        JoinConstraint::None => format!("\n     {words} {relation}"),
    }
}

fn joined(items: &[impl ToString], separator: &str) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join(separator)
}
