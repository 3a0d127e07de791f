//! Statements as trees of text, so that a statement that fails can be made smaller.

use std::borrow::Cow;

use crate::differential::types::Ty;

/// A piece of a statement.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The template it came from; empty for literals, columns and plain clauses. Differences are grouped by these.
    pub label: Cow<'static, str>,
    /// The type of an expression; `None` for clauses.
    pub ty: Option<Ty>,
    /// Whether it names a column of its query, without which it cannot stand alone.
    pub is_column: bool,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(Cow<'static, str>),
    Node(Node),
    /// May be left out.
    Optional(Node),
    /// Of which all but one may be left out.
    List(&'static str, Vec<Node>),
}

impl Node {
    /// Text without further parts.
    pub(super) fn leaf(ty: Option<Ty>, text: impl Into<Cow<'static, str>>) -> Self {
        Self { label: Cow::Borrowed(""), ty, is_column: false, parts: vec![Part::Text(text.into())] }
    }

    pub(super) fn column(ty: Ty, name: impl Into<Cow<'static, str>>) -> Self {
        Self { is_column: true, ..Self::leaf(Some(ty), name) }
    }

    /// A clause or a query, made of parts.
    pub(super) fn clause(label: &'static str, parts: Vec<Part>) -> Self {
        Self { label: Cow::Borrowed(label), ty: None, is_column: false, parts }
    }

    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Node(node) | Part::Optional(node) => node.write(text),
                Part::List(separator, items) => {
                    for (i, item) in items.iter().enumerate() {
                        text.push_str(if i == 0 { "" } else { separator });
                        item.write(text);
                    }
                }
            }
        }
    }

    fn children(&self) -> impl Iterator<Item = &Node> {
        self.parts.iter().flat_map(|part| match part {
            Part::Text(_) => &[],
            Part::Node(node) | Part::Optional(node) => std::slice::from_ref(node),
            Part::List(_, items) => items.as_slice(),
        })
    }

    /// All templates in it, sorted, each once.
    pub(super) fn labels(&self) -> Vec<String> {
        let mut labels = Vec::new();
        self.each(&mut |node| {
            if !node.label.is_empty() {
                labels.push(node.label.to_string());
            }
        });
        labels.sort();
        labels.dedup();
        labels
    }

    fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        visit(self);
        for child in self.children() {
            child.each(visit);
        }
    }

    fn names_columns(&self) -> bool {
        self.is_column || self.children().any(Node::names_columns)
    }

    /// The expressions in it that can be asked for alone, the smallest first; those that name columns behind the others.
    pub(super) fn expressions(&self) -> Vec<Node> {
        let mut found = Vec::new();
        self.each(&mut |node| {
            if node.ty.is_some() && !node.label.is_empty() {
                found.push(node.clone());
            }
        });
        found.sort_by_cached_key(|node| (node.names_columns(), node.render().len()));
        found
    }

    /// Trees in which one part is left out, or NULL of its type, those with the largest part first.
    pub(super) fn without_parts(&self) -> Vec<Node> {
        let mut found = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(_) => {}
                Part::Node(node) => found.extend(lessened(node).into_iter().map(|n| self.with(i, Part::Node(n)))),
                Part::Optional(node) => {
                    found.push(self.with(i, Part::Text(Cow::Borrowed(""))));
                    found.extend(lessened(node).into_iter().map(|n| self.with(i, Part::Optional(n))));
                }
                Part::List(separator, items) => {
                    for (at, item) in items.iter().enumerate() {
                        for lessened in lessened(item) {
                            let mut same = items.clone();
                            same[at] = lessened;
                            found.push(self.with(i, Part::List(separator, same)));
                        }
                    }
                }
            }
        }
        found.sort_by_cached_key(|node| node.render().len());
        found
    }

    /// Trees that are one step smaller, the smallest first.
    pub(super) fn smaller(&self) -> Vec<Node> {
        let mut found = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(_) => {}
                Part::Node(node) => found.extend(replacements(node).into_iter().map(|n| self.with(i, Part::Node(n)))),
                Part::Optional(node) => {
                    found.push(self.with(i, Part::Text(Cow::Borrowed(""))));
                    found.extend(replacements(node).into_iter().map(|n| self.with(i, Part::Optional(n))));
                }
                Part::List(separator, items) => found.extend(self.smaller_list(i, separator, items)),
            }
        }
        found.sort_by_cached_key(|node| node.render().len());
        found
    }

    fn smaller_list(&self, at: usize, separator: &'static str, items: &[Node]) -> Vec<Node> {
        let mut found = Vec::new();
        for i in 0..items.len() {
            if items.len() > 1 {
                let mut fewer = items.to_vec();
                fewer.remove(i);
                found.push(self.with(at, Part::List(separator, fewer)));
            }
            for replacement in replacements(&items[i]) {
                let mut same = items.to_vec();
                same[i] = replacement;
                found.push(self.with(at, Part::List(separator, same)));
            }
        }
        found
    }

    fn with(&self, at: usize, part: Part) -> Node {
        let mut copy = self.clone();
        copy.parts[at] = part;
        copy
    }
}

/// NULL in place of an expression, and the expression without one of its parts.
fn lessened(node: &Node) -> Vec<Node> {
    let null = node.ty.filter(|_| !node.is_column).map(|ty| Node::leaf(Some(ty), format!("NULL::{}", ty.sql())));
    null.into_iter().chain(node.without_parts()).collect()
}

/// What a node can be replaced by: what it holds of the same type, a plain value, or itself with one part smaller.
fn replacements(node: &Node) -> Vec<Node> {
    let mut found = Vec::new();
    if let Some(ty) = node.ty.filter(|_| !node.label.is_empty()) {
        found.push(Node::leaf(Some(ty), format!("NULL::{}", ty.sql())));
        found.push(Node::leaf(Some(ty), format!("'{}'::{}", ty.values()[0], ty.sql())));
        for child in node.children() {
            child.each(&mut |inner| {
                if inner.ty == Some(ty) {
                    found.push(inner.clone());
                }
            });
        }
    }
    found.extend(node.smaller());
    found
}
