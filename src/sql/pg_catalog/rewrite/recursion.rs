//! `(WITH RECURSIVE r AS (...) SELECT ... FROM r)` about a row around it, as drivers follow domains to their base types.
//!
//! Where the first term looks up `x = outer`, and nothing else refers out, the recursion runs for all x at once: x goes
//! along as a column of its own, and the query asks for the rows of its outer value. The catalogue is small, and finite.

use sqlparser::ast::{
    BinaryOperator, Cte, Expr, Ident, Query, Select, SelectItem, SetExpr, SetOperator, TableAliasColumnDef, TableFactor,
};

use super::forms::last_name;
use super::scopes::Scope;
use super::subqueries::{join, split};
use crate::syntax::fold;

/// What the column is called that goes along.
const KEY: &str = "recursion_key";

pub(super) fn expression(expr: &mut Expr) {
    let Expr::Subquery(query) = expr else { return };
    let mut lifted = query.clone();
    if lift(&mut lifted).is_some() {
        *query = lifted;
    }
}

/// Takes the outer value out of the recursion; `None` where it is of another form.
fn lift(query: &mut Query) -> Option<()> {
    let with = query.with.as_mut().filter(|with| with.recursive)?;
    let [cte] = with.cte_tables.as_mut_slice() else { return None };
    let name = fold(&cte.alias.name);
    let outer = carry_key(cte, &name)?;
    let SetExpr::Select(select) = &mut *query.body else { return None };
    let alias = only_mention(select, &name)?;
    let same = equal(Expr::CompoundIdentifier(vec![alias, key()]), outer);
    select.selection = join(select.selection.take().into_iter().chain([same]).collect());
    Some(())
}

/// Makes the key a column of the recursion, and gives the outer expression it is compared with.
fn carry_key(cte: &mut Cte, name: &str) -> Option<Expr> {
    let SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } = &mut *cte.query.body else { return None };
    let (SetExpr::Select(first), SetExpr::Select(next)) = (&mut **left, &mut **right) else { return None };
    let (inner, outer) = take_equality(first)?;
    first.projection.push(SelectItem::ExprWithAlias { expr: inner, alias: key() });
    let alias = only_mention(next, name)?;
    next.projection.push(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![alias, key()])));
    if !cte.alias.columns.is_empty() {
        cte.alias.columns.push(TableAliasColumnDef { name: key(), data_type: None });
    }
    Some(outer)
}

/// The one condition of a select that refers out, `inner = outer`, taken from its WHERE.
fn take_equality(select: &mut Select) -> Option<(Expr, Expr)> {
    let scope = Scope::of(select);
    if !scope.is_complete() {
        return None;
    }
    let mut conjuncts = Vec::new();
    split(select.selection.take()?, &mut conjuncts);
    let at = conjuncts.iter().position(|conjunct| scope.origins(conjunct).outside)?;
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = conjuncts.remove(at) else { return None };
    let refers_out = |expr: &Expr| scope.origins(expr).outside;
    let items = select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => refers_out(expr),
        _ => false,
    });
    if items || conjuncts.iter().any(refers_out) {
        return None;
    }
    let (inner, outer) = match (scope.origins(&left), scope.origins(&right)) {
        (l, r) if !l.outside && r.outside && !r.inside => (*left, *right),
        (l, r) if !r.outside && l.outside && !l.inside => (*right, *left),
        _ => return None,
    };
    select.selection = join(conjuncts);
    Some((inner, outer))
}

/// What a select calls the recursion, which it must name once in FROM.
fn only_mention(select: &Select, name: &str) -> Option<Ident> {
    let mut mentions = select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)))
        .filter_map(|factor| match factor {
            TableFactor::Table { name: table, alias, args: None, .. } if last_name(table) == name => {
                Some(alias.as_ref().map_or_else(|| Ident::with_quote('"', name), |alias| alias.name.clone()))
            }
            _ => None,
        });
    let mention = mentions.next()?;
    mentions.next().is_none().then_some(mention)
}

fn key() -> Ident {
    Ident::with_quote('"', KEY)
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Eq, right: Box::new(right) }
}
