//! What is bound becomes the engine's: each operator, function and cast by what stands for it here.
//!
//! What the binder found is not found again: a name is a column's number, a literal has its type. Casts that nobody asked for
//! are left to the operation around them, which knows in which layout of a type it computes. What has no form of the engine's
//! is refused (0A000).
//!
//! ```text
//!     mod        each kind of expression, and what is around one
//!     constant   literals, and casts
//!     call       functions
//!     case       CASE
//!     guards     sequences that count in branches
//!     over_rows  aggregates and window functions
//!     hypothetical  the place that a row would have among others
//!     rows       rows as values
//!     sub_query  queries inside of expressions
//! ```

mod call;
mod case;
mod characters;
mod constant;
mod guards;
mod hypothetical;
mod over_rows;
mod rows;
mod sub_query;

use std::cell::{Cell, RefCell};

use datafusion::common::{Column, DFSchema, ScalarValue, TableReference};
use datafusion::logical_expr::expr::{InList, Placeholder};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, Subquery, when};
use datafusion::prelude::lit;
use tablegate_bind::catalogue::{oids, operators};
use tablegate_bind::expr::{BoundExpr, ExprKind, Index, Test};
use tablegate_bind::{BoundQuery, BuiltInOnly, Lookup};
use tablegate_types::conversion::{dimensions, innermost};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::{SqlType, TableRow};
use tablegate_types::stack::deeper;

pub(crate) use self::call::{argument_by_name, no_stored_type};
pub(crate) use self::sub_query::{outward, sub_query_of};
use super::frames::BeyondFrame;
use super::{Pass, chains, costs};
use crate::expr::catalog_functions::oids_of;
use crate::expr::literal;
use crate::expr::meaning::{IS_DISTINCT, Meaning};
use crate::expr::operand::Operand;
use crate::expr::operation::comparison_operator;
use crate::expr::parameters::Parameters;
use crate::expr::typed::ValueType;
use crate::recursion::WorkTable;
use crate::stoppable;

/// What stands around an expression: what its columns are, and its sub-queries.
pub(crate) trait Surroundings {
    /// The columns that expressions are computed over.
    fn schema(&self) -> &DFSchema;

    /// A column of a query so many outside of this one.
    ///
    /// # Errors
    /// When there is no such column, and for one that has no form of the engine's (0A000).
    fn column(&self, level: usize, entry: usize, column: usize) -> SqlResult<Expr>;

    /// The row of an entry of the range table.
    ///
    /// # Errors
    /// As [`Surroundings::column`].
    fn row(&self, _level: usize, _entry: usize) -> SqlResult<EntryRow> {
        Err(SqlError::not_supported("a row of a table in this place"))
    }

    /// The query that the expressions are of.
    fn query(&self) -> Option<&BoundQuery> {
        None
    }

    /// A sub-query of this query, by its number.
    ///
    /// # Errors
    /// What is wrong with it.
    fn sub_query(&self, _number: usize) -> SqlResult<Subquery> {
        Err(SqlError::not_supported("a sub-query in this place"))
    }

    /// The value of a sub-query, where it has run already.
    fn known_value(&self, _number: usize) -> Option<(ScalarValue, SqlType)> {
        None
    }

    /// The stored type of a property in each row, of a column of a table.
    ///
    /// # Errors
    /// 42883 for what is no such column.
    fn stored_type(&self, _level: usize, _entry: usize, _column: usize) -> SqlResult<Expr> {
        Err(SqlError::not_supported("edm_type in this place"))
    }

    /// Whether aggregates of this query are computed of its rows here, and not of the groups of a query beside these.
    fn has_own_groups(&self) -> bool {
        true
    }

    /// An aggregate of the query so many outside, which is computed there: as a column of its groups.
    ///
    /// # Errors
    /// As [`Surroundings::column`], and what is wrong with the aggregate.
    fn aggregate_outside(
        &self,
        _level: usize,
        _make: &dyn Fn(&dyn Surroundings) -> SqlResult<Expr>,
    ) -> SqlResult<Expr> {
        Err(SqlError::not_supported("an aggregate of a query around in this place"))
    }

    /// A column of the sub-query inside of which the expression is computed.
    ///
    /// # Errors
    /// When it is computed inside of none.
    fn sub_query_column(&self, _number: usize) -> SqlResult<Expr> {
        Err(SqlError::not_supported("a column of a sub-query in this place"))
    }

    /// Whether the statement changes settings: then they are asked for row by row.
    fn changes_settings(&self) -> bool {
        false
    }
}

/// The columns of a row of the range table, by their names.
pub(crate) struct EntryRow {
    /// The table that it is of.
    pub table: Option<TableRow>,
    pub columns: Vec<(String, Expr)>,
    /// Whether there is a row: an outer join may have none.
    pub is_there: Option<Expr>,
}

/// The columns of one table.
struct OneTable<'s>(&'s DFSchema);

impl Surroundings for OneTable<'_> {
    fn schema(&self) -> &DFSchema {
        self.0
    }

    fn column(&self, level: usize, _entry: usize, column: usize) -> SqlResult<Expr> {
        match level {
            0 => Ok(Expr::Column(Column::from(self.0.qualified_field(column)))),
            _ => Err(SqlError::not_supported("a column of a query around this one")),
        }
    }
}

/// Makes what is bound the engine's: expressions, and what the nodes of a plan ask of them.
pub(crate) struct Forms<'p>(Pass<'p>);

impl<'p> Forms<'p> {
    pub(crate) fn new(parameters: &'p Parameters<'p>) -> Self {
        Self(Pass { parameters, taken: RefCell::default(), repeated: Cell::default() })
    }

    /// The engine's form of an expression.
    ///
    /// # Errors
    /// 0A000 for what has none; what is wrong with the types of operands, and what the input function of a type says of a literal.
    pub(crate) fn expr(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        Ok(chains::guarded(chains::texts_evenly(self.0.bound(expr, around)?)?)?)
    }

    /// The same of a condition: what costs little is asked first.
    ///
    /// # Errors
    /// As [`Forms::expr`].
    pub(crate) fn condition(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let condition = chains::texts_evenly(self.0.bound(expr, around)?)?;
        Ok(chains::guarded_condition(costs::cheapest_first(condition)?)?)
    }

    /// A function of these arguments.
    ///
    /// # Errors
    /// As [`Forms::expr`].
    pub(crate) fn call(&self, name: &str, arguments: Vec<Expr>, around: &dyn Surroundings) -> SqlResult<Expr> {
        let operand = |argument| Ok(self.0.operand(argument, around.schema())?);
        self.0.bound_call(name, arguments.into_iter().map(operand).collect::<SqlResult<_>>()?, around)
    }

    /// A value as one of this type.
    ///
    /// # Errors
    /// As [`Forms::expr`].
    pub(crate) fn cast(&self, value: Expr, to: &SqlType, around: &dyn Surroundings) -> SqlResult<Expr> {
        self.0.cast_to(self.0.operand(value, around.schema())?, to)
    }

    /// A window function whose arguments are as the engine takes them, with what it asks of its order.
    ///
    /// # Errors
    /// 42883 for what cannot be sorted.
    pub(crate) fn window(&self, call: Expr, around: &dyn Surroundings) -> SqlResult<Expr> {
        match call {
            Expr::WindowFunction(call) => Ok(self.0.window(*call, BeyondFrame::default(), around.schema())?),
            other => Ok(other),
        }
    }

    /// A list of one value.
    ///
    /// # Errors
    /// As [`Forms::expr`].
    pub(crate) fn list_of(&self, value: Expr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let value = self.0.operand(value, around.schema())?;
        Ok(self.0.call(Meaning::Array, vec![value], around.schema())?)
    }

    /// The member of a JSON object as a value of this type: what is a string by its text, null and what is missing as NULL.
    ///
    /// # Errors
    /// As [`Forms::expr`].
    pub(crate) fn member(&self, object: Expr, name: &str, to: &SqlType, around: &dyn Surroundings) -> SqlResult<Expr> {
        let member = |operator: &str| {
            let name = Expr::Literal(ScalarValue::from(name), None);
            let operands = [object.clone(), name].map(|operand| self.0.operand(operand, around.schema()));
            let operands = operands.into_iter().collect::<Result<_, _>>()?;
            SqlResult::Ok(self.0.call(Meaning::Binary(operator.to_owned()), operands, around.schema())?)
        };
        let text = member("->>")?;
        match to {
            SqlType::Json | SqlType::Jsonb => {
                let document = when(text.is_not_null(), member("->")?).end()?;
                self.0.cast_to(self.0.operand(document, around.schema())?, to)
            }
            _ => self.0.cast_to(self.0.operand(text, around.schema())?, to),
        }
    }

    /// A query that reads its own rows, of its first term and of what makes the other one of a table with the rows so far.
    ///
    /// # Errors
    /// 42804 for columns of other types than those of the first term; what is wrong with the other one.
    pub(crate) fn recursive(
        &self,
        name: &str,
        first: LogicalPlan,
        make: impl FnOnce(LogicalPlan) -> SqlResult<LogicalPlan>,
        is_distinct: bool,
    ) -> SqlResult<LogicalPlan> {
        let (first, targets) = self.0.first_term(first)?;
        let recursive = make(WorkTable::scanned(name, TableReference::bare(name), first.schema().fields())?)?;
        Ok(self.0.recursion(name, first, recursive, &targets, is_distinct)?)
    }

    /// A node of a plan over inputs that are right, whose own expressions have their types: with what it asks of them.
    ///
    /// # Errors
    /// 42883 for what cannot be sorted or told apart, and when the engine refuses the node.
    pub(crate) fn node(&self, plan: LogicalPlan) -> SqlResult<LogicalPlan> {
        stoppable::check()?;
        let schema = merge_schema(&plan.inputs());
        Ok(self.0.finished(plan, &schema)?)
    }
}

/// The engine's form of an expression over these columns.
///
/// # Errors
/// As [`Forms::expr`].
pub(crate) fn bound(expr: &BoundExpr, schema: &DFSchema, parameters: &Parameters<'_>) -> SqlResult<Expr> {
    Forms::new(parameters).expr(expr, &OneTable(schema))
}

impl Pass<'_> {
    fn bound(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        stoppable::check()?;
        deeper(|| self.bound_form(expr, around))
    }

    fn bound_form(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let schema = around.schema();
        Ok(match &expr.kind {
            ExprKind::Column { level, entry, column } => around.column(*level, *entry, *column)?,
            ExprKind::WholeRow { level, entry } => self.entry_row(around.row(*level, *entry)?, around)?,
            ExprKind::Parameter(number) => {
                let parameter = Placeholder { id: format!("${number}"), field: None };
                self.parameters().see(&parameter.id);
                match self.parameters().typed(parameter) {
                    Expr::Placeholder(Placeholder { field: None, .. }) => {
                        let name = Lookup::new(&BuiltInOnly).type_name(expr.ty.oid);
                        return Err(SqlError::not_supported(format!("a parameter of type {name}")));
                    }
                    typed if expr.ty.oid == oids::BPCHAR => self.without_end(self.operand(typed, schema)?, around)?,
                    // It comes as a number, or as a name.
                    typed => self.named_by_parameter(typed, around)?,
                }
            }
            ExprKind::Aggregate { level: 0, function, arguments, variadic: false, rows }
                if function.is_built_in() && around.has_own_groups() =>
            {
                self.bound_aggregate(&function.name, arguments, rows, around)?
            }
            ExprKind::Aggregate { level, function, arguments, variadic: false, rows } if function.is_built_in() => {
                let make = |around: &dyn Surroundings| self.bound_aggregate(&function.name, arguments, rows, around);
                around.aggregate_outside(*level, &make)?
            }
            ExprKind::WindowCall { function, arguments, rows } if function.is_built_in() => {
                self.bound_window_call(&function.name, arguments, rows, around)?
            }
            ExprKind::Grouping { arguments, level: 0 } => self.grouping(arguments, around)?,
            ExprKind::SubQueryColumn(number) => around.sub_query_column(*number)?,
            ExprKind::SubQuery { query, used } => self.bound_sub_query(*query, used, around)?,
            ExprKind::Constant(constant) => self.constant(constant, expr, around)?,
            ExprKind::Cast { .. } => self.bound_cast(expr, around)?,
            ExprKind::Call { .. } => self.bound_function(expr, around)?,
            ExprKind::Word(word) => self.word(*word, expr, around)?,
            ExprKind::Operation { first, links } => {
                let mut left = self.bound_operand(first, around)?;
                for link in links {
                    let right = self.bound_operand(&link.operand, around)?;
                    left = self.as_left_of(link.operator, left, Some(&right.expr), around)?;
                    let right = self.as_right_of(link.operator, right, around)?;
                    let meaning = Meaning::Binary(link.operator.name.to_owned());
                    left = self.operand(self.call(meaning, vec![left, right], schema)?, schema)?;
                }
                left.expr
            }
            ExprKind::Prefix { operator, operand } => {
                let operand = self.bound_operand(operand, around)?;
                self.call(Meaning::Prefix(operator.name.to_owned()), vec![operand], schema)?
            }
            ExprKind::And(parts) => self.bound_conditions(parts, Operator::And, "AND", around)?,
            ExprKind::Or(parts) => self.bound_conditions(parts, Operator::Or, "OR", around)?,
            ExprKind::InList { any, comparisons } => {
                let operator = if *any { Operator::Or } else { Operator::And };
                self.bound_conditions(comparisons, operator, "IN", around)?
            }
            ExprKind::Not(value) => {
                let value = self.bound(value, around)?;
                Expr::Not(Box::new(self.truth(value, "NOT", schema)?))
            }
            ExprKind::Test { value, test, negated } => {
                let value = self.bound(value, around)?;
                self.bound_test(value, *test, *negated, around)?
            }
            ExprKind::Distinct { left, right, .. } => {
                let operands = vec![self.bound_operand(left, around)?, self.bound_operand(right, around)?];
                self.call(Meaning::Binary(IS_DISTINCT.to_owned()), operands, schema)?
            }
            ExprKind::NullIf { left, right, .. } => {
                let operands = vec![self.bound_operand(left, around)?, self.bound_operand(right, around)?];
                let value = self.call(Meaning::NullIf, operands, schema)?;
                match left.ty.oid {
                    // What it is compared as: `nullif(1, 1.5)` is a numeric.
                    oids::NUMERIC | oids::FLOAT8 if left.without_implicit_casts().ty.oid != left.ty.oid => {
                        self.cast_to(self.operand(value, schema)?, &constant::type_of(left)?)?
                    }
                    _ => value,
                }
            }
            ExprKind::OfItems { operator, any, value, array } => {
                self.bound_of_items(operator, *any, value, array, around)?
            }
            ExprKind::RowComparison { operators, left, right } => {
                let operators: Vec<&str> = operators.iter().map(|operator| operator.name).collect();
                self.compared_rows(&operators, left, right, around)?
            }
            ExprKind::Row(values) => self.row_of_values(values, around)?,
            ExprKind::Field { row, name, .. } => {
                let row = self.bound_operand(row, around)?;
                self.call(Meaning::Field(name.clone()), vec![row], schema)?
            }
            ExprKind::Array { items, .. } if items.is_empty() => self.empty_array(expr)?,
            ExprKind::Array { items, .. } => {
                let items = self.bound_operands(items, around)?;
                self.call(Meaning::Array, items, schema)?
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.bound_case(operand.as_deref(), branches, otherwise, around)?
            }
            ExprKind::Coalesce(parts) => {
                let parts = self.one_by_one(parts, &|part| self.bound(part, around), &Expr::is_null)?;
                let operands = parts.into_iter().map(|part| self.operand(part, schema)).collect::<Result<_, _>>()?;
                self.call(Meaning::Coalesce, operands, schema)?
            }
            ExprKind::Greatest(parts) => self.call(Meaning::Greatest, self.bound_operands(parts, around)?, schema)?,
            ExprKind::Least(parts) => self.call(Meaning::Least, self.bound_operands(parts, around)?, schema)?,
            ExprKind::Subscript { value, indexes } => self.subscript(value, indexes, around)?,
            // Texts have one order.
            ExprKind::Collate { value, .. } => self.bound(value, around)?,
            other => return Err(SqlError::not_supported(format!("{} in this place", words_of(other)))),
        })
    }

    fn bound_operand(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Operand> {
        Ok(self.operand(self.bound(expr, around)?, around.schema())?)
    }

    fn bound_operands(&self, exprs: &[BoundExpr], around: &dyn Surroundings) -> SqlResult<Vec<Operand>> {
        exprs.iter().map(|expr| self.bound_operand(expr, around)).collect()
    }

    fn bound_conditions(
        &self,
        parts: &[BoundExpr],
        operator: Operator,
        clause: &str,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let condition = |part: &BoundExpr| {
            let part = self.bound(part, around)?;
            SqlResult::Ok(self.truth(part, clause, around.schema())?)
        };
        let is_open = |condition: Expr| match operator {
            Operator::And => condition.is_not_false(),
            _ => condition.is_not_true(),
        };
        let conditions = self.one_by_one(parts, &condition, &is_open)?;
        chains::joined(conditions, operator).ok_or_else(|| SqlError::not_supported("a list of no conditions"))
    }

    fn bound_test(&self, value: Expr, test: Test, negated: bool, around: &dyn Surroundings) -> SqlResult<Expr> {
        let truth = |clause| self.truth(value.clone(), clause, around.schema()).map(Box::new);
        Ok(match (test, negated) {
            (Test::Null, negated) => self.is_null(value, negated, around.schema())?,
            (Test::True, false) => Expr::IsTrue(truth("IS TRUE")?),
            (Test::True, true) => Expr::IsNotTrue(truth("IS NOT TRUE")?),
            (Test::False, false) => Expr::IsFalse(truth("IS FALSE")?),
            (Test::False, true) => Expr::IsNotFalse(truth("IS NOT FALSE")?),
            (Test::Unknown, false) => Expr::IsUnknown(truth("IS UNKNOWN")?),
            (Test::Unknown, true) => Expr::IsNotUnknown(truth("IS NOT UNKNOWN")?),
        })
    }

    /// A list that is written out is one that scans understand.
    fn bound_of_items(
        &self,
        operator: &operators::Operator,
        any: bool,
        value: &BoundExpr,
        array: &BoundExpr,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let name = operator.name;
        let subject = self.as_left_of(operator, self.bound_operand(value, around)?, None, around)?;
        if let (ExprKind::Array { items, is_of_arrays: false }, ("=", true) | ("<>", false)) =
            (&array.without_implicit_casts().kind, (name, any))
        {
            let list = self.bound_operands(items, around)?.into_iter().map(|item| item.expr).collect();
            let within = InList { expr: Box::new(subject.expr), list, negated: !any };
            return Ok(self.in_list(within, around.schema())?);
        }
        if comparison_operator(name).is_none() {
            return self.with_each_item(name, any, subject, array, around);
        }
        let mut items = self.bound_operand(array, around)?;
        // Whatever its dimensions, each of its items is compared.
        if dimensions(items.sql_type()) > 1 {
            items = self.operand(self.bound_call("unnest_items", vec![items], around)?, around.schema())?;
        }
        let mut array = self.items_as_compared(operator, items, around)?;
        // What names objects is compared by number.
        if let SqlType::Array(item) = array.sql_type()
            && item.names_objects()
            && subject.sql_type() != &**item
        {
            let oids = self.bound_call(&oids_of(&item.to_string()), vec![array], around)?;
            array = self.operand(oids, around.schema())?;
        }
        let meaning = if any { Meaning::Any(name.to_owned()) } else { Meaning::All(name.to_owned()) };
        Ok(self.call(meaning, vec![subject, array], around.schema())?)
    }

    fn subscript(&self, value: &BoundExpr, indexes: &[Index], around: &dyn Surroundings) -> SqlResult<Expr> {
        let mut subject = self.bound_operand(value, around)?;
        let is_json = value.ty.oid == oids::JSONB;
        let dimensions = dimensions(subject.sql_type());
        if dimensions > 1 && indexes.iter().all(|index| matches!(index, Index::One(_))) && indexes.len() != dimensions {
            return literal::null(&ValueType::of(innermost(subject.sql_type()).clone()));
        }
        for index in indexes {
            let (name, places) = match index {
                Index::One(index) if is_json => {
                    let step = self.bound_operand(index, around)?;
                    let step = self.cast_to(step, &SqlType::Text)?;
                    ("jsonb_extract_path", vec![self.operand(step, around.schema())?])
                }
                // A name is an array of characters.
                Index::One(index) if value.ty.oid == oids::NAME => {
                    ("character of name", vec![self.bound_operand(index, around)?])
                }
                Index::One(index) if indexes.len() == dimensions.max(1) => {
                    ("array_subscript", vec![self.bound_operand(index, around)?])
                }
                Index::Slice(first, last) if indexes.len() == 1 && dimensions <= 1 && !is_json => {
                    let end = |end: &Option<Box<BoundExpr>>, otherwise: i32| match end {
                        Some(end) => self.bound_operand(end, around),
                        None => Ok(self.operand(lit(otherwise), around.schema())?),
                    };
                    ("array_part", vec![end(first, 1)?, end(last, i32::MAX)?])
                }
                Index::One(_) | Index::Slice(..) => return Err(SqlError::not_supported("several subscripts")),
            };
            let arguments = std::iter::once(subject).chain(places).collect();
            subject = self.operand(self.bound_call(name, arguments, around)?, around.schema())?;
        }
        Ok(subject.expr)
    }
}

/// What a kind of expression that has no form is called.
fn words_of(kind: &ExprKind) -> &'static str {
    match kind {
        ExprKind::Aggregate { .. } => "an aggregate of this kind",
        ExprKind::Grouping { .. } => "GROUPING of a query around",
        ExprKind::WindowCall { .. } => "a window function of this kind",
        ExprKind::CaseOperand => "the operand of CASE",
        ExprKind::Item => "an item of an array",
        ExprKind::Default => "DEFAULT",
        _ => "an expression of this kind",
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use tablegate_bind::{Binder, Entry, Scope, ScopeColumn, Usage};
    use tablegate_types::oid::{modifier, oid};

    use super::*;
    use crate::syntax::parse_expression;

    /// The engine's form of an expression over a table with a column of each of some types.
    fn form(text: &str) -> Option<String> {
        let columns = [
            ("a", SqlType::Int4),
            ("n", SqlType::Numeric(Some((10, 2)))),
            ("t", SqlType::Text),
            ("v", SqlType::Varchar(Some(10))),
            ("d", SqlType::Date),
            ("ok", SqlType::Bool),
            ("j", SqlType::Jsonb),
            ("ar", SqlType::Array(Box::new(SqlType::Int4))),
        ];
        let fields: Vec<_> = columns.iter().map(|(name, sql_type)| sql_type.field(name, true)).collect();
        let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
        let lookup = Lookup::new(&BuiltInOnly);
        let column = |(name, sql_type): &(&str, SqlType)| ScopeColumn {
            name: (*name).to_owned(),
            ty: lookup.of_type(oid(sql_type), modifier(sql_type)),
            is_hidden: false,
        };
        let columns = columns.iter().map(column).collect();
        let entries = [Entry { name: "x".to_owned(), schema: None, columns, row_type: 0, table: None }];
        let scope = Scope { entries: &entries, outer: None, namespace: None };
        let bound = parse_expression(text).unwrap().bind(&mut Binder::new(lookup, scope, Usage::Values)).unwrap();
        super::bound(&bound, &schema, &Parameters::new(&[])).ok().map(|expr| expr.to_string())
    }

    #[test]
    fn what_declarations_say_has_a_form() {
        for text in [
            "a > 5 AND a <> 7 OR ok",
            "n * 2 + a >= 0.5",
            "v IN ('x', 'y') AND a NOT IN (1, 2)",
            "a = ANY (ar) AND ar[1] > 0",
            "t LIKE 'a%' AND t !~ 'x'",
            "lower(v) = t AND length(t) < 5",
            "d > '2020-01-01' AND d <= current_date",
            "CASE a WHEN 1 THEN 'x' ELSE v END = 'x'",
            "coalesce(n, a, 0)::numeric(5, 1) IS DISTINCT FROM greatest(a, n)",
            "j ->> 'k' = 'x' AND j @> '{}'",
            "extract(year FROM d) > 2000 AND substring(t FROM 2) = '' AND trim(v) = v",
            "nullif(a, 0) IS NOT NULL AND NOT (ok IS TRUE)",
            "now() > '2020-01-01' AND a::text || v = 'x'",
            "array[a, 2] = ar",
            "ROW(a, t) < ROW(1, 'x')",
        ] {
            assert!(form(text).is_some(), "{text}");
        }
        assert_eq!(form("a + 1 > 2 AND v = 'x'").unwrap(), form("(a + 1) > 2 AND (v = 'x')").unwrap());
        for text in ["nextval('s')", "current_user = t"] {
            assert_eq!(form(text), None, "{text}");
        }
    }
}
