//! A node of a plan as it is printed: lines for people, names and values for programs.

use serde_json::{Value, json};

use super::ExplainOptions;
use super::document::{Field, Part};
use super::estimate::Estimate;

/// One node of the printed tree.
#[derive(Default)]
pub(super) struct Node {
    pub title: String,
    /// What programs know it by, where that is not the title: the type of the node, and what else is in the title.
    pub kind: Option<(&'static str, Vec<(&'static str, Value)>)>,
    pub estimate: Option<Estimate>,
    pub actual: Option<Actual>,
    pub properties: Vec<(&'static str, Value)>,
    pub children: Vec<Node>,
}

/// What a run has counted of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Actual {
    pub rows: usize,
    /// Milliseconds that it has taken, without what is below it; `None` where times are not asked for.
    pub time: Option<f64>,
}

impl Node {
    /// Without costs and rows where these are not asked for.
    pub(super) fn told(self, options: &ExplainOptions) -> Self {
        if options.costs {
            return self;
        }
        let children = self.children.into_iter().map(|child| child.told(options)).collect();
        Self { estimate: None, children, ..self }
    }

    /// Milliseconds of the node and of all below it.
    fn time(&self) -> f64 {
        let own = self.actual.and_then(|actual| actual.time).unwrap_or_default();
        own + self.children.iter().map(Node::time).sum::<f64>()
    }

    pub(super) fn print(&self, depth: usize, lines: &mut Vec<String>) {
        let (lead, indent) = match depth {
            0 => (String::new(), "  ".to_owned()),
            _ => (format!("{}->  ", " ".repeat(depth * 6 - 4)), " ".repeat(depth * 6 + 2)),
        };
        let estimate = self.estimate.map(|estimate| format!("  ({})", estimate.text())).unwrap_or_default();
        let actual = self.actual.map(|actual| match actual.time {
            Some(_) => format!(" (actual time=0.000..{:.3} rows={} loops=1)", self.time(), actual.rows),
            None => format!(" (actual rows={} loops=1)", actual.rows),
        });
        lines.push(format!("{lead}{}{estimate}{}", self.title, actual.unwrap_or_default()));
        for (name, value) in &self.properties {
            lines.push(format!("{indent}{name}: {}", text(value)));
        }
        for child in &self.children {
            child.print(depth + 1, lines);
        }
    }

    pub(super) fn into_fields(self) -> Vec<Field> {
        let part = |value| match value {
            Value::Array(items) => Part::Items(items),
            value => Part::Value(value),
        };
        let time = self.time();
        let (kind, said) = match self.kind {
            Some((kind, said)) => (kind.to_owned(), said),
            None => (self.title, Vec::new()),
        };
        let mut properties = vec![("Node Type", json!(kind))];
        properties.extend(said);
        properties.extend(self.estimate.iter().flat_map(Estimate::properties));
        if let Some(actual) = self.actual {
            if actual.time.is_some() {
                properties.push(("Actual Startup Time", json!(0.0)));
                properties.push(("Actual Total Time", json!(rounded(time))));
            }
            properties.push(("Actual Rows", json!(actual.rows)));
            properties.push(("Actual Loops", json!(1)));
        }
        properties.extend(self.properties);
        let mut fields: Vec<Field> =
            properties.into_iter().map(|(name, value)| (name.to_owned(), part(value))).collect();
        if !self.children.is_empty() {
            let children = self.children.into_iter().map(Node::into_fields).collect();
            fields.push(("Plans".to_owned(), Part::Groups("Plan", children)));
        }
        fields
    }
}

/// Milliseconds to a thousandth.
pub(super) fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1000.0).round() / 1000.0
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}
