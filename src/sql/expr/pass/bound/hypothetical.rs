//! Hypothetical-set aggregates: `rank(3) WITHIN GROUP (ORDER BY x)`, the place that a row would have among the others. Each is a
//! count of the rows that come before it.

use std::sync::Arc;

use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::min_max::max_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::COUNT_STAR_EXPANSION;
use datafusion::logical_expr::{AggregateUDF, Expr, Operator};
use datafusion::prelude::lit;
use tablegate_bind::expr::{BoundExpr, ExprKind, OverRows, SortKey};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::Surroundings;
use crate::expr::meaning::{IS_DISTINCT, Meaning};
use crate::expr::operand::Operand;
use crate::expr::pass::{Pass, chains};

/// What is said of the row that is not there.
#[derive(Debug, Clone, Copy)]
enum Place {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

impl Place {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rank" => Place::Rank,
            "dense_rank" => Place::DenseRank,
            "percent_rank" => Place::PercentRank,
            "cume_dist" => Place::CumeDist,
            _ => return None,
        })
    }
}

/// A column that is sorted by, and what the row that is not there has in it.
struct Sorted<'k> {
    by: Operand,
    given: Operand,
    key: &'k SortKey,
}

impl Pass<'_> {
    /// The place of a row of these values; `None` for another aggregate.
    ///
    /// # Errors
    /// 0A000 for values that are not the same for all rows, and for `dense_rank` of several columns.
    pub(super) fn hypothetical(
        &self,
        name: &str,
        values: &[BoundExpr],
        rows: &OverRows,
        around: &dyn Surroundings,
    ) -> SqlResult<Option<Expr>> {
        let Some(place) = Place::named(name) else { return Ok(None) };
        let mut sorted = Vec::with_capacity(rows.order.len());
        for (value, key) in values.iter().zip(&rows.order) {
            let differs = |part: &BoundExpr| {
                matches!(part.kind, ExprKind::Column { .. } | ExprKind::WholeRow { .. } | ExprKind::SubQuery { .. })
            };
            if value.any(&mut |part| differs(part)) {
                return Err(SqlError::not_supported(format!("{name} of a value that differs from row to row"))
                    .with_hint("Give it a constant or a parameter."));
            }
            let (by, given) = (self.bound_operand(&key.expr, around)?, self.bound_operand(value, around)?);
            sorted.push(Sorted { by, given, key });
        }
        let filter = self.bound_filter(rows, around)?.map(|filter| *filter);
        let counting = Counting { pass: self, filter, around };
        counting.place(place, &sorted).map(Some)
    }
}

/// Counts rows that the call aggregates.
struct Counting<'c> {
    pass: &'c Pass<'c>,
    filter: Option<Expr>,
    around: &'c dyn Surroundings,
}

impl Counting<'_> {
    fn place(&self, place: Place, sorted: &[Sorted<'_>]) -> SqlResult<Expr> {
        Ok(match place {
            Place::Rank => self.plus_one(self.count(Some(self.before(sorted)?))?)?,
            Place::DenseRank => {
                let [one] = sorted else {
                    return Err(SqlError::not_supported("dense_rank WITHIN GROUP of several columns")
                        .with_hint("Count the distinct rows of a sub-query."));
                };
                let before = self.before(sorted)?;
                let value = one.by.expr.clone();
                let distinct = self.aggregate(count_udaf(), value.clone(), Some(before.clone()), true)?;
                // NULL is one more value, which count does not see.
                let nulls = self.aggregate(max_udaf(), lit(1_i64), Some(before.and(value.is_null())), false)?;
                let nulls = vec![self.operand(nulls)?, self.operand(lit(0_i64))?];
                let nulls = self.pass.call(Meaning::Coalesce, nulls, self.around.schema())?;
                self.plus_one(self.computed(distinct, "+", nulls)?)?
            }
            Place::PercentRank => {
                let none = self.computed(self.count(None)?, "=", lit(0_i64))?;
                let ratio = self.ratio(self.count(Some(self.before(sorted)?))?, self.count(None)?)?;
                datafusion::logical_expr::when(none, lit(0_f64)).otherwise(ratio)?
            }
            Place::CumeDist => {
                let same = sorted.iter().map(|one| self.is_same(one)).collect::<SqlResult<Vec<_>>>()?;
                let same = chains::joined(same, Operator::And).unwrap_or_else(|| lit(true));
                let part = self.plus_one(self.count(Some(self.before(sorted)?.or(same)))?)?;
                self.ratio(part, self.plus_one(self.count(None)?)?)?
            }
        })
    }

    fn operand(&self, expr: Expr) -> SqlResult<Operand> {
        Ok(self.pass.operand(expr, self.around.schema())?)
    }

    fn computed(&self, left: Expr, operator: &str, right: Expr) -> SqlResult<Expr> {
        let operands = vec![self.operand(left)?, self.operand(right)?];
        Ok(self.pass.call(Meaning::Binary(operator.to_owned()), operands, self.around.schema())?)
    }

    fn plus_one(&self, count: Expr) -> SqlResult<Expr> {
        self.computed(count, "+", lit(1_i64))
    }

    fn ratio(&self, part: Expr, whole: Expr) -> SqlResult<Expr> {
        let float = |count: Expr| self.pass.cast_to(self.operand(count)?, &SqlType::Float8);
        self.computed(float(part)?, "/", float(whole)?)
    }

    fn count(&self, condition: Option<Expr>) -> SqlResult<Expr> {
        self.aggregate(count_udaf(), Expr::Literal(COUNT_STAR_EXPANSION, None), condition, false)
    }

    fn aggregate(
        &self,
        function: Arc<AggregateUDF>,
        value: Expr,
        condition: Option<Expr>,
        is_distinct: bool,
    ) -> SqlResult<Expr> {
        let conditions = self.filter.iter().cloned().chain(condition).collect();
        let filter = chains::joined(conditions, Operator::And).map(Box::new);
        let call = AggregateFunction::new_udf(function, vec![value], is_distinct, filter, Vec::new(), None);
        Ok(self.pass.aggregate(call, self.around.schema())?)
    }

    /// A row comes before the one that is not there: by the first column in which they differ.
    fn before(&self, sorted: &[Sorted<'_>]) -> SqlResult<Expr> {
        let mut before: Option<Expr> = None;
        for one in sorted.iter().rev() {
            let precedes = self.precedes(one)?;
            before = Some(match before {
                None => precedes,
                Some(rest) => precedes.or(self.is_same(one)?.and(rest)),
            });
        }
        Ok(before.unwrap_or_else(|| lit(false)))
    }

    fn precedes(&self, one: &Sorted<'_>) -> SqlResult<Expr> {
        let operator = if one.key.descending { ">" } else { "<" };
        let compared = self.computed(one.by.expr.clone(), operator, one.given.expr.clone())?;
        let (by, given) = (one.by.expr.clone(), one.given.expr.clone());
        let null_precedes = match one.key.nulls_first {
            true => by.is_null().and(given.is_not_null()),
            false => by.is_not_null().and(given.is_null()),
        };
        Ok(compared.or(null_precedes))
    }

    fn is_same(&self, one: &Sorted<'_>) -> SqlResult<Expr> {
        Ok(Expr::Not(Box::new(self.computed(one.by.expr.clone(), IS_DISTINCT, one.given.expr.clone())?)))
    }
}
