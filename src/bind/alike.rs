//! Whether two expressions mean the same, wherever they stand: PostgreSQL's `equal`.

use crate::expr::{BoundExpr, CastMethod, ExprKind, Index, Literal, OverRows, SubQueryUse, Window};

/// Whether they are alike. Queries inside of them are where their hashes are.
pub(crate) fn alike(one: &BoundExpr, other: &BoundExpr, hashes: &[u64]) -> bool {
    // Not by calls of itself: an expression may be deep.
    let mut waiting = vec![(one, other)];
    while let Some((one, other)) = waiting.pop() {
        let types = one.ty.oid == other.ty.oid && one.ty.typmod == other.ty.typmod;
        if !types || !heads_are_alike(&one.kind, &other.kind, hashes) {
            return false;
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        one.for_each_part(&mut |part| ours.push(part));
        other.for_each_part(&mut |part| theirs.push(part));
        if ours.len() != theirs.len() {
            return false;
        }
        waiting.extend(ours.into_iter().zip(theirs));
    }
    true
}

/// What of a node is not its parts.
fn heads_are_alike(one: &ExprKind, other: &ExprKind, hashes: &[u64]) -> bool {
    use ExprKind as K;
    match (one, other) {
        (K::Column { level, entry, column }, K::Column { level: l, entry: e, column: c }) => {
            (level, entry, column) == (l, e, c)
        }
        (K::WholeRow { level, entry }, K::WholeRow { level: l, entry: e }) => (level, entry) == (l, e),
        (K::Parameter(one), K::Parameter(other)) => one == other,
        (K::Constant(one), K::Constant(other)) => match (one, other) {
            (Literal::Null, Literal::Null) => true,
            (Literal::Value(one), Literal::Value(other)) => one == other,
            (Literal::Read { value: one, .. }, Literal::Read { value: other, .. }) => one == other,
            (Literal::Text(one), Literal::Text(other)) => one == other,
            (Literal::Null | Literal::Value(_) | Literal::Read { .. } | Literal::Text(_), _) => false,
        },
        (K::Operation { links: ours, .. }, K::Operation { links: theirs, .. }) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one.operator == other.operator)
        }
        (K::Prefix { operator: one, .. }, K::Prefix { operator: other, .. })
        | (K::Distinct { operator: one, .. }, K::Distinct { operator: other, .. })
        | (K::NullIf { operator: one, .. }, K::NullIf { operator: other, .. }) => one == other,
        (K::OfItems { operator: one, any, .. }, K::OfItems { operator: other, any: a, .. }) => one == other && any == a,
        (K::RowComparison { operators: ours, .. }, K::RowComparison { operators: theirs, .. }) => ours == theirs,
        (K::Call { function: one, variadic, .. }, K::Call { function: other, variadic: v, .. }) => {
            one.oid == other.oid && variadic == v
        }
        (
            K::Aggregate { function: one, rows, variadic, level, .. },
            K::Aggregate { function: other, rows: r, variadic: v, level: l, .. },
        ) => one.oid == other.oid && variadic == v && level == l && rows_are_alike(rows, r),
        (K::WindowCall { function: one, rows, .. }, K::WindowCall { function: other, rows: r, .. }) => {
            one.oid == other.oid && rows_are_alike(rows, r)
        }
        (K::Grouping { level, .. }, K::Grouping { level: l, .. }) => level == l,
        (K::Cast { method: one, .. }, K::Cast { method: other, .. }) => match (one, other) {
            (CastMethod::Function(one), CastMethod::Function(other)) => one.oid == other.oid,
            _ => std::mem::discriminant(one) == std::mem::discriminant(other),
        },
        (K::InList { any, .. }, K::InList { any: a, .. }) => any == a,
        (K::Test { test, negated, .. }, K::Test { test: t, negated: n, .. }) => (test, negated) == (t, n),
        (K::Array { is_of_arrays, .. }, K::Array { is_of_arrays: i, .. }) => is_of_arrays == i,
        (K::Case { operand, branches, .. }, K::Case { operand: o, branches: b, .. }) => {
            operand.is_some() == o.is_some() && branches.len() == b.len()
        }
        (K::Subscript { indexes, .. }, K::Subscript { indexes: i, .. }) => {
            indexes.len() == i.len() && indexes.iter().zip(i).all(|(one, other)| indexes_are_alike(one, other))
        }
        (K::Field { column, .. }, K::Field { column: c, .. }) => column == c,
        (K::Collate { collation, .. }, K::Collate { collation: c, .. }) => collation == c,
        (K::Word(one), K::Word(other)) => one == other,
        (K::SubQueryColumn(one), K::SubQueryColumn(other)) => one == other,
        (K::SubQuery { query, used }, K::SubQuery { query: q, used: u }) => {
            let hash = |number: &usize| hashes.get(*number);
            let is_same = query == q || hash(query).is_some() && hash(query) == hash(q);
            is_same && std::mem::discriminant::<SubQueryUse>(used) == std::mem::discriminant(u)
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

fn indexes_are_alike(one: &Index, other: &Index) -> bool {
    match (one, other) {
        (Index::One(_), Index::One(_)) => true,
        (Index::Slice(low, high), Index::Slice(l, h)) => (low.is_some(), high.is_some()) == (l.is_some(), h.is_some()),
        _ => false,
    }
}

fn rows_are_alike(one: &OverRows, other: &OverRows) -> bool {
    let flags = |rows: &OverRows| (rows.is_star, rows.is_distinct, rows.within_group, rows.filter.is_some());
    let sorts = |rows: &OverRows| -> Vec<(bool, bool)> {
        rows.order.iter().map(|key| (key.descending, key.nulls_first)).collect()
    };
    let windows = match (&one.window, &other.window) {
        (None, None) => true,
        (Some(Window::Numbered(one)), Some(Window::Numbered(other))) => one == other,
        (Some(Window::Named(one)), Some(Window::Named(other))) => one == other,
        _ => false,
    };
    flags(one) == flags(other) && sorts(one) == sorts(other) && windows
}
