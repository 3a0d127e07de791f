//! Functions that are read from: the columns of their rows.

use sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Spanned, TableAlias,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{RangeColumn, RangeEntry, RangeFunction, RangeSource};
use super::from::{Alias, renamed};
use super::level::Level;
use crate::binder::is_mark;
use crate::catalogue::oids;
use crate::expr::{BoundExpr, ExprKind};
use crate::name::folded;
use crate::place::{AtPlace, Place};
use crate::usage::Usage;

/// What stands for ROWS FROM before the functions, which the parser does not read.
pub const ROWS_FROM: &str = "rows#from";

/// The column that WITH ORDINALITY adds.
const ORDINALITY: &str = "ordinality";

/// `unnest(a, b)` is one call for each array.
fn each_array(call: &Function) -> Vec<Function> {
    let is_unnest = call.name.0.last().and_then(ObjectNamePart::as_ident).is_some_and(|name| folded(name) == "unnest");
    match &call.args {
        FunctionArguments::List(list) if is_unnest => {
            list.args.iter().map(|array| call_of(call.name.clone(), vec![array.clone()])).collect()
        }
        _ => vec![call.clone()],
    }
}

/// The columns of a function's rows.
struct Columns {
    columns: Vec<RangeColumn>,
    /// It gives plain values.
    is_value: bool,
    is_defined: bool,
}

impl Level<'_> {
    /// A function's entry, and whether its rows are plain values.
    pub(super) fn function_entry(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> SqlResult<(usize, bool)> {
        let is_list = name.0.first().and_then(ObjectNamePart::as_ident).is_some_and(|name| is_mark(name, ROWS_FROM));
        if !is_list {
            let call = call_of(name.clone(), arguments.to_vec());
            return self.functions_entry(vec![call], alias, with_ordinality);
        }
        let mut calls = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))) => calls.extend(each_array(call)),
                other => return Err(SqlError::not_supported(format!("{other} in ROWS FROM"))),
            }
        }
        self.functions_entry(calls, alias, with_ordinality)
    }

    /// CURRENT_DATE and its kin, which are no names of tables: a row with their value.
    pub(super) fn value_word_entry(
        &mut self,
        word: &ObjectName,
        alias: Option<&TableAlias>,
    ) -> SqlResult<(usize, bool)> {
        let call = Function { args: FunctionArguments::None, ..call_of(word.clone(), Vec::new()) };
        self.functions_entry(vec![call], alias, false)
    }

    /// `unnest(a, b)` is one call for each array.
    pub(super) fn unnest(
        &mut self,
        arrays: &[Expr],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> SqlResult<(usize, bool)> {
        let first = arrays.first().map_or(Place::NOWHERE, |first| Place::start(first.span()));
        let place = self.before(first, &["UNNEST"]);
        let call = |array: &Expr| {
            let ident = Ident { span: place.span(), ..Ident::new("unnest") };
            let argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(array.clone()));
            call_of(ObjectName(vec![ObjectNamePart::Identifier(ident)]), vec![argument])
        };
        self.functions_entry(arrays.iter().map(call).collect(), alias, with_ordinality)
    }

    /// # Errors
    /// 42601 for columns that are to be defined, or are not to be; 42P10 for too many names.
    fn functions_entry(
        &mut self,
        calls: Vec<Function>,
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> SqlResult<(usize, bool)> {
        let defined = alias.map_or(&[][..], |alias| &alias.columns);
        let is_defined = defined.iter().any(|column| column.data_type.is_some());
        let given = if is_defined { Alias { columns: Vec::new(), ..Alias::of(alias) } } else { Alias::of(alias) };
        let is_only = calls.len() == 1;
        let mut functions = Vec::with_capacity(calls.len());
        let (mut is_value, mut all) = (false, Vec::new());
        let mut first_name = String::new();
        for call in calls {
            let name = call.name.0.last().and_then(ObjectNamePart::as_ident).map(folded).unwrap_or_default();
            let bound = self.function_call(call)?;
            let called = given.name.as_deref().filter(|_| is_only).unwrap_or(&name);
            let definitions: Vec<(&Ident, &DataType)> =
                defined.iter().filter_map(|column| Some((&column.name, column.data_type.as_ref()?))).collect();
            let columns = self.columns_of_call(&bound, called, &definitions)?;
            if columns.is_defined && with_ordinality {
                let message = "WITH ORDINALITY cannot be used with a column definition list";
                let place = definitions.first().map_or(Place::NOWHERE, |(name, _)| Place::start(name.span));
                return Err(SqlError::new(ErrorKind::Syntax, message)
                    .with_hint("Put the column definition list inside ROWS FROM().")
                    .at_place(place));
            }
            is_value = columns.is_value && is_only && !with_ordinality;
            all.extend(columns.columns.iter().cloned());
            functions.push(RangeFunction { call: bound, columns: columns.columns, is_defined: columns.is_defined });
            if first_name.is_empty() {
                first_name = name;
            }
        }
        if with_ordinality {
            all.push(RangeColumn { name: ORDINALITY.to_owned(), ty: self.lookup().of_type(oids::INT8, -1) });
        }
        let has_alias = given.name.is_some();
        let name = given.name.unwrap_or(first_name);
        let (named_columns, columns) = (given.columns.len(), renamed(all, &given.columns, &name)?);
        let is_lateral = functions.iter().any(|function| function.call.names_columns());
        let source = RangeSource::Functions { functions, with_ordinality };
        Ok((self.add_entry(RangeEntry { name, has_alias, named_columns, columns, source, is_lateral }), is_value))
    }

    fn function_call(&mut self, call: Function) -> SqlResult<BoundExpr> {
        self.namespace.is_lateral.set(true);
        let call = Expr::Function(call);
        let bound = self.binding(Usage::FromFunction, |binder| binder.bind_typed(&call));
        self.namespace.is_lateral.set(false);
        let bound = bound?;
        let mut inside = None;
        bound.for_each_part(&mut |part| inside = inside.or_else(|| part.place_of_rows()));
        match inside {
            Some(place) => {
                let message = "set-returning functions must appear at top level of FROM";
                Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place))
            }
            None => Ok(bound),
        }
    }

    /// PostgreSQL's `addRangeTableEntryForFunction`: by what the call gives.
    fn columns_of_call(
        &mut self,
        call: &BoundExpr,
        called: &str,
        definitions: &[(&Ident, &DataType)],
    ) -> SqlResult<Columns> {
        let oid = call.ty.oid;
        let lookup = self.lookup();
        let outs = match &call.kind {
            ExprKind::Call { function, .. } => function.columns.as_slice(),
            _ => &[],
        };
        let refused = |message: &str| {
            let place = definitions.first().map_or(Place::NOWHERE, |(name, _)| Place::start(name.span));
            SqlError::new(ErrorKind::Syntax, message).at_place(place)
        };
        let is_record = oid == oids::RECORD && outs.len() < 2;
        if is_record && definitions.is_empty() {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(call.place));
        }
        if !is_record && !definitions.is_empty() {
            return Err(refused(if oid == oids::RECORD {
                "a column definition list is redundant for a function with OUT parameters"
            } else if lookup.is_composite(oid) {
                "a column definition list is redundant for a function returning a named composite type"
            } else {
                "a column definition list is only allowed for functions returning \"record\""
            }));
        }
        let column = |name: &str, oid, typmod| RangeColumn { name: name.to_owned(), ty: lookup.of_type(oid, typmod) };
        let columns = if is_record {
            let mut columns: Vec<RangeColumn> = Vec::with_capacity(definitions.len());
            for (ident, data_type) in definitions {
                let (oid, typmod) = self.binding(Usage::FromFunction, |binder| binder.type_of(data_type))?;
                let name = folded(ident);
                if columns.iter().any(|known| known.name == name) {
                    let message = format!("column name \"{name}\" specified more than once");
                    return Err(SqlError::new(ErrorKind::DuplicateColumn, message).at_place(Place::start(ident.span)));
                }
                columns.push(column(&name, oid, typmod));
            }
            return Ok(Columns { columns, is_value: false, is_defined: true });
        } else if lookup.is_row(oid) {
            let fields = self.binding(Usage::FromFunction, |binder| Ok(binder.typing.fields(call.ty)))?;
            fields.iter().map(|(name, oid, typmod)| column(name, *oid, *typmod)).collect()
        } else {
            let own = match outs {
                [(own, _)] if !own.is_empty() => own,
                _ => called,
            };
            let only = RangeColumn { name: own.to_owned(), ty: call.ty };
            return Ok(Columns { columns: vec![only], is_value: true, is_defined: false });
        };
        Ok(Columns { columns, is_value: false, is_defined: false })
    }
}

fn call_of(name: ObjectName, args: Vec<FunctionArg>) -> Function {
    let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
    Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}
