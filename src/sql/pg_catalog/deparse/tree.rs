//! Expressions as PostgreSQL prints them: in full, with parentheses around every operator, or pretty, with only those
//! that are needed.

/// An expression, ready to be printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// A column, a word like CURRENT_DATE, or a text that is not looked into.
    Plain(String),
    /// A literal that has no type yet.
    Text(String),
    Null,
    /// A literal as SQL writes it, and the type behind it where it needs one.
    Constant {
        literal: String,
        label: Option<String>,
    },
    Call {
        name: String,
        arguments: Vec<Node>,
    },
    /// A call with words of its own between the arguments: text and arguments by turns.
    Spelled(Vec<Piece>),
    Cast {
        value: Box<Node>,
        type_name: String,
    },
    Operator {
        left: Option<Box<Node>>,
        name: String,
        right: Box<Node>,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// `IS NULL` and the like.
    Test {
        value: Box<Node>,
        what: &'static str,
    },
    Distinct {
        left: Box<Node>,
        right: Box<Node>,
        negated: bool,
    },
    /// An operator between a value and the items of an array.
    ArrayOperator {
        left: Box<Node>,
        name: String,
        which: &'static str,
        right: Box<Node>,
    },
    Array(Vec<Node>),
    Subscript {
        array: Box<Node>,
        indexes: Vec<Node>,
    },
    Case {
        operand: Option<Box<Node>>,
        branches: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
}

/// A part of a call that is spelled in words.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(&'static str),
    Word(String),
    Argument(Node),
}

/// Columns by which a nested CASE is moved to the right.
const INDENT: usize = 4;

impl Node {
    /// The text of the expression.
    pub(super) fn text(&self, pretty: bool) -> String {
        Printer { pretty, depth: 0 }.text(self)
    }

    /// Whether it needs no parentheses as a part of `parent`.
    fn is_simple_in(&self, parent: &Node) -> bool {
        match self {
            Node::Operator { .. } => match parent {
                Node::Operator { left, name: outer, .. } => {
                    let is_first = left.as_deref().is_some_and(|left| std::ptr::eq(left, self));
                    self.binary_name().is_some_and(|own| binds_within(own, parent, outer, is_first))
                }
                _ => parent.is_lower_or_separates(),
            },
            Node::Test { .. } | Node::Distinct { .. } => parent.is_lower_or_separates(),
            Node::Not(_) | Node::And(_) => matches!(parent, Node::And(_) | Node::Or(_)) || parent.separates(),
            Node::Or(_) => matches!(parent, Node::Or(_)) || parent.separates(),
            Node::ArrayOperator { .. } => false,
            _ => true,
        }
    }

    /// The operator between two operands.
    fn binary_name(&self) -> Option<&str> {
        match self {
            Node::Operator { left: Some(_), name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether its parts stand between parentheses, commas or words of its own.
    fn separates(&self) -> bool {
        matches!(self, Node::Call { .. } | Node::Array(_) | Node::Subscript { .. } | Node::Case { .. })
    }

    fn is_lower_or_separates(&self) -> bool {
        matches!(self, Node::And(_) | Node::Or(_) | Node::Not(_)) || self.separates()
    }
}

/// Whether an arithmetic operator within another one needs no parentheses. PostgreSQL knows of these alone.
fn binds_within(own: &str, parent: &Node, outer: &str, is_first: bool) -> bool {
    let low = |name: &str| matches!(name, "+" | "-");
    let high = |name: &str| matches!(name, "*" | "/" | "%");
    if parent.binary_name().is_none() || !(low(own) || high(own)) || !(low(outer) || high(outer)) {
        return false;
    }
    match (high(own), high(outer)) {
        (true, false) => true,
        (false, true) => false,
        _ => is_first,
    }
}

/// A text as a literal.
pub(super) fn quoted(text: &str) -> String {
    let text = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", text.replace('\\', "\\\\")) } else { format!("'{text}'") }
}

struct Printer {
    pretty: bool,
    depth: usize,
}

impl Printer {
    fn text(&self, node: &Node) -> String {
        match node {
            Node::Plain(text) => text.clone(),
            Node::Text(text) => quoted(text),
            Node::Null => "NULL".to_owned(),
            Node::Constant { literal, label: None } => literal.clone(),
            Node::Constant { literal, label: Some(label) } => format!("{literal}::{label}"),
            Node::Call { name, arguments } => format!("{name}({})", self.list(arguments)),
            Node::Spelled(pieces) => {
                let piece = |piece: &Piece| match piece {
                    Piece::Text(text) => (*text).to_owned(),
                    Piece::Word(word) => word.clone(),
                    Piece::Argument(argument) => self.text(argument),
                };
                pieces.iter().map(piece).collect()
            }
            // A literal has one type already: the cast is to the next.
            Node::Cast { value, type_name } if self.pretty => format!("{}::{type_name}", self.part(value, node)),
            Node::Cast { value, type_name } => format!("({})::{type_name}", self.text(value)),
            Node::Operator { left: Some(left), name, right } => {
                self.operator(format!("{} {name} {}", self.part(left, node), self.part(right, node)))
            }
            Node::Operator { left: None, name, right } => self.operator(format!("{name} {}", self.part(right, node))),
            Node::And(items) => self.operator(self.joined(items, " AND ", node)),
            Node::Or(items) => self.operator(self.joined(items, " OR ", node)),
            Node::Not(value) => self.operator(format!("NOT {}", self.part(value, node))),
            Node::Test { value, what } => self.operator(format!("{} {what}", self.part(value, node))),
            Node::Distinct { left, right, negated } => {
                let not = if *negated { "NOT " } else { "" };
                let (left, right) = (self.part(left, node), self.part(right, node));
                self.operator(format!("{left} IS {not}DISTINCT FROM {right}"))
            }
            Node::ArrayOperator { left, name, which, right } => {
                let (left, right) = (self.part(left, node), self.part(right, node));
                self.operator(format!("{left} {name} {which} ({right})"))
            }
            Node::Array(items) => format!("ARRAY[{}]", self.list(items)),
            Node::Subscript { array, indexes } => {
                let indexes: String = indexes.iter().map(|index| format!("[{}]", self.text(index))).collect();
                self.part(array, node) + &indexes
            }
            Node::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
        }
    }

    fn operator(&self, text: String) -> String {
        if self.pretty { text } else { format!("({text})") }
    }

    /// A part of an expression, in parentheses where the pretty form needs them.
    fn part(&self, node: &Node, parent: &Node) -> String {
        let text = self.text(node);
        if self.pretty && !node.is_simple_in(parent) { format!("({text})") } else { text }
    }

    fn list(&self, items: &[Node]) -> String {
        items.iter().map(|item| self.text(item)).collect::<Vec<_>>().join(", ")
    }

    fn joined(&self, items: &[Node], word: &str, parent: &Node) -> String {
        items.iter().map(|item| self.part(item, parent)).collect::<Vec<_>>().join(word)
    }

    fn case(&self, operand: Option<&Node>, branches: &[(Node, Node)], otherwise: Option<&Node>) -> String {
        let inner = Printer { pretty: self.pretty, depth: self.depth + 1 };
        let (outside, inside) = (" ".repeat(self.depth * INDENT), " ".repeat((self.depth + 1) * INDENT));
        let mut text = format!("\n{outside}CASE");
        if let Some(operand) = operand {
            text += &format!(" {}", inner.text(operand));
        }
        for (condition, value) in branches {
            text += &format!("\n{inside}WHEN {} THEN {}", inner.text(condition), inner.text(value));
        }
        let otherwise = otherwise.map_or_else(|| "NULL".to_owned(), |value| inner.text(value));
        text + &format!("\n{inside}ELSE {otherwise}\n{outside}END")
    }
}
