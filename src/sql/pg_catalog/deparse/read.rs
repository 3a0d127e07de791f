//! From the parsed source of an expression to what is printed: PostgreSQL's own forms of operators, and where the
//! columns are known, the casts that it makes without being asked.

use std::collections::HashMap;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Subscript, TrimWhereField, UnaryOperator, Value,
};
use tablegate_types::oid::{modifier as type_modifier, oid as type_oid};
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::constants;
use super::tree::{Node, Piece, quoted};
use super::typing::{self, BOOL, Routine, TEXT, Ty};
use crate::pg_catalog::built_ins::{array_of, type_by_oid, types};
use crate::syntax::{fold, sql_type};

/// Reads expressions over the columns of a table; without them, ones that were printed in full before.
pub(super) struct Reader {
    /// OIDs of the columns' types.
    pub columns: Option<HashMap<String, u32>>,
}

/// A part of an expression with its type.
type Typed = (Node, Ty);

impl Reader {
    /// An expression of this type, if it is to have one.
    pub(super) fn read_as(&self, expr: &Expr, wanted: Option<u32>) -> Node {
        let (node, ty) = self.read(expr);
        match (wanted, ty) {
            (Some(oid), Ty::Unknown) => self.coerced((node, ty), oid),
            _ => self.settled((node, ty)).0,
        }
    }

    /// The type of an expression; `None` where it is not known.
    pub(super) fn type_of(&self, expr: &Expr) -> Option<u32> {
        match self.read(expr).1 {
            Ty::Of(oid) => Some(oid),
            Ty::Unknown => Some(TEXT),
            Ty::Untyped => None,
        }
    }

    fn read(&self, expr: &Expr) -> Typed {
        match expr {
            Expr::Nested(inner) => self.read(inner),
            Expr::Identifier(ident) => self.column(ident),
            Expr::CompoundIdentifier(parts) => match parts.last() {
                Some(last) => self.column(last),
                None => verbatim(expr),
            },
            Expr::Value(value) => value_of(&value.value).unwrap_or_else(|| verbatim(expr)),
            Expr::TypedString(typed) => match typed.value.value.clone().into_string() {
                Some(text) => cast_literal(&text, &typed.data_type).unwrap_or_else(|| verbatim(expr)),
                None => verbatim(expr),
            },
            Expr::Interval(interval) => match &*interval.value {
                Expr::Value(value) => match value.value.clone().into_string() {
                    Some(text) if interval.leading_field.is_none() => {
                        let oid = type_oid(&SqlType::Interval);
                        (constants::literal(&text, oid, -1), Ty::Of(oid))
                    }
                    _ => verbatim(expr),
                },
                _ => verbatim(expr),
            },
            Expr::UnaryOp { op, expr: inner } => self.unary(op, inner),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsNull(value) => self.test(value, "IS NULL", None),
            Expr::IsNotNull(value) => self.test(value, "IS NOT NULL", None),
            Expr::IsTrue(value) => self.test(value, "IS TRUE", Some(BOOL)),
            Expr::IsNotTrue(value) => self.test(value, "IS NOT TRUE", Some(BOOL)),
            Expr::IsFalse(value) => self.test(value, "IS FALSE", Some(BOOL)),
            Expr::IsNotFalse(value) => self.test(value, "IS NOT FALSE", Some(BOOL)),
            Expr::IsUnknown(value) => self.test(value, "IS UNKNOWN", Some(BOOL)),
            Expr::IsNotUnknown(value) => self.test(value, "IS NOT UNKNOWN", Some(BOOL)),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, false),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(left, right, true),
            Expr::Between { expr, negated, low, high } => self.between(expr, *negated, low, high),
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                self.operated(if *negated { "!~~" } else { "~~" }, self.read(expr), self.read(pattern))
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                self.operated(if *negated { "!~~*" } else { "~~*" }, self.read(expr), self.read(pattern))
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char: None } => {
                let pattern = self.called("similar_to_escape", vec![self.read(pattern)]);
                self.operated(if *negated { "!~" } else { "~" }, self.read(expr), pattern)
            }
            Expr::AnyOp { left, compare_op, right, .. } => self.array_operator(left, compare_op, "ANY", right),
            Expr::AllOp { left, compare_op, right } => self.array_operator(left, compare_op, "ALL", right),
            Expr::Array(array) => self.array(array.elem.iter().map(|item| self.read(item)).collect()),
            Expr::Cast { expr: inner, data_type, format: None, .. } => {
                self.cast(inner, data_type).unwrap_or_else(|| verbatim(expr))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let branches: Vec<_> = conditions.iter().map(|when| (&when.condition, &when.result)).collect();
                self.case(operand.as_deref(), &branches, else_result.as_deref())
            }
            Expr::Function(function) => self.function(function).unwrap_or_else(|| verbatim(expr)),
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.subscript(root, access_chain).unwrap_or_else(|| verbatim(expr))
            }
            Expr::Substring { expr: text, substring_from, substring_for, special, shorthand } => {
                let parts = [Some(text), substring_from.as_ref(), substring_for.as_ref()];
                let given: Vec<Typed> = parts.into_iter().flatten().map(|part| self.read(part)).collect();
                if *shorthand || *special {
                    return self.called(if *shorthand { "substr" } else { "substring" }, given);
                }
                let words: &[&'static str] = match (substring_from, substring_for) {
                    (Some(_), Some(_)) => &["SUBSTRING(", " FROM ", " FOR ", ")"],
                    (Some(_), None) => &["SUBSTRING(", " FROM ", ")"],
                    _ => return verbatim(expr),
                };
                self.spelled("substring", given, words)
            }
            Expr::Trim { trim_where, trim_what, expr: text, trim_characters: None } => {
                let (side, name) = match trim_where {
                    None | Some(TrimWhereField::Both) => ("TRIM(BOTH ", "btrim"),
                    Some(TrimWhereField::Leading) => ("TRIM(LEADING ", "ltrim"),
                    Some(TrimWhereField::Trailing) => ("TRIM(TRAILING ", "rtrim"),
                };
                let mut given = vec![self.read(text)];
                given.extend(trim_what.as_deref().map(|what| self.read(what)));
                let (mut arguments, ty) = self.arguments(name, given);
                let mut pieces = vec![Piece::Text(side)];
                if arguments.len() > 1 {
                    pieces.extend([Piece::Argument(arguments.remove(1)), Piece::Text(" ")]);
                }
                pieces.push(Piece::Text("FROM "));
                pieces.extend(arguments.into_iter().map(Piece::Argument));
                pieces.push(Piece::Text(")"));
                (Node::Spelled(pieces), ty)
            }
            Expr::Position { expr: part, r#in: text } => {
                let (arguments, ty) = self.arguments("position", vec![self.read(text), self.read(part)]);
                let [text, part] = <[Node; 2]>::try_from(arguments).unwrap_or_else(|_| [empty(), empty()]);
                let argument = |node| Piece::Argument(node);
                let pieces = vec![
                    Piece::Text("POSITION(("),
                    argument(part),
                    Piece::Text(") IN ("),
                    argument(text),
                    Piece::Text("))"),
                ];
                (Node::Spelled(pieces), ty)
            }
            Expr::Extract { field, expr: from, .. } => {
                let (from, _) = self.settled(self.read(from));
                let field = Piece::Word(field.to_string().to_lowercase());
                let pieces = vec![
                    Piece::Text("EXTRACT("),
                    field,
                    Piece::Text(" FROM "),
                    Piece::Argument(from),
                    Piece::Text(")"),
                ];
                (Node::Spelled(pieces), Ty::Of(typing::NUMERIC))
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                let given = vec![self.read(time_zone), self.read(timestamp)];
                let (arguments, ty) = self.arguments("timezone", given);
                let [zone, time] = <[Node; 2]>::try_from(arguments).unwrap_or_else(|_| [empty(), empty()]);
                let pieces = vec![
                    Piece::Text("("),
                    Piece::Argument(time),
                    Piece::Text(" AT TIME ZONE "),
                    Piece::Argument(zone),
                    Piece::Text(")"),
                ];
                (Node::Spelled(pieces), ty)
            }
            Expr::Ceil { expr: inner, .. } => self.called("ceil", vec![self.read(inner)]),
            Expr::Floor { expr: inner, .. } => self.called("floor", vec![self.read(inner)]),
            Expr::Tuple(items) => {
                let items = items.iter().map(|item| self.settled(self.read(item)).0).collect();
                (Node::Call { name: "ROW".to_owned(), arguments: items }, Ty::Untyped)
            }
            other => verbatim(other),
        }
    }

    fn column(&self, ident: &Ident) -> Typed {
        let name = fold(ident);
        let Some(columns) = &self.columns else { return (Node::Plain(quote_ident(&name)), Ty::Untyped) };
        let found = columns.get_key_value(&name).or_else(|| {
            columns.iter().find(|(column, _)| ident.quote_style.is_none() && column.eq_ignore_ascii_case(&name))
        });
        match found {
            Some((column, oid)) => (Node::Plain(quote_ident(column)), Ty::Of(*oid)),
            None => (Node::Plain(quote_ident(&name)), Ty::Untyped),
        }
    }

    fn unary(&self, op: &UnaryOperator, inner: &Expr) -> Typed {
        if let (UnaryOperator::Minus, Expr::Value(value)) = (op, inner)
            && let Value::Number(digits, _) = &value.value
        {
            return constants::number(digits, true);
        }
        if *op == UnaryOperator::Not {
            let value = Box::new(self.coerced(self.read(inner), BOOL));
            return (Node::Not(value), Ty::Of(BOOL));
        }
        let (value, ty) = self.read(inner);
        let routine = typing::operator(&op.to_string(), &[ty]);
        let gives = routine.as_ref().map_or(Ty::Untyped, |routine| routine.result(&[ty]));
        let right = self.argument((value, ty), routine.as_ref(), 0, &[ty]);
        (Node::Operator { left: None, name: op.to_string(), right: Box::new(right) }, gives)
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Typed {
        if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
            let mut items = Vec::new();
            self.flatten(left, op, &mut items);
            self.flatten(right, op, &mut items);
            let node = if *op == BinaryOperator::And { Node::And(items) } else { Node::Or(items) };
            return (node, Ty::Of(BOOL));
        }
        self.operated(&operator_name(op), self.read(left), self.read(right))
    }

    /// `a AND b AND c` is one AND of three.
    fn flatten(&self, expr: &Expr, op: &BinaryOperator, items: &mut Vec<Node>) {
        match expr {
            Expr::Nested(inner) => self.flatten(inner, op, items),
            Expr::BinaryOp { left, op: inner, right } if inner == op => {
                self.flatten(left, op, items);
                self.flatten(right, op, items);
            }
            other => items.push(self.coerced(self.read(other), BOOL)),
        }
    }

    fn operated(&self, name: &str, left: Typed, right: Typed) -> Typed {
        let given = [left.1, right.1];
        let routine = typing::operator(name, &given);
        let gives = match &routine {
            Some(routine) => routine.result(&given),
            None if matches!(name, "=" | "<>" | "<" | ">" | "<=" | ">=") => Ty::Of(BOOL),
            None => Ty::Untyped,
        };
        let left = Box::new(self.argument(left, routine.as_ref(), 0, &given));
        let right = Box::new(self.argument(right, routine.as_ref(), 1, &given));
        (Node::Operator { left: Some(left), name: name.to_owned(), right }, gives)
    }

    fn test(&self, value: &Expr, what: &'static str, wanted: Option<u32>) -> Typed {
        let value = self.read(value);
        let value = match wanted {
            Some(oid) => self.coerced(value, oid),
            None => self.settled(value).0,
        };
        (Node::Test { value: Box::new(value), what }, Ty::Of(BOOL))
    }

    fn distinct(&self, left: &Expr, right: &Expr, negated: bool) -> Typed {
        let (Node::Operator { left: Some(left), right, .. }, _) = self.operated("=", self.read(left), self.read(right))
        else {
            return (empty(), Ty::Untyped);
        };
        (Node::Distinct { left, right, negated }, Ty::Of(BOOL))
    }

    fn between(&self, value: &Expr, negated: bool, low: &Expr, high: &Expr) -> Typed {
        let (from, to) = if negated { ("<", ">") } else { (">=", "<=") };
        let items = vec![
            self.operated(from, self.read(value), self.read(low)).0,
            self.operated(to, self.read(value), self.read(high)).0,
        ];
        (if negated { Node::Or(items) } else { Node::And(items) }, Ty::Of(BOOL))
    }

    fn in_list(&self, value: &Expr, list: &[Expr], negated: bool) -> Typed {
        let value = self.read(value);
        let name = if negated { "<>" } else { "=" };
        let items: Vec<Typed> = list.iter().map(|item| self.read(item)).collect();
        if let [only] = items.as_slice() {
            return self.operated(name, value, only.clone());
        }
        let types: Vec<Ty> = std::iter::once(value.1).chain(items.iter().map(|item| item.1)).collect();
        let array = self.array_of_type(items, typing::common(&types));
        self.compared_to_items(value, name, if negated { "ALL" } else { "ANY" }, array)
    }

    fn array_operator(&self, left: &Expr, op: &BinaryOperator, which: &'static str, right: &Expr) -> Typed {
        let left = self.read(left);
        let mut array = self.read(right);
        if let (Ty::Unknown, Ty::Of(oid)) = (array.1, left.1)
            && let Some(array_oid) = array_of(oid)
        {
            array = (self.coerced(array, array_oid), Ty::Of(array_oid));
        }
        self.compared_to_items(left, &operator_name(op), which, array)
    }

    fn compared_to_items(&self, left: Typed, name: &str, which: &'static str, array: Typed) -> Typed {
        let item = match array.1 {
            Ty::Of(oid) => type_by_oid(oid).map_or(Ty::Untyped, |t| Ty::Of(t.element())),
            other => other,
        };
        let given = [left.1, item];
        let routine = typing::operator(name, &given);
        let right = match routine.as_ref().and_then(|routine| array_of(*routine.takes.get(1)?)) {
            Some(oid) => self.coerced(array, oid),
            None => array.0,
        };
        let left = Box::new(self.argument(left, routine.as_ref(), 0, &given));
        (Node::ArrayOperator { left, name: name.to_owned(), which, right: Box::new(right) }, Ty::Of(BOOL))
    }

    fn array(&self, items: Vec<Typed>) -> Typed {
        let types: Vec<Ty> = items.iter().map(|item| item.1).collect();
        self.array_of_type(items, typing::common(&types))
    }

    fn array_of_type(&self, items: Vec<Typed>, item: Ty) -> Typed {
        let Ty::Of(oid) = item else {
            return (Node::Array(items.into_iter().map(|item| item.0).collect()), Ty::Untyped);
        };
        if self.columns.is_none() {
            return (Node::Array(items.into_iter().map(|item| item.0).collect()), Ty::Untyped);
        }
        let items = items.into_iter().map(|item| self.coerced(item, oid)).collect();
        (Node::Array(items), array_of(oid).map_or(Ty::Untyped, Ty::Of))
    }

    fn cast(&self, inner: &Expr, data_type: &DataType) -> Option<Typed> {
        if let Some(text) = literal_text(inner) {
            return cast_literal(&text, data_type);
        }
        let (oid, type_name, modifier) = named_type(data_type)?;
        let (node, ty) = self.read(inner);
        match node {
            Node::Null => Some((constants::null(oid), Ty::Of(oid))),
            node if ty == Ty::Of(oid) && modifier < 0 && self.columns.is_some() => Some((node, ty)),
            node => Some((Node::Cast { value: Box::new(node), type_name }, Ty::Of(oid))),
        }
    }

    fn case(&self, operand: Option<&Expr>, branches: &[(&Expr, &Expr)], otherwise: Option<&Expr>) -> Typed {
        let operand = operand.map(|operand| self.settled(self.read(operand)));
        let results: Vec<Typed> = branches.iter().map(|(_, result)| self.read(result)).collect();
        let otherwise = otherwise.map(|otherwise| self.read(otherwise));
        let types: Vec<Ty> = results.iter().chain(&otherwise).map(|result| result.1).collect();
        let common = typing::common(&types);
        let settle = |typed: Typed| match common {
            Ty::Of(oid) if self.columns.is_some() => self.coerced(typed, oid),
            _ => typed.0,
        };
        let condition = |condition: &Expr| match &operand {
            None => self.coerced(self.read(condition), BOOL),
            Some(operand) => match self.operated("=", operand.clone(), self.read(condition)).0 {
                Node::Operator { right, .. } => *right,
                other => other,
            },
        };
        let branches = branches.iter().zip(results).map(|((when, _), then)| (condition(when), settle(then))).collect();
        let otherwise = otherwise.map(|otherwise| Box::new(settle(otherwise)));
        (Node::Case { operand: operand.map(|(node, _)| Box::new(node)), branches, otherwise }, common)
    }

    fn function(&self, function: &Function) -> Option<Typed> {
        let name = function.name.0.last()?.as_ident().map(fold)?;
        let plain = function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
        let list = match &function.args {
            FunctionArguments::None => return Some((Node::Plain(name.to_uppercase()), word_type(&name))),
            FunctionArguments::List(list) if plain && list.duplicate_treatment.is_none() && list.clauses.is_empty() => {
                list
            }
            _ => return None,
        };
        let mut given = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return None };
            given.push(self.read(argument));
        }
        Some(match name.as_str() {
            "coalesce" | "greatest" | "least" => {
                let types: Vec<Ty> = given.iter().map(|item| item.1).collect();
                let common = typing::common(&types);
                let settle = |item: Typed| match common {
                    Ty::Of(oid) if self.columns.is_some() => self.coerced(item, oid),
                    _ => item.0,
                };
                let arguments = given.into_iter().map(settle).collect();
                (Node::Call { name: name.to_uppercase(), arguments }, common)
            }
            "nullif" => {
                let [left, right] = <[Typed; 2]>::try_from(given).ok()?;
                let ty = left.1;
                match self.operated("=", left, right).0 {
                    Node::Operator { left: Some(left), right, .. } => {
                        (Node::Call { name: "NULLIF".to_owned(), arguments: vec![*left, *right] }, ty)
                    }
                    _ => return None,
                }
            }
            "nextval" | "currval" | "setval" => (self.of_sequence(&name, given), Ty::Of(typing::INT8)),
            _ => self.called(&name, given),
        })
    }

    /// PostgreSQL keeps a sequence as `regclass`.
    fn of_sequence(&self, name: &str, given: Vec<Typed>) -> Node {
        let arguments = given.into_iter().map(|(node, _)| match node {
            Node::Text(text) => Node::Constant { literal: quoted(&text), label: Some("regclass".to_owned()) },
            other => other,
        });
        Node::Call { name: name.to_owned(), arguments: arguments.collect() }
    }

    fn subscript(&self, root: &Expr, chain: &[AccessExpr]) -> Option<Typed> {
        let (array, ty) = self.read(root);
        let mut indexes = Vec::with_capacity(chain.len());
        for access in chain {
            let AccessExpr::Subscript(Subscript::Index { index }) = access else { return None };
            indexes.push(self.read(index).0);
        }
        let item = match ty {
            Ty::Of(oid) => type_by_oid(oid).map_or(Ty::Untyped, |t| Ty::Of(t.element())),
            other => other,
        };
        Some((Node::Subscript { array: Box::new(array), indexes }, item))
    }

    fn called(&self, name: &str, given: Vec<Typed>) -> Typed {
        let (arguments, ty) = self.arguments(name, given);
        (Node::Call { name: quote_ident(name), arguments }, ty)
    }

    fn spelled(&self, name: &str, given: Vec<Typed>, words: &[&'static str]) -> Typed {
        let (arguments, ty) = self.arguments(name, given);
        let mut pieces: Vec<Piece> = Vec::new();
        for (word, argument) in words.iter().zip(arguments.into_iter().map(Some).chain(std::iter::repeat(None))) {
            pieces.push(Piece::Text(word));
            pieces.extend(argument.map(Piece::Argument));
        }
        (Node::Spelled(pieces), ty)
    }

    /// The arguments of a function as it takes them, and what it gives.
    fn arguments(&self, name: &str, given: Vec<Typed>) -> (Vec<Node>, Ty) {
        let types: Vec<Ty> = given.iter().map(|item| item.1).collect();
        let routine = typing::function(name, &types);
        let gives = routine.as_ref().map_or(Ty::Untyped, |routine| routine.result(&types));
        let taken = |(index, item)| self.argument(item, routine.as_ref(), index, &types);
        (given.into_iter().enumerate().map(taken).collect(), gives)
    }

    fn argument(&self, item: Typed, routine: Option<&Routine>, index: usize, given: &[Ty]) -> Node {
        match routine.and_then(|routine| routine.taken(index, given)) {
            Some(oid) => self.coerced(item, oid),
            None => self.settled(item).0,
        }
    }

    /// A literal that nothing gives a type to is text.
    fn settled(&self, item: Typed) -> Typed {
        match item.1 {
            Ty::Unknown => (self.coerced(item, TEXT), Ty::Of(TEXT)),
            _ => item,
        }
    }

    /// A value where one of this type is needed.
    fn coerced(&self, (node, ty): Typed, oid: u32) -> Node {
        if self.columns.is_none() {
            return node;
        }
        match (ty, node) {
            (Ty::Unknown, Node::Null) => constants::null(oid),
            (Ty::Unknown, Node::Text(text)) => constants::literal(&text, oid, -1),
            (Ty::Of(from), node) if from != oid => {
                Node::Cast { value: Box::new(node), type_name: constants::type_name(oid, -1) }
            }
            (_, node) => node,
        }
    }
}

fn empty() -> Node {
    Node::Plain(String::new())
}

fn verbatim(expr: &Expr) -> Typed {
    (Node::Plain(expr.to_string()), Ty::Untyped)
}

fn value_of(value: &Value) -> Option<Typed> {
    Some(match value {
        Value::Number(digits, _) => constants::number(digits, false),
        Value::Boolean(truth) => (Node::Constant { literal: truth.to_string(), label: None }, Ty::Of(BOOL)),
        Value::Null => (Node::Null, Ty::Unknown),
        other => (Node::Text(text_in(other)?), Ty::Unknown),
    })
}

/// The text of a string literal.
fn literal_text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => literal_text(inner),
        Expr::Value(value) => text_in(&value.value),
        _ => None,
    }
}

fn text_in(value: &Value) -> Option<String> {
    match value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text.clone()),
        Value::DollarQuotedString(text) => Some(text.value.clone()),
        _ => None,
    }
}

/// A type that a cast names: its OID, its name with its modifier, and the modifier.
fn named_type(data_type: &DataType) -> Option<(u32, String, i32)> {
    let text = data_type.to_string().to_lowercase();
    let named = text.strip_prefix("pg_catalog.").unwrap_or(&text).trim_matches('"');
    // `bpchar` and the types that name objects are not what tables have.
    if named == "bpchar" || named.starts_with("reg") {
        let known = types().iter().find(|known| known.name == named)?;
        return Some((known.oid, known.name.to_owned(), -1));
    }
    match sql_type(data_type) {
        Ok(known) => Some((type_oid(&known), known.to_string(), type_modifier(&known))),
        Err(_) => {
            let known = types().iter().find(|known| known.name == named)?;
            Some((known.oid, constants::type_name(known.oid, -1), -1))
        }
    }
}

/// A literal that is cast is a constant of the type.
fn cast_literal(text: &str, data_type: &DataType) -> Option<Typed> {
    let (oid, _, modifier) = named_type(data_type)?;
    Some((constants::literal(text, oid, modifier), Ty::Of(oid)))
}

/// The operator as `pg_operator` names it.
fn operator_name(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::NotEq => "<>".to_owned(),
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

/// The types of words that are values.
fn word_type(word: &str) -> Ty {
    Ty::Of(match word {
        "current_date" => 1082,
        "current_timestamp" => 1184,
        "localtime" => 1083,
        "localtimestamp" => 1114,
        "current_user" | "session_user" | "user" | "current_role" | "current_catalog" | "current_schema" => 19,
        _ => return Ty::Untyped,
    })
}
