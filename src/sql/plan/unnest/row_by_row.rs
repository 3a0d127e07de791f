//! LATERAL whose rows are computed of the row beside them alone: functions in FROM, and sub-queries that read no table.
//!
//! Each row is expanded where it stands, as PostgreSQL's ProjectSet does it. So the rows beside are computed once, however costly
//! or undecided they are, and come in their order.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, NullHandling, Result, ScalarValue, UnnestOptions, internal_err};
use datafusion::logical_expr::{
    Case, Expr, ExprSchemable, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, Unnest,
    Values, lit, when,
};

use super::contains_subquery;
use super::correlation::Correlation;
use super::has_items::has_items;
use super::pieces::{Names, column_exprs, filter, project};
use crate::expr::conjunction;

/// A LATERAL join as its rows expanded; `None` where what is beside them reads rows of its own, or where a row without partner
/// could not be told from one with.
pub(super) fn expanded(join: &Join, names: &mut Names) -> Result<Option<LogicalPlan>> {
    let is_outer = join.join_type == JoinType::Left;
    let conditions: Vec<Expr> = conditions_of(join).collect();
    if !may_expand(&join.right, is_outer, !conditions.is_empty()) {
        return Ok(None);
    }
    let correlation = Correlation::of(&join.right, &join.left)?;
    let columns = join.left.schema().columns();
    let mut rows = Expanding {
        outer: columns.iter().cloned().map(|column| (column.clone(), column)).collect(),
        own: Vec::new(),
        partners: Vec::new(),
        plan: join.left.as_ref().clone(),
        is_there: None,
        is_open: false,
        correlation: &correlation,
        columns,
        names,
        is_outer,
    };
    rows.go_up(&join.right)?;
    rows.joined(join, conditions).map(Some)
}

/// Whether a plan computes its rows of one row without columns. Where rows without partner are kept, there may be several partners
/// or conditions, not both: who has partners is known before conditions choose among them.
fn may_expand(plan: &LogicalPlan, is_outer: bool, has_conditions: bool) -> bool {
    let mut found = Found { lists: 0, filters: usize::from(has_conditions), joins: 0 };
    found.in_plan(plan)
        && (!is_outer || found.joins == 0 && (found.lists == 0 || found.lists == 1 && found.filters == 0))
}

/// What is in a plan that may be expanded.
struct Found {
    lists: usize,
    filters: usize,
    joins: usize,
}

impl Found {
    /// Counts; `false` for a plan that reads rows of its own.
    fn in_plan(&mut self, plan: &LogicalPlan) -> bool {
        match plan {
            LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
            LogicalPlan::Values(values) => {
                self.lists += 1;
                !values.values.iter().flatten().any(contains_subquery)
            }
            LogicalPlan::SubqueryAlias(alias) => self.in_plan(&alias.input),
            LogicalPlan::Projection(projection) => {
                !projection.expr.iter().any(contains_subquery) && self.in_plan(&projection.input)
            }
            LogicalPlan::Filter(filter) => {
                self.filters += 1;
                !contains_subquery(&filter.predicate) && self.in_plan(&filter.input)
            }
            LogicalPlan::Unnest(unnest) => {
                self.lists += 1;
                unnests_lists(unnest) && self.in_plan(&unnest.input)
            }
            LogicalPlan::Join(join) => {
                self.joins += 1;
                join.join_type == JoinType::Inner
                    && !conditions_of(join).any(|condition| contains_subquery(&condition))
                    && self.in_plan(&join.left)
                    && self.in_plan(&join.right)
            }
            _ => false,
        }
    }
}

/// What a join asks of its rows.
fn conditions_of(join: &Join) -> impl Iterator<Item = Expr> {
    let on = join.on.iter().map(|(l, r)| l.clone().eq(r.clone()));
    on.chain(join.filter.clone()).filter(|condition| *condition != lit(true))
}

fn unnests_lists(unnest: &Unnest) -> bool {
    unnest.struct_type_columns.is_empty()
        && unnest.list_type_columns.iter().all(|(_, list)| list.depth == 1)
        && unnest.options.null_handling == NullHandling::Drop
}

/// Rows that are being expanded, from the leaf of what is beside them upwards.
struct Expanding<'a> {
    plan: LogicalPlan,
    /// The columns of the rows, in their order.
    columns: Vec<Column>,
    /// What they are called in `plan`.
    outer: HashMap<Column, Column>,
    /// The columns of the node beside, and what they are called in `plan`.
    own: Vec<(Column, Column)>,
    /// Columns of what the node beside is joined with, in `plan`.
    partners: Vec<Column>,
    /// Of rows that are kept without a partner: the column that tells whether this one has any.
    is_there: Option<Column>,
    /// Where it tells that there is none, the own columns are not NULL yet.
    is_open: bool,
    is_outer: bool,
    correlation: &'a Correlation<'a>,
    names: &'a mut Names,
}

impl Expanding<'_> {
    fn go_up(&mut self, plan: &LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::SubqueryAlias(alias) => self.alias(alias),
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => {
                self.go_up(&filter.input)?;
                let condition = self.inward(filter.predicate.clone())?;
                self.choose(vec![condition])
            }
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::Join(join) => self.join(join),
            // The row without columns: each of the rows is one.
            _ => Ok(()),
        }
    }

    fn alias(&mut self, alias: &SubqueryAlias) -> Result<()> {
        self.go_up(&alias.input)?;
        let mut own = Vec::with_capacity(self.own.len());
        for (from, to) in alias.input.schema().columns().iter().zip(alias.schema.columns()) {
            own.push((to, self.current(from)?));
        }
        self.own = own;
        Ok(())
    }

    fn projection(&mut self, projection: &Projection) -> Result<()> {
        self.go_up(&projection.input)?;
        let mut exprs = self.kept();
        let mut own = Vec::with_capacity(projection.expr.len());
        for (expr, (column, field)) in projection.expr.iter().zip(columns_and_fields(&projection.schema)) {
            let name = Column::from_name(self.names.next(&column.name));
            let value = self.inward(expr.clone().unalias())?;
            exprs.push(named(self.where_there(value)?, &name, field));
            own.push((column, name));
        }
        self.own = own;
        self.is_open = false;
        self.project(exprs)
    }

    /// One row for each of a list, whose columns are the values of that number.
    fn values(&mut self, values: &Values) -> Result<()> {
        let numbers = (0..values.values.len()).map(|number| ScalarValue::from(number as u64)).collect::<Vec<_>>();
        let numbers = ScalarValue::new_list_nullable(&numbers, &DataType::UInt64);
        let number = Column::from_name(self.names.next("number"));
        let mut exprs = self.outer_renamed();
        exprs.push(Expr::Literal(ScalarValue::List(numbers), None).alias(number.name.clone()));
        self.project(exprs)?;
        self.unnest_columns(vec![number.clone()], NullHandling::Drop)?;
        let (mut exprs, mut own) = (self.kept(), Vec::with_capacity(values.schema.fields().len()));
        for (place, (column, field)) in columns_and_fields(&values.schema).enumerate() {
            let mut branches = Vec::with_capacity(values.values.len());
            for (row, number) in values.values.iter().zip(0_u64..) {
                let value = self.inward(row[place].clone())?.cast_to(field.data_type(), self.plan.schema())?;
                branches.push((Box::new(lit(number)), Box::new(value)));
            }
            let value = Expr::Case(Case::new(Some(Box::new(Expr::Column(number.clone()))), branches, None));
            let name = Column::from_name(self.names.next(&column.name));
            exprs.push(named(value, &name, field));
            own.push((column, name));
        }
        self.own = own;
        self.project(exprs)
    }

    /// The rows of one side, each with those of the other.
    fn join(&mut self, join: &Join) -> Result<()> {
        self.go_up(&join.left)?;
        let left = std::mem::take(&mut self.own);
        let around = self.partners.len();
        self.partners.extend(left.iter().map(|(_, current)| current.clone()));
        self.go_up(&join.right)?;
        self.partners.truncate(around);
        self.own.splice(0..0, left);
        let conditions = conditions_of(join).map(|condition| self.inward(condition)).collect::<Result<_>>()?;
        self.choose(conditions)
    }

    /// Leaves the rows that meet the conditions; of rows that are kept without a partner it leaves all.
    fn choose(&mut self, conditions: Vec<Expr>) -> Result<()> {
        if !self.is_outer {
            self.plan = filter(self.plan.clone(), conditions)?;
            return Ok(());
        }
        let Some(condition) = conjunction(conditions) else { return Ok(()) };
        let is_there = match self.is_there.take() {
            Some(before) => when(Expr::Column(before), condition).otherwise(lit(false))?,
            None => condition,
        };
        let mut exprs = self.kept();
        exprs.extend(self.own.iter().map(|(_, current)| Expr::Column(current.clone())));
        self.tell(is_there, &mut exprs);
        self.is_open = true;
        self.project(exprs)
    }

    fn unnest(&mut self, unnest: &Unnest) -> Result<()> {
        self.go_up(&unnest.input)?;
        let mut exprs = self.outer_renamed();
        exprs.extend(self.own.iter().map(|(_, current)| Expr::Column(current.clone())));
        let inputs = unnest.input.schema().columns();
        let lists = unnest.list_type_columns.iter().map(|(index, _)| self.current(&inputs[*index]));
        let lists = lists.collect::<Result<Vec<_>>>()?;
        let mut nulls = NullHandling::Drop;
        if self.is_outer {
            nulls = NullHandling::PreserveAndExpandEmpty;
            self.tell(has_items(column_exprs(lists.clone())), &mut exprs);
        }
        let depends_on = unnest.schema.columns().into_iter().zip(&unnest.dependency_indices);
        self.own =
            depends_on.map(|(column, index)| Ok((column, self.current(&inputs[*index])?))).collect::<Result<_>>()?;
        self.project(exprs)?;
        self.unnest_columns(lists, nulls)
    }

    fn unnest_columns(&mut self, lists: Vec<Column>, nulls: NullHandling) -> Result<()> {
        self.plan = LogicalPlanBuilder::from(self.plan.clone())
            .unnest_columns_with_options(lists, UnnestOptions::new().with_null_handling(nulls))?
            .build()?;
        Ok(())
    }

    /// The rows under the names of the join's columns.
    fn joined(mut self, join: &Join, conditions: Vec<Expr>) -> Result<LogicalPlan> {
        let conditions = conditions.into_iter().map(|condition| self.inward(condition)).collect::<Result<Vec<_>>>()?;
        self.choose(conditions)?;
        let mut exprs = Vec::with_capacity(join.schema.fields().len());
        for (column, field) in columns_and_fields(join.left.schema()) {
            exprs.push(named(Expr::Column(self.outer[&column].clone()), &column, field));
        }
        for (column, field) in columns_and_fields(join.right.schema()) {
            let value = Expr::Column(self.current(&column)?);
            exprs.push(named(self.where_there(value)?, &column, field));
        }
        project(self.plan, exprs)
    }

    /// Adds the column of whether there is a partner.
    fn tell(&mut self, is_there: Expr, exprs: &mut Vec<Expr>) {
        let name = Column::from_name(self.names.next("there"));
        exprs.push(is_there.alias(name.name.clone()));
        self.is_there = Some(name);
    }

    /// A value that is NULL, and not computed, where there is no partner.
    fn where_there(&self, value: Expr) -> Result<Expr> {
        let is_own = |column: &Column| self.own.iter().any(|(_, current)| current == column);
        let is_null_already = !self.is_open && matches!(&value, Expr::Column(column) if is_own(column));
        match &self.is_there {
            Some(is_there) if !is_null_already => when(Expr::Column(is_there.clone()), value).end(),
            _ => Ok(value),
        }
    }

    /// What each further projection keeps: the rows' columns, those of partners, and what tells whether there is one.
    fn kept(&self) -> Vec<Expr> {
        let outer = self.columns.iter().map(|column| self.outer[column].clone());
        column_exprs(outer.chain(self.partners.iter().cloned()).chain(self.is_there.clone()).collect())
    }

    /// As [`Self::kept`], with names that no other column has: the engine looks for columns by their names alone where it makes
    /// rows of lists.
    fn outer_renamed(&mut self) -> Vec<Expr> {
        let mut exprs = self.kept();
        for (column, expr) in self.columns.iter().zip(&mut exprs) {
            let name = self.names.next(&column.name);
            self.outer.insert(column.clone(), Column::from_name(name.clone()));
            *expr = std::mem::take(expr).alias(name);
        }
        exprs
    }

    fn project(&mut self, exprs: Vec<Expr>) -> Result<()> {
        self.plan = project(self.plan.clone(), exprs)?;
        Ok(())
    }

    fn current(&self, own: &Column) -> Result<Column> {
        match self.own.iter().find(|(column, _)| column == own) {
            Some((_, current)) => Ok(current.clone()),
            None => internal_err!("a column of no rows: {own}"),
        }
    }

    /// An expression of the node beside, or of the join, over the columns of `plan`.
    fn inward(&self, expr: Expr) -> Result<Expr> {
        let of_outer = |e: Expr| {
            let current = match &e {
                Expr::Column(column) => self.outer.get(column).cloned(),
                _ => None,
            };
            Ok(current.map_or_else(|| Transformed::no(e), |current| Transformed::yes(Expr::Column(current))))
        };
        let inward = expr.transform_down(|e| {
            let current = match (self.correlation.position(&e), &e) {
                (Some(index), _) => self.correlation.parameters[index].value.clone().transform(of_outer)?.data,
                (None, Expr::Column(column)) => match self.current(column) {
                    Ok(current) => Expr::Column(current),
                    Err(_) => of_outer(e)?.data,
                },
                (None, _) => return Ok(Transformed::no(e)),
            };
            Ok(Transformed::new(current, true, TreeNodeRecursion::Jump))
        })?;
        Ok(inward.data)
    }
}

fn columns_and_fields(schema: &DFSchema) -> impl Iterator<Item = (Column, &Field)> {
    schema.iter().map(|(relation, field)| (Column::new(relation.cloned(), field.name()), field.as_ref()))
}

/// A value under a column's name, with what the field says of its type.
fn named(value: Expr, column: &Column, field: &Field) -> Expr {
    let told = Some(FieldMetadata::from(field)).filter(|told| !told.is_empty());
    value.alias_qualified_with_metadata(column.relation.clone(), column.name.clone(), told)
}
