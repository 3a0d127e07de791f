//! Makes expressions from templates: typed, of bounded depth, now and then of the wrong type.

use std::borrow::Cow;

use crate::differential::families::pools::pool;
use crate::differential::families::{Family, Makes, SCALARS, Template};
use crate::differential::node::{Node, Part};
use crate::differential::types::{self, Ty};
use crate::support::rng::Rng;

/// How deep templates nest.
const DEPTH: usize = 3;
/// Percent of placeholders that get an expression of another type: what PostgreSQL refuses must be refused alike.
const WRONG_TYPE: usize = 1;

/// What an expression may name.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub columns: Vec<Node>,
    /// The names of families that are left out.
    pub without: Vec<String>,
}

impl Scope {
    /// Columns of a type.
    pub(super) fn of_type(&self, ty: Ty) -> Vec<&Node> {
        self.columns.iter().filter(|column| column.ty == Some(ty)).collect()
    }

    fn families(&self) -> impl Iterator<Item = &'static Family> {
        SCALARS.iter().filter(|family| !self.without.iter().any(|name| name == family.name))
    }
}

pub(super) fn any_type(rng: &mut Rng) -> Ty {
    rng.pick(types::ALL)
}

/// An expression of a type.
pub(super) fn expression(rng: &mut Rng, scope: &Scope, ty: Ty) -> Node {
    let depth = 1 + rng.below(DEPTH);
    of_depth(rng, scope, ty, depth)
}

fn of_depth(rng: &mut Rng, scope: &Scope, ty: Ty, depth: usize) -> Node {
    let ty = if rng.percent(WRONG_TYPE) { any_type(rng) } else { ty };
    if depth == 0 || rng.percent(25) {
        return leaf(rng, scope, ty);
    }
    let choices: Vec<&Template> =
        scope.families().flat_map(|family| &family.templates).filter(|template| template.makes.can_be(ty)).collect();
    // A template that takes any type makes each of them: the ones of this very type must not drown among those.
    let own: Vec<&Template> = choices.iter().copied().filter(|t| matches!(t.makes, Makes::Type(_))).collect();
    let choices = if own.is_empty() || rng.percent(20) { choices } else { own };
    if choices.is_empty() {
        return leaf(rng, scope, ty);
    }
    let template = rng.pick(&choices);
    let parts = fill(rng, scope, template.makes, &template.text, ty, depth - 1);
    Node { label: template.text.clone(), ty: Some(ty), is_column: false, parts }
}

/// The parts of a template, with expressions for its placeholders.
pub(super) fn fill(rng: &mut Rng, scope: &Scope, makes: Makes, template: &str, ty: Ty, depth: usize) -> Vec<Part> {
    let mut filler = Filler { rng, scope, makes, ty, depth, class: None };
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        parts.push(Part::Text(Cow::Owned(rest[..open].to_owned())));
        rest = &rest[open + 1..];
        if let Some(after) = rest.strip_prefix('{') {
            parts.push(Part::Text(Cow::Borrowed("{")));
            rest = after;
            continue;
        }
        let close = rest.find('}').expect("a placeholder ends");
        parts.push(filler.placeholder(&rest[..close]));
        rest = &rest[close + 1..];
    }
    parts.push(Part::Text(Cow::Owned(rest.to_owned())));
    parts
}

struct Filler<'a> {
    rng: &'a mut Rng,
    scope: &'a Scope,
    makes: Makes,
    ty: Ty,
    depth: usize,
    /// The type that the class of this template stands for, once it is known.
    class: Option<Ty>,
}

impl Filler<'_> {
    fn placeholder(&mut self, name: &str) -> Part {
        let ty = match Makes::class(name) {
            Some(class) => Some(self.class_type(class)),
            None => Ty::of_placeholder(name),
        };
        match ty {
            Some(ty) => Part::Node(of_depth(self.rng, self.scope, ty, self.depth)),
            None => Part::Text(Cow::Borrowed(self.rng.pick(pool(name)))),
        }
    }

    fn class_type(&mut self, class: &[Ty]) -> Ty {
        let is_own = !matches!(self.makes, Makes::Type(_));
        let ty = self.class.unwrap_or_else(|| if is_own { self.ty } else { self.rng.pick(class) });
        self.class = Some(ty);
        ty
    }
}

/// A column or a literal.
pub(super) fn leaf(rng: &mut Rng, scope: &Scope, ty: Ty) -> Node {
    let columns = scope.of_type(ty);
    if !columns.is_empty() && rng.percent(65) {
        return rng.pick(&columns).clone();
    }
    literal(rng, ty)
}

fn literal(rng: &mut Rng, ty: Ty) -> Node {
    match rng.below(100) {
        0..3 => return Node::leaf(Some(ty), "NULL"),
        3..6 => return Node::leaf(Some(ty), format!("NULL::{}", ty.sql())),
        _ => {}
    }
    // Edges one time in three: with only edges, all that is seen is overflow.
    let values = ty.values();
    let tame = values.len().div_ceil(2);
    let value = if rng.percent(67) { rng.pick(&values[..tame]) } else { rng.pick(values) };
    let is_bare_number = value.starts_with(|c: char| c.is_ascii_digit());
    let text = match ty {
        Ty::Bool => value.to_owned(),
        Ty::Int4 | Ty::Numeric if is_bare_number => value.to_owned(),
        Ty::Text if rng.percent(60) => format!("'{value}'"),
        _ if rng.percent(6) => format!("'{value}'"),
        _ if rng.percent(20) => format!("CAST('{value}' AS {})", ty.sql()),
        _ => format!("'{value}'::{}", ty.sql()),
    };
    Node::leaf(Some(ty), text)
}
