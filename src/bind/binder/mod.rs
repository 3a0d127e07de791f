//! From syntax to meaning: one walk down, in which every part gets its type.
//!
//! ```text
//!     literal      constants, typed and not
//!     operation    operators, comparisons, rows of AND and OR
//!     conditional  CASE, COALESCE, NULLIF, GREATEST
//!     call         functions
//!     over_rows    aggregates, windows, and which query they are of
//!     words        what has a grammar of its own: EXTRACT, SUBSTRING, AT TIME ZONE
//!     array        arrays, subscripts, fields, rows
//!     cast         casts, COLLATE
//!     precedence   what the parser binds otherwise than PostgreSQL
//!     type_name    types as they are written
//! ```

mod array;
mod call;
mod cast;
mod conditional;
mod literal;
mod operation;
mod over_rows;
mod precedence;
mod rows;
mod type_name;
mod words;

use sqlparser::ast::{Expr, Ident, Query, WindowType};
use sqlparser::tokenizer::Location;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt;
use tablegate_types::stack::deeper;
use tablegate_types::style::Reading;

pub use self::call::VARIADIC;
pub(crate) use self::call::is_value_word;
pub use self::cast::collation_named;
pub use self::operation::SYMMETRIC;
pub(crate) use self::over_rows::aggregate_of;
pub use self::over_rows::{Reach, ReachedLevel};
pub use self::precedence::set_right;
pub use self::type_name::items_of;
use crate::catalogue::{CastContext, Lookup, Oid, oids};
use crate::expr::{BoundExpr, ExprType, Written};
use crate::name::{Name, folded};
use crate::parameters::Parameters;
use crate::place::{AtPlace, Place, Source};
use crate::scope::Scope;
use crate::typing::Typing;
use crate::usage::Usage;

/// How many expressions may be inside each other.
const MOST_DEPTH: usize = 10_000;

/// What is made of so few expressions may be repeated for as many comparisons as are written.
const SHORT: usize = 8;

/// Most expressions that longer ones are made of when they are repeated.
const MOST_REPEATED: usize = 20_000;

/// A query inside of an expression, as whoever binds queries has bound it.
pub struct BoundSubQuery {
    /// By which it is found again.
    pub number: usize,
    pub columns: Vec<ExprType>,
}

/// Binds the queries inside of expressions.
pub trait SubQueries {
    /// # Errors
    /// Whatever is wrong with the query.
    fn bind(&mut self, query: &Query, scope: Scope<'_>, parameters: &mut Parameters) -> SqlResult<BoundSubQuery>;

    /// What a query that was bound names of those around it.
    fn reach(&self, _number: usize) -> Option<&Reach> {
        None
    }

    /// The number of a window among those of the query that the expression is of; `None` where there are none.
    ///
    /// # Errors
    /// 42704 for a name that none has.
    fn window(&mut self, _over: &WindowType) -> SqlResult<Option<usize>> {
        Ok(None)
    }
}

/// Binds expressions over the names of a scope.
pub struct Binder<'b> {
    pub(crate) lookup: Lookup<'b>,
    pub(crate) scope: Scope<'b>,
    pub(crate) source: Option<&'b Source<'b>>,
    pub(crate) usage: Usage,
    pub(crate) typing: Typing<'b>,
    pub(crate) queries: Option<&'b mut dyn SubQueries>,
    depth: usize,
    /// Of how many expressions those are made that were repeated.
    repeated: usize,
}

impl<'b> Binder<'b> {
    pub fn new(lookup: Lookup<'b>, scope: Scope<'b>, usage: Usage) -> Self {
        Self { lookup, scope, source: None, usage, typing: Typing::new(lookup), queries: None, depth: 0, repeated: 0 }
    }

    /// With the text that the syntax comes from, for the places in it.
    #[must_use]
    pub fn with_source(self, source: &'b Source<'b>) -> Self {
        Self { source: Some(source), ..self }
    }

    #[must_use]
    pub fn with_reading(mut self, reading: Reading) -> Self {
        self.typing.reading = reading;
        self
    }

    #[must_use]
    pub fn with_parameters(mut self, parameters: Parameters) -> Self {
        self.typing.parameters = parameters;
        self
    }

    #[must_use]
    pub fn with_queries(self, queries: &'b mut dyn SubQueries) -> Self {
        Self { queries: Some(queries), ..self }
    }

    /// An expression once more, for a form that means several comparisons with it.
    ///
    /// # Errors
    /// 54001 when what is repeated grows beyond measure: such forms within each other double it with each of them.
    fn repeated(&mut self, expr: &BoundExpr) -> SqlResult<BoundExpr> {
        let size = expr.size();
        if size > SHORT {
            self.repeated += size;
        }
        if self.repeated > MOST_REPEATED {
            let hint = "Compute what is compared in a sub-query, and compare its column.";
            return Err(SqlError::new(ErrorKind::TooComplex, "the statement is too complex")
                .with_detail("BETWEEN and IN compare their first operand several times, and stand within each other.")
                .with_hint(hint));
        }
        Ok(expr.clone())
    }

    /// What an expression means. A literal that nothing gives a type to has none.
    ///
    /// # Errors
    /// PostgreSQL's, with their places.
    pub(crate) fn bind(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        if self.depth >= MOST_DEPTH {
            let hint = "Part the expression into several.";
            return Err(SqlError::new(ErrorKind::TooComplex, "stack depth limit exceeded").with_hint(hint));
        }
        interrupt::check()?;
        self.depth += 1;
        let bound = deeper(|| match precedence::is_wrong(expr) {
            false => self.bind_form(expr),
            true => {
                let mut expr = expr.clone();
                set_right(&mut expr);
                self.bind_form(&expr)
            }
        });
        self.depth -= 1;
        bound
    }

    /// A condition, as the construct has one.
    ///
    /// # Errors
    /// As [`Binder::bind`], and 42804 for other types.
    pub(crate) fn bind_condition(&mut self, expr: &Expr, construct: &str) -> SqlResult<BoundExpr> {
        let bound = self.bind(expr)?;
        self.typing.coerce_to_boolean(bound, construct)
    }

    /// An expression that is to have a type: a literal that nothing gives one to is text.
    ///
    /// # Errors
    /// As [`Binder::bind`].
    pub(crate) fn bind_typed(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        let bound = self.bind(expr)?;
        if bound.is_unknown() { self.typing.argument(bound, oids::TEXT) } else { Ok(bound) }
    }

    /// The value that a column has by default, as PostgreSQL's `cookDefault` makes it.
    ///
    /// # Errors
    /// As [`Binder::bind`], and 42804 for one that the column does not take.
    pub(crate) fn bind_default(
        &mut self,
        expr: &Expr,
        column: &str,
        (oid, typmod): (Oid, i32),
    ) -> SqlResult<BoundExpr> {
        let bound = self.bind(expr)?;
        let given = bound.oid();
        let (context, written) = (CastContext::Assignment, Written::Implicitly);
        let cast = self.typing.coerce_to_target(bound, oid, typmod, context, written, Place::NOWHERE)?;
        cast.ok_or_else(|| {
            let (wanted, given) = (self.lookup.type_name(oid), self.lookup.type_name(given));
            let message = format!("column \"{column}\" is of type {wanted} but default expression is of type {given}");
            SqlError::new(ErrorKind::DatatypeMismatch, message)
                .with_hint("You will need to rewrite or cast the expression.")
        })
    }

    /// The same of several.
    pub(crate) fn bind_all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> SqlResult<Vec<BoundExpr>> {
        exprs.into_iter().map(|expr| self.bind(expr)).collect()
    }

    fn bind_form(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        match expr {
            Expr::Nested(inner) => self.bind(inner),
            Expr::QualifiedWildcard(table, _) => self.row_of_table(table),
            Expr::Identifier(ident) => self.name(std::slice::from_ref(ident)),
            Expr::CompoundIdentifier(parts) => self.name(parts),
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            Expr::Value(value) => self.value(value),
            Expr::TypedString(typed) => self.typed_string(typed),
            Expr::Interval(interval) => self.interval(interval),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::BinaryOp { .. } => self.binary(expr),
            Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_) => self.test(expr),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, false),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(left, right, true),
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Expr::InSubquery { expr, subquery, negated } => self.in_query(expr, subquery, *negated),
            Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } => self.like(expr),
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, true),
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, false),
            Expr::Cast { kind, expr, data_type, .. } => self.cast_to(kind, expr, data_type),
            Expr::Collate { expr, collation } => self.collate(expr, collation),
            Expr::Array(array) => self.array(expr, &array.elem),
            Expr::Tuple(items) => self.row(items),
            Expr::Case { case_token, operand, conditions, else_result, .. } => {
                self.case(Place::start(case_token.0.span), operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Function(function) => self.function(function),
            Expr::Extract { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Overlay { .. }
            | Expr::Position { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::AtTimeZone { .. }
            | Expr::IsNormalized { .. } => self.words(expr),
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated),
            Expr::Subquery(query) => self.value_of_query(query),
            other => Err(SqlError::not_supported(format!("the expression {other}"))),
        }
    }

    /// A column, a table's row, or a field of either.
    fn name(&mut self, parts: &[Ident]) -> SqlResult<BoundExpr> {
        let place = parts.first().map_or(Place::NOWHERE, |first| Place::start(first.span));
        if let [only] = parts
            && let Some(word) = self.word_without_parentheses(only, place)
        {
            return Ok(word);
        }
        if let Some(refused) = self.usage.refuse_columns() {
            return Err(refused.at_place(place));
        }
        let parts = match parts {
            [database, rest @ ..] if rest.len() == 3 && self.lookup.is_database(&folded(database)) => rest,
            parts => parts,
        };
        let names: Vec<Name> = parts.iter().map(name_of).collect();
        let found = self.scope.resolve(&names, place)?;
        Ok(self.with_its_columns(found))
    }

    /// Where a word or symbol stands that belongs to the operand which begins at a place.
    pub(crate) fn before(&self, place: Place, words: &[&str]) -> Place {
        self.source.and_then(|source| source.before(place, words)).unwrap_or(place)
    }

    /// Where an operator stands, behind an operand that ends at a place.
    fn behind(&self, end: Location, words: &[&str]) -> Place {
        self.source.and_then(|source| source.behind(end, words, 0)).unwrap_or(Place::NOWHERE)
    }
}

/// Whether a name is a mark that stands for what the parser does not read.
pub(crate) fn is_mark(ident: &Ident, mark: &str) -> bool {
    ident.quote_style.is_some() && ident.value == mark
}

pub(crate) fn name_of(ident: &Ident) -> Name {
    Name { text: folded(ident), is_quoted: ident.quote_style.is_some() }
}
