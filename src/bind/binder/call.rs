//! Functions, aggregates and window functions.

use std::borrow::Cow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList, FunctionArguments,
    ObjectName, ObjectNamePart, Spanned,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Binder, is_mark, name_of};
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, FunctionKind, Lookup};
use crate::coerce::polymorphic;
use crate::expr::{BoundExpr, CallForm, ExprKind, Literal, OverRows, ValueWord, Written};
use crate::name::{Name, folded};
use crate::place::{AtPlace, Place};
use crate::resolve::{Asked, Chosen, Fit, Unresolved, signature};
use crate::typing::Field;

/// What `normalize` takes behind its text.
const FORMS: [&str; 4] = ["NFC", "NFD", "NFKC", "NFKD"];

/// The arguments of a call, bound.
struct Arguments {
    bound: Vec<BoundExpr>,
    /// The names of the last of them.
    names: Vec<String>,
}

/// What the last argument is called with that VARIADIC stands before, which the parser does not read.
pub const VARIADIC: &str = "variadic#";

/// The arguments without that mark; `None` where it is on none.
fn without_variadic(list: &FunctionArgumentList) -> Option<FunctionArgumentList> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(marked))) = list.args.last()? else { return None };
    let name = marked.name.0.first()?.as_ident()?;
    let FunctionArguments::List(array) = &marked.args else { return None };
    if !is_mark(name, VARIADIC) {
        return None;
    }
    let mut list = list.clone();
    list.args.pop();
    list.args.extend(array.args.first().cloned());
    Some(list)
}

impl Binder<'_> {
    pub(super) fn function(&mut self, function: &Function) -> SqlResult<BoundExpr> {
        let place = start_of(&function.name);
        let list = match &function.args {
            FunctionArguments::None => return self.word_of(function, None, place),
            FunctionArguments::Subquery(query) => return self.array_of_query(query, place),
            FunctionArguments::List(list) => list,
        };
        let unmarked = without_variadic(list);
        let list = unmarked.as_ref().unwrap_or(list);
        if let Some(special) = self.special(function, list, place)? {
            return Ok(special);
        }
        let Arguments { mut bound, names } = self.arguments(list, place)?;
        let mut rows = self.over_rows(function, list)?;
        rows.window = self.window_of(function)?;
        if rows.within_group {
            bound.extend(rows.order.iter().map(|key| key.expr.clone()));
        }
        let parts: Vec<String> = function.name.0.iter().filter_map(|part| part.as_ident()).map(folded).collect();
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [.., schema, name] => (Some(schema.as_str()), name.as_str()),
            [] => return Err(SqlError::new(ErrorKind::Internal, "a function without a name")),
        };
        let given: Vec<Oid> = bound.iter().map(BoundExpr::oid).collect();
        let asked = Asked { schema, name, given: &given, names: &names, variadic: unmarked.is_some() };
        // What it is sorted by is of the function that is meant.
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(keys) => {
                    self.chosen(&asked, place, keys.len() > 1)?;
                    rows.order = self.sort_keys(keys)?;
                }
                other => return Err(SqlError::not_supported(format!("{other} in a call"))),
            }
        }
        self.call_over(&asked, bound, rows, place)
    }

    /// Those of a call that begins there.
    fn arguments(&mut self, list: &FunctionArgumentList, start: Place) -> SqlResult<Arguments> {
        let mut arguments = Arguments { bound: Vec::with_capacity(list.args.len()), names: Vec::new() };
        for argument in &list.args {
            let (name, value) = match argument {
                FunctionArg::Unnamed(value) => (None, value),
                FunctionArg::Named { name, arg, .. }
                | FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => (Some(name), arg),
                FunctionArg::ExprNamed { name, .. } => {
                    return Err(SqlError::not_supported(format!("the argument {name}")));
                }
            };
            let value = match value {
                FunctionArgExpr::Expr(value) => self.bind(value)?,
                FunctionArgExpr::QualifiedWildcard(table) => self.row_of_table(table)?,
                FunctionArgExpr::Wildcard if list.args.len() > 1 => {
                    let place = self.source.and_then(|source| source.next(start, "*")).unwrap_or(Place::NOWHERE);
                    return Err(SqlError::new(ErrorKind::Syntax, "syntax error at or near \"*\"").at_place(place));
                }
                FunctionArgExpr::Wildcard | FunctionArgExpr::WildcardWithOptions(_) => continue,
            };
            match name {
                // JDBC has a parameter of this type where it wants the result.
                None if matches!(value.kind, ExprKind::Parameter(_)) && value.ty.oid == oids::VOID => continue,
                Some(ident) => {
                    let name = folded(ident);
                    if arguments.names.contains(&name) {
                        let message = format!("argument name \"{name}\" used more than once");
                        return Err(SqlError::new(ErrorKind::Syntax, message).at_place(Place::start(ident.span)));
                    }
                    arguments.names.push(name);
                }
                None if !arguments.names.is_empty() => {
                    let message = "positional argument cannot follow named argument";
                    return Err(SqlError::new(ErrorKind::Syntax, message).at_place(value.place));
                }
                None => {}
            }
            arguments.bound.push(value);
        }
        Ok(arguments)
    }

    /// Those of `ROW(a, t.*)`, where `*` stands for the columns.
    fn items_of_row(&mut self, list: &FunctionArgumentList, start: Place) -> SqlResult<Vec<BoundExpr>> {
        let mut items = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => {
                    let parts: Vec<Name> = table.0.iter().filter_map(|part| part.as_ident()).map(name_of).collect();
                    let place = start_of(table);
                    let (level, entry) = self.scope.table(&parts, place)?;
                    items.extend(self.scope.shown_columns(level, entry, place));
                }
                other => {
                    let alone = FunctionArgumentList { args: vec![other.clone()], ..list.clone() };
                    items.extend(self.arguments(&alone, start)?.bound);
                }
            }
        }
        Ok(items)
    }

    /// `t.*`, where a value is asked for.
    pub(super) fn row_of_table(&mut self, table: &ObjectName) -> SqlResult<BoundExpr> {
        let parts: Vec<Name> = table.0.iter().filter_map(|part| part.as_ident()).map(name_of).collect();
        let place = start_of(table);
        let (level, entry) = self.scope.table(&parts, place)?;
        let row = self.scope.row(level, entry, place);
        Ok(self.with_its_columns(row))
    }

    /// What the grammar makes of the name itself.
    fn special(
        &mut self,
        function: &Function,
        list: &FunctionArgumentList,
        place: Place,
    ) -> SqlResult<Option<BoundExpr>> {
        let [part] = function.name.0.as_slice() else { return Ok(None) };
        let Some(ident) = part.as_ident().filter(|ident| ident.quote_style.is_none()) else { return Ok(None) };
        let name = ident.value.to_ascii_lowercase();
        if value_word(&name).is_some() {
            return self.word_of(function, Some(list), place).map(Some);
        }
        if !matches!(name.as_str(), "coalesce" | "greatest" | "least" | "nullif" | "row" | "normalize" | "grouping") {
            return Ok(None);
        }
        if name == "row" {
            let items = self.items_of_row(list, place)?;
            return Ok(Some(self.row_of(items, place)));
        }
        let Arguments { mut bound, .. } = self.arguments_of_words(&name, list, place)?;
        Ok(Some(match name.as_str() {
            "coalesce" => self.coalesce(bound, place)?,
            "greatest" => self.of_one_type(bound, "GREATEST", place, ExprKind::Greatest)?,
            "least" => self.of_one_type(bound, "LEAST", place, ExprKind::Least)?,
            "grouping" => self.grouping(bound, place)?,
            "nullif" if bound.len() == 2 => {
                let right = bound.remove(1);
                self.null_if(bound.remove(0), right, place)?
            }
            "normalize" => self.call_in_words("normalize", bound, place)?,
            _ => return Err(SqlError::new(ErrorKind::Syntax, format!("{name} takes two arguments")).at_place(place)),
        }))
    }

    /// The form in `normalize(a, nfc)` is a word.
    fn arguments_of_words(&mut self, name: &str, list: &FunctionArgumentList, start: Place) -> SqlResult<Arguments> {
        let [first, FunctionArg::Unnamed(FunctionArgExpr::Expr(form))] = list.args.as_slice() else {
            return self.arguments(list, start);
        };
        if name != "normalize" {
            return self.arguments(list, start);
        }
        let form = match form {
            Expr::Identifier(form) if FORMS.iter().any(|known| form.value.eq_ignore_ascii_case(known)) => form,
            other => {
                let place = Place::start(other.span());
                let message = format!("syntax error at or near \"{other}\"");
                return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
            }
        };
        let alone = FunctionArgumentList { args: vec![first.clone()], ..list.clone() };
        let mut arguments = self.arguments(&alone, start)?;
        let form_name = form.value.to_ascii_uppercase();
        arguments.bound.push(self.unknown(Literal::Text(form_name.into()), Place::start(form.span)));
        Ok(arguments)
    }

    /// CURRENT_TIMESTAMP and the like, with the digits of their seconds.
    fn word_of(
        &mut self,
        function: &Function,
        list: Option<&FunctionArgumentList>,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let name = function.name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default();
        let Some(word) = value_word(&name) else {
            return Err(SqlError::not_supported(format!("the word {name}")).at_place(place));
        };
        let digits = match list.map(|list| list.args.as_slice()) {
            None | Some([]) => -1,
            Some([FunctionArg::Unnamed(FunctionArgExpr::Expr(digits))]) => {
                digits.to_string().parse::<i32>().unwrap_or(-1).min(6)
            }
            Some(_) => return Err(SqlError::not_supported(format!("the arguments of {name}")).at_place(place)),
        };
        Ok(self.value_word(word, digits, place))
    }

    /// A call of a function in words of its own.
    pub(super) fn call_in_words(
        &mut self,
        name: &str,
        arguments: Vec<BoundExpr>,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let given: Vec<Oid> = arguments.iter().map(BoundExpr::oid).collect();
        let asked = Asked { schema: Some("pg_catalog"), name, given: &given, names: &[], variadic: false };
        self.call_of(&asked, arguments, place, CallForm::Words)
    }

    /// PostgreSQL's `ParseFuncOrColumn`, of a call without more than arguments.
    pub(super) fn call_of(
        &mut self,
        asked: &Asked<'_>,
        arguments: Vec<BoundExpr>,
        place: Place,
        form: CallForm,
    ) -> SqlResult<BoundExpr> {
        match self.chosen(asked, place, false)? {
            Chosen::Cast(target) => self.cast_by_call(arguments, target, place),
            Chosen::Function(fit) => {
                let (arguments, result, variadic) = self.fitted(&fit, asked, arguments, place)?;
                self.plain_call(fit, asked, arguments, (result, variadic), place, form)
            }
        }
    }

    /// The arguments of a hypothetical-set aggregate are a row like those it is placed among.
    fn wrong_place(&self, asked: &Asked<'_>, direct: usize, sorted: usize) -> Box<SqlError> {
        let types: Vec<String> = asked.given.iter().map(|oid| self.lookup.type_name(*oid)).collect();
        let name = asked.name;
        let message = format!("function {name}({}) does not exist", types.join(", "));
        SqlError::new(ErrorKind::UndefinedFunction, message).with_hint(format!(
            "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {direct}) must \
             match the number of ordering columns (here {sorted})."
        ))
    }

    fn call_over(
        &mut self,
        asked: &Asked<'_>,
        arguments: Vec<BoundExpr>,
        rows: OverRows,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let is_ordered = rows.order.len() > 1 && !rows.within_group;
        let fit = match self.chosen(asked, place, is_ordered)? {
            Chosen::Cast(target) => {
                refuse_rows(asked.name, &rows, place)?;
                return self.cast_by_call(arguments, target, place);
            }
            Chosen::Function(fit) => fit,
        };
        match fit.function.kind {
            FunctionKind::Procedure => {
                let message = format!("{} is a procedure", signature(self.lookup, asked));
                return Err(SqlError::new(ErrorKind::WrongObjectType, message)
                    .with_hint("To call a procedure, use CALL.")
                    .at_place(place));
            }
            FunctionKind::Function => refuse_rows(asked.name, &rows, place)?,
            FunctionKind::Window if rows.window.is_none() => {
                let message = format!("window function {} requires an OVER clause", asked.name);
                return Err(SqlError::new(ErrorKind::WrongObjectType, message).at_place(place));
            }
            FunctionKind::Window | FunctionKind::Aggregate => {}
        }
        if fit.function.kind == FunctionKind::Aggregate
            && asked.given.is_empty()
            && !rows.is_star
            && rows.order.is_empty()
        {
            let message = format!("{}(*) must be used to call a parameterless aggregate function", asked.name);
            return Err(SqlError::new(ErrorKind::WrongObjectType, message).at_place(place));
        }
        if fit.function.kind != FunctionKind::Function {
            self.check_over_rows(&fit.function, &rows, place)?;
        }
        let (mut arguments, result, variadic) = self.fitted(&fit, asked, arguments, place)?;
        if fit.function.kind == FunctionKind::Function {
            return self.plain_call(fit, asked, arguments, (result, variadic), place, CallForm::Plain);
        }
        let ty = self.lookup.made_of(result, -1, &arguments)?;
        let function = fit.function;
        let mut rows = rows;
        if rows.within_group {
            let direct = arguments.len() - rows.order.len();
            rows.order.iter_mut().zip(&arguments[direct..]).for_each(|(key, argument)| key.expr = argument.clone());
        }
        let kind = if rows.window.is_some() {
            self.check_window_call(&arguments, &rows, place)?;
            ExprKind::WindowCall { function, arguments, rows }
        } else {
            self.check_distinct(&mut arguments, &rows)?;
            let direct = Self::direct_arguments(&function, &rows, arguments.len());
            if function.ordered.is_some_and(|ordered| ordered.is_hypothetical)
                && rows.within_group
                && direct != rows.order.len()
            {
                return Err(self.wrong_place(asked, direct, rows.order.len()).at_place(place));
            }
            let level = self.aggregate_level((&arguments, direct), &rows, place)?;
            ExprKind::Aggregate { function, arguments, variadic, rows, level }
        };
        Ok(BoundExpr::new(kind, ty, place))
    }

    fn plain_call(
        &mut self,
        fit: Fit,
        asked: &Asked<'_>,
        arguments: Vec<BoundExpr>,
        (result, variadic): (Oid, bool),
        place: Place,
        form: CallForm,
    ) -> SqlResult<BoundExpr> {
        if fit.function.gives_rows
            && let Some(refused) = self.usage.refuse_sets()
        {
            return Err(refused.at_place(place));
        }
        let ty = self.lookup.made_of(result, -1, &arguments)?;
        let ty = if result == oids::RECORD { self.typing.record(fields_of(self.lookup, &fit, asked)?) } else { ty };
        let first_named = arguments.len().saturating_sub(asked.names.len());
        let names = (first_named..).zip(asked.names.iter().cloned()).collect();
        // PostgreSQL looks at the first argument alone.
        let first = arguments.iter().map(|argument| argument.place).find(|place| place.is_known());
        let place = first.map_or(place, |first| place.leftmost(first));
        let kind = ExprKind::Call { function: fit.function, arguments, names, variadic, form };
        Ok(BoundExpr::new(kind, ty, place))
    }

    fn chosen(&self, asked: &Asked<'_>, place: Place, is_ordered: bool) -> SqlResult<Chosen> {
        if let Some(schema) = asked.schema.filter(|schema| !self.lookup.has_schema(schema)) {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(ErrorKind::UndefinedSchema, message).at_place(place));
        }
        self.lookup.function(asked).map_err(|why| {
            let signature = signature(self.lookup, asked);
            match why {
                Unresolved::Several => {
                    SqlError::new(ErrorKind::AmbiguousFunction, format!("function {signature} is not unique"))
                        .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
                }
                Unresolved::None => {
                    let hint = if asked.name == "uuid_generate_v4" {
                        "Use gen_random_uuid()."
                    } else if is_ordered {
                        "No aggregate function matches the given name and argument types. Perhaps you misplaced ORDER \
                         BY; ORDER BY must appear after all regular arguments of the aggregate."
                    } else {
                        "No function matches the given name and argument types. You might need to add explicit type casts."
                    };
                    let message = format!("function {signature} does not exist");
                    SqlError::new(ErrorKind::UndefinedFunction, message).with_hint(hint)
                }
            }
            .at_place(place)
        })
    }

    /// The arguments as the function takes them, the type of its result, and whether the last is a list.
    fn fitted(
        &mut self,
        fit: &Fit,
        asked: &Asked<'_>,
        arguments: Vec<BoundExpr>,
        place: Place,
    ) -> SqlResult<(Vec<BoundExpr>, Oid, bool)> {
        let mut types = fit.asked.clone();
        // Defaults are of the types that are asked for.
        let mut given = asked.given.to_vec();
        let unsaid = types[given.len()..].iter().copied().filter(|oid| !polymorphic::is_polymorphic(*oid));
        given.extend(unsaid);
        let result = polymorphic::resolve(self.lookup, &given, &mut types, fit.function.result)?;
        let count = arguments.len();
        let cast = arguments.into_iter().zip(&types).map(|(argument, oid)| self.typing.argument(argument, *oid));
        let mut cast = cast.collect::<SqlResult<Vec<_>>>()?;
        let is_list = fit.listed > 0 && fit.function.variadic != oids::ANY;
        if is_list {
            let items = cast.split_off(count - fit.listed);
            let element = items.first().map_or(fit.function.variadic, BoundExpr::oid);
            let array = self.lookup.array(element);
            let array = array.ok_or_else(|| polymorphic::no_array(self.lookup, element).at_place(place))?;
            let ty = self.lookup.made_of(array, -1, &items)?;
            let start = items.first().map_or(place, |first| first.place);
            cast.push(BoundExpr::new(ExprKind::Array { items, is_of_arrays: false }, ty, start));
        }
        Ok((cast, result, is_list || asked.variadic))
    }

    /// `text(a)`: a cast that is written as a call.
    fn cast_by_call(&mut self, mut arguments: Vec<BoundExpr>, target: Oid, place: Place) -> SqlResult<BoundExpr> {
        let Some(argument) = arguments.pop() else {
            return Err(SqlError::new(ErrorKind::Internal, "a cast of nothing"));
        };
        self.typing.coerce(argument, target, -1, CastContext::Explicit, Written::Explicitly, place)
    }
}

/// The columns of the rows that a function gives to such a call.
fn fields_of(lookup: Lookup<'_>, fit: &Fit, asked: &Asked<'_>) -> SqlResult<Vec<Field>> {
    let field = |(name, oid): &(Cow<'static, str>, Oid)| {
        let oid = match polymorphic::is_polymorphic(*oid) {
            true => polymorphic::resolve(lookup, asked.given, &mut fit.asked.clone(), *oid)?,
            false => *oid,
        };
        Ok((name.to_string(), oid, -1))
    };
    fit.function.columns.iter().map(field).collect()
}

/// What only aggregates are called with.
fn refuse_rows(name: &str, rows: &OverRows, place: Place) -> SqlResult<()> {
    let message = if rows.is_star {
        format!("{name}(*) specified, but {name} is not an aggregate function")
    } else if rows.is_distinct {
        format!("DISTINCT specified, but {name} is not an aggregate function")
    } else if rows.within_group {
        format!("WITHIN GROUP specified, but {name} is not an aggregate function")
    } else if !rows.order.is_empty() {
        format!("ORDER BY specified, but {name} is not an aggregate function")
    } else if rows.filter.is_some() {
        format!("FILTER specified, but {name} is not an aggregate function")
    } else if rows.window.is_some() {
        format!("OVER specified, but {name} is not a window function nor an aggregate function")
    } else {
        return Ok(());
    };
    Err(SqlError::new(ErrorKind::WrongObjectType, message).at_place(place))
}

fn start_of(name: &ObjectName) -> Place {
    name.0.first().and_then(|part| part.as_ident()).map_or(Place::NOWHERE, |ident| Place::start(ident.span))
}

/// Whether a name is a reserved word that stands for a value.
pub(crate) fn is_value_word(name: &ObjectName) -> bool {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(word)] if word.quote_style.is_none() => value_word(&folded(word)).is_some(),
        _ => false,
    }
}

fn value_word(name: &str) -> Option<ValueWord> {
    Some(match name {
        "current_date" => ValueWord::CurrentDate,
        "current_time" => ValueWord::CurrentTime,
        "current_timestamp" => ValueWord::CurrentTimestamp,
        "localtime" => ValueWord::LocalTime,
        "localtimestamp" => ValueWord::LocalTimestamp,
        "current_role" => ValueWord::CurrentRole,
        "current_user" => ValueWord::CurrentUser,
        "user" => ValueWord::User,
        "session_user" => ValueWord::SessionUser,
        "current_catalog" => ValueWord::CurrentCatalog,
        _ => return None,
    })
}
