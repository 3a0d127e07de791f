//! The one table of functions, aggregates among them: `pg_proc`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use tablegate_types::built_in::routines::{self, Routine};

use super::oids::Oid;

/// What is called, as `prokind` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    Function,
    Aggregate,
    Window,
    Procedure,
}

/// How aggregates over ordered rows are called: `prokind` is that of all aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverOrdered {
    /// How many arguments are not of the rows.
    pub direct: usize,
    /// The arguments are a row beside the others.
    pub is_hypothetical: bool,
}

/// One row of `pg_proc`: what its calls are chosen by.
#[derive(Debug, Clone)]
pub struct Function {
    pub oid: Oid,
    pub name: Cow<'static, str>,
    /// The name of its schema.
    pub schema: Cow<'static, str>,
    pub kind: FunctionKind,
    pub arguments: Vec<Oid>,
    /// The names of its arguments, empty where they have none.
    pub names: Vec<Cow<'static, str>>,
    /// The defaults of its last arguments.
    pub defaults: Vec<Cow<'static, str>>,
    /// The type of what its last argument is a list of, where a call may write the list out; 0 for none.
    pub variadic: Oid,
    pub result: Oid,
    pub gives_rows: bool,
    /// The columns of a result that is a row.
    pub columns: Vec<(Cow<'static, str>, Oid)>,
    pub ordered: Option<OverOrdered>,
    pub is_strict: bool,
    /// `i`, `s` or `v`.
    pub volatility: u8,
}

/// A function that is built in, or one that the catalogue made.
#[derive(Debug, Clone)]
pub enum FunctionRef {
    BuiltIn(&'static Function),
    Own(Arc<Function>),
}

impl Deref for FunctionRef {
    type Target = Function;

    fn deref(&self) -> &Function {
        match self {
            FunctionRef::BuiltIn(function) => function,
            FunctionRef::Own(function) => function,
        }
    }
}

static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| routines::all().iter().map(read).collect());

static BY_OID: LazyLock<HashMap<Oid, &'static Function>> =
    LazyLock::new(|| FUNCTIONS.iter().map(|function| (function.oid, function)).collect());

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Function>>> = LazyLock::new(|| {
    let mut by_name: HashMap<&'static str, Vec<&'static Function>> = HashMap::new();
    FUNCTIONS.iter().for_each(|function| by_name.entry(&function.name).or_default().push(function));
    by_name
});

fn read(routine: &'static Routine) -> Function {
    let is_given = |mode: &str| matches!(mode, "i" | "b" | "v");
    let is_taken = |mode: &str| matches!(mode, "o" | "b" | "t");
    let name_at = |at: usize| Cow::Borrowed(routine.names.get(at).copied().unwrap_or(""));
    let (names, columns) = if routine.modes.is_empty() {
        ((0..routine.names.len()).map(name_at).collect(), Vec::new())
    } else {
        let of = |wanted: fn(&str) -> bool| (0..routine.modes.len()).filter(move |at| wanted(routine.modes[*at]));
        let column = |at: usize| (name_at(at), routine.all.get(at).copied().unwrap_or(0));
        (of(is_given).map(name_at).collect(), of(is_taken).map(column).collect())
    };
    Function {
        oid: routine.oid,
        name: Cow::Borrowed(routine.name),
        schema: Cow::Borrowed(if routine.is_standard() { "information_schema" } else { "pg_catalog" }),
        kind: match routine.kind {
            "a" => FunctionKind::Aggregate,
            "w" => FunctionKind::Window,
            "p" => FunctionKind::Procedure,
            _ => FunctionKind::Function,
        },
        arguments: routine.arguments.clone(),
        names,
        defaults: routine.defaults.iter().copied().map(Cow::Borrowed).collect(),
        variadic: routine.variadic,
        result: routine.result,
        gives_rows: routine.gives_rows,
        columns,
        ordered: routine.over_ordered().map(|(direct, is_hypothetical)| OverOrdered { direct, is_hypothetical }),
        is_strict: routine.is_strict,
        volatility: routine.volatility.bytes().next().unwrap_or(b'v'),
    }
}

/// The functions of a name that are built in. Those of `information_schema` are found with its name only.
pub(crate) fn named(schema: Option<&str>, name: &str) -> impl Iterator<Item = &'static Function> {
    let wanted = schema.map_or_else(|| "pg_catalog".to_owned(), str::to_owned);
    let of_name = BY_NAME.get(name).map_or(&[][..], Vec::as_slice);
    of_name.iter().copied().filter(move |function| function.schema == wanted)
}

pub(crate) fn built_in(oid: Oid) -> Option<&'static Function> {
    BY_OID.get(&oid).copied()
}

impl Function {
    /// How few arguments a call may give.
    pub fn least_arguments(&self) -> usize {
        self.arguments.len().saturating_sub(self.defaults.len())
    }

    /// Whether it is one of `pg_catalog`.
    pub fn is_built_in(&self) -> bool {
        self.schema == "pg_catalog"
    }
}
