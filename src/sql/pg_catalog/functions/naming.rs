//! From names to OIDs and back: `to_regclass` and the like, and what casts such as `::regclass` are turned into.
//!
//! A value of `regclass` is kept as the name it prints. Where its OID is asked for, one of these functions finds it. Only
//! a `regproc` is kept as its OID: a name may be that of several functions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::datatypes::{DataType, Field};
use tablegate_types::error::{ErrorKind, SqlResult};
use tablegate_types::input::parse_text;
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument};
use crate::pg_catalog::cells::{Cell, array_of};
use crate::pg_catalog::references::Reference;

pub(super) const FUNCTIONS: &[Definition] = &[Definition::new("pg_get_userbyid", super::name, user_by_oid)];

/// The types that name objects.
const TYPES: &[(&str, Reference)] = &[
    ("regclass", Reference::Class),
    ("regtype", Reference::Type),
    ("regproc", Reference::Proc),
    ("regprocedure", Reference::Procedure),
    ("regoper", Reference::Oper),
    ("regoperator", Reference::Operator),
    ("regnamespace", Reference::Schema),
    ("regrole", Reference::Role),
    ("regcollation", Reference::Collation),
    ("regconfig", Reference::Config),
    ("regdictionary", Reference::Dictionary),
];

/// What is asked about a value that names an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Its OID.
    Oid,
    /// Its name as the type prints it.
    Name,
    /// Its OID, or NULL if there is none.
    FoundOid,
    /// Its name, or NULL if there is none: `to_regclass`.
    FoundName,
    /// The OIDs of an array's items.
    Oids,
    /// The names of an array's items.
    Names,
}

/// How the names of these functions begin. Only `to_regclass` and the like are PostgreSQL's.
const QUESTIONS: &[(&str, Question)] = &[
    ("oid of ", Question::Oid),
    ("name of ", Question::Name),
    ("oid of maybe ", Question::FoundOid),
    ("to_", Question::FoundName),
    ("oids of ", Question::Oids),
    ("names of ", Question::Names),
];

/// A function between names and OIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamingFunction {
    /// Of the type.
    name: &'static str,
    reference: Reference,
    question: Question,
}

impl NamingFunction {
    /// The function of this name.
    pub(super) fn find(name: &str) -> Option<Self> {
        // The longer beginning first: one is part of another.
        let mut questions = QUESTIONS.iter().rev();
        questions.find_map(|(prefix, question)| {
            let rest = name.strip_prefix(prefix)?;
            let (name, reference) = TYPES.iter().find(|(name, _)| *name == rest)?;
            Some(Self { name, reference: *reference, question: *question })
        })
    }

    /// What it is called in a plan.
    pub(super) fn name(&self) -> String {
        let prefix = QUESTIONS.iter().find(|(_, question)| *question == self.question).map_or("", |(prefix, _)| prefix);
        format!("{prefix}{}", self.name)
    }

    pub(super) fn returns(&self) -> SqlType {
        let own = SqlType::of_typname(self.name).unwrap_or(SqlType::Text);
        match self.question {
            Question::Oid | Question::FoundOid => SqlType::Oid,
            Question::Name | Question::FoundName => own,
            Question::Oids => SqlType::Array(Box::new(SqlType::Oid)),
            Question::Names => SqlType::Array(Box::new(own)),
        }
    }

    /// # Errors
    /// That there is no such object, where there must be one; what is wrong with a name.
    pub(super) fn evaluate(&self, context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
        let given = argument(arguments, 0);
        match self.question {
            Question::Oid => self.oid(context, given),
            Question::Name => self.printed(context, given),
            Question::FoundOid => Ok(self.found(context, given)?.into()),
            Question::FoundName => {
                let found = self.found(context, given)?;
                Ok(found.map_or(Cell::Null, |oid| self.value(context, oid)))
            }
            Question::Oids => each(given, &|item| self.oid(context, item)),
            Question::Names => each(given, &|item| self.printed(context, item)),
        }
    }

    /// The OID of what a name means; a number means itself, `-` means none.
    fn oid(&self, context: &FunctionContext, given: &Cell) -> SqlResult<Cell> {
        if *given == Cell::Null {
            return Ok(Cell::Null);
        }
        if let Some(oid) = given.as_oid() {
            return Ok(oid.into());
        }
        let text = given.as_text().unwrap_or_default();
        if text == "-" {
            return Ok(0u32.into());
        }
        match self.reference.find(context, &text)? {
            Some(oid) => Ok(oid.into()),
            None => Err(self.reference.missing(&text)),
        }
    }

    /// A value of the type.
    fn printed(&self, context: &FunctionContext, given: &Cell) -> SqlResult<Cell> {
        Ok(self.oid(context, given)?.as_oid().map_or(Cell::Null, |oid| self.value(context, oid)))
    }

    /// The name as PostgreSQL prints it; an OID that nothing has is printed itself. A function stays its OID.
    fn value(&self, context: &FunctionContext, oid: u32) -> Cell {
        match (self.reference, oid) {
            (Reference::Proc, _) => oid.into(),
            (_, 0) => "-".into(),
            _ => self.reference.print(context, oid).unwrap_or_else(|| oid.to_string()).into(),
        }
    }

    fn found(&self, context: &FunctionContext, given: &Cell) -> SqlResult<Option<u32>> {
        if let Some(oid) = given.as_oid() {
            return Ok(Some(oid));
        }
        let Some(text) = given.as_text() else { return Ok(None) };
        match self.reference.find(context, &text) {
            Err(error) if error.kind == ErrorKind::AmbiguousFunction => Ok(None),
            found => found,
        }
    }
}

fn each(list: &Cell, item: &dyn Fn(&Cell) -> SqlResult<Cell>) -> SqlResult<Cell> {
    match list {
        Cell::List(items) => Ok(Cell::List(items.iter().map(item).collect::<SqlResult<_>>()?)),
        Cell::Null => Ok(Cell::Null),
        text => {
            let text = text.as_text().unwrap_or_default();
            let parsed = parse_text(&SqlType::Array(Box::new(SqlType::Text)), &text)?.to_array()?;
            each(&Cell::at(&parsed, 0), item)
        }
    }
}

/// A value that names an object, as its OID; any other as it is.
pub(super) fn as_oid(context: &FunctionContext, sql_type: &SqlType, cell: Cell) -> SqlResult<Cell> {
    let name = match sql_type {
        SqlType::Regclass => "regclass",
        SqlType::Regtype => "regtype",
        SqlType::Regproc => "regproc",
        SqlType::Catalog(catalog) if catalog.names_objects() => catalog.name(),
        _ => return Ok(cell),
    };
    let reference = TYPES.iter().find(|(known, _)| *known == name).map(|(name, reference)| NamingFunction {
        name,
        reference: *reference,
        question: Question::Oid,
    });
    reference.map_or(Ok(cell.clone()), |function| function.oid(context, &cell))
}

/// Values that name objects, or lists of them, as their OIDs; any others as they are.
///
/// # Errors
/// When the object that a value names does not exist any more.
pub(in crate::pg_catalog) fn oids(
    context: &FunctionContext,
    sql_type: &SqlType,
    values: &ArrayRef,
) -> SqlResult<ArrayRef> {
    match sql_type {
        SqlType::Array(item) => {
            let Some(lists) = values.as_list_opt::<i32>() else { return Ok(values.clone()) };
            let items = oids(context, item, lists.values())?;
            let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(field, lists.offsets().clone(), items, lists.nulls().cloned())?))
        }
        sql_type if sql_type.names_objects() => {
            let cells = (0..values.len()).map(|row| as_oid(context, sql_type, Cell::at(values, row)));
            Ok(array_of(&DataType::UInt32, &cells.collect::<SqlResult<Vec<_>>>()?))
        }
        _ => Ok(values.clone()),
    }
}

fn user_by_oid(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let oid = argument(arguments, 0).as_oid().unwrap_or(0);
    let role = context.granted.roles.with_oid(oid);
    Ok(role.map_or_else(|| format!("unknown (OID={oid})"), |role| role.name.clone()).into())
}
