//! Prints physical plans: a tree whose scan nodes say which keys they read and what reading them cost. To people as lines, to
//! programs as one document.

mod document;
mod nodes;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use serde_json::{Value, json};
use tablegate_store::table::Direction;

use self::document::{Document, Field, Part};
use self::nodes::{Kind, Named, kind_of};
use super::reads::Reads;
use super::scan::EntityScanExec;
use crate::expr::printed;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ExplainFormat {
    #[default]
    Text,
    Json,
    Xml,
    Yaml,
}

/// What EXPLAIN was asked for.
#[derive(Debug, Clone)]
pub(crate) struct ExplainOptions {
    pub analyze: bool,
    pub verbose: bool,
    /// With ANALYZE: the time of each node.
    pub timing: bool,
    /// With ANALYZE: the time of the whole.
    pub summary: bool,
    pub format: ExplainFormat,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        Self { analyze: false, verbose: false, timing: true, summary: true, format: ExplainFormat::Text }
    }
}

/// A statement as it is printed: its own plan, below what it does with the rows, and the parts that run before it.
#[derive(Default)]
pub(crate) struct Shown {
    /// What happens to the rows, if they are not only read.
    pub title: Option<String>,
    pub plan: Option<Arc<dyn ExecutionPlan>>,
    /// What it would read from.
    pub reads: Option<Arc<Reads>>,
    /// How many entity group transactions its rows were committed in, and to how many partitions.
    pub committed: Option<(u64, usize)>,
    /// Parts with their titles.
    pub parts: Vec<(String, Shown)>,
    /// It is to be said that it is run without the optimizer: the plan says what is read, and nothing around it is made.
    pub is_direct: bool,
}

impl Shown {
    /// A query on its own.
    pub(crate) fn of(plan: Arc<dyn ExecutionPlan>, reads: Option<Arc<Reads>>, is_direct: bool) -> Self {
        Self { plan: Some(plan), reads, is_direct, ..Self::default() }
    }

    fn node(self, options: &ExplainOptions) -> Node {
        let below = self.plan.as_ref().map(|plan| node(plan, self.reads.as_ref(), options));
        let mut root = match self.title {
            None => below.unwrap_or_default(),
            Some(title) => Node { title, children: below.into_iter().collect(), ..Node::default() },
        };
        let part =
            |(title, part): (String, Shown)| Node { title, children: vec![part.node(options)], ..Node::default() };
        if let Some((egts, partitions)) = self.committed {
            root.properties.push(("Entity Group Transactions", json!(egts)));
            root.properties.push(("Partitions", json!(partitions)));
        }
        if self.is_direct {
            root.properties.push(("Direct", json!(true)));
        }
        root.children.splice(0..0, self.parts.into_iter().map(part));
        root
    }
}

/// The rows of EXPLAIN's one column: a line each, or one document. `elapsed` is how long an analyzed run took.
pub(crate) fn render(shown: Shown, elapsed: Option<Duration>, options: &ExplainOptions) -> Vec<String> {
    let root = shown.node(options);
    let elapsed = elapsed.filter(|_| options.summary);
    match options.format {
        ExplainFormat::Text => {
            let mut lines = Vec::new();
            root.print(0, &mut lines);
            lines.extend(elapsed.map(|t| format!("Execution Time: {:.3} ms", milliseconds(t))));
            lines
        }
        ExplainFormat::Json | ExplainFormat::Xml | ExplainFormat::Yaml => {
            let mut fields = vec![("Plan".to_owned(), Part::Group(root.into_fields()))];
            let microseconds = |t: Duration| (milliseconds(t) * 1000.0).round() / 1000.0;
            fields.extend(elapsed.map(|t| ("Execution Time".to_owned(), Part::Value(json!(microseconds(t))))));
            vec![options.format.written(&Document::Query(fields))]
        }
    }
}

/// The same of a statement that has no plan: lines have nothing to say of it.
pub(crate) fn render_nothing(kind: &'static str, options: &ExplainOptions) -> Vec<String> {
    match options.format {
        ExplainFormat::Text => Vec::new(),
        format => vec![format.written(&Document::Nothing(kind))],
    }
}

impl ExplainFormat {
    fn written(self, document: &Document) -> String {
        match self {
            ExplainFormat::Json | ExplainFormat::Text => document.json(),
            ExplainFormat::Xml => document.xml(),
            ExplainFormat::Yaml => document.yaml(),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// One node of the printed tree.
#[derive(Default)]
struct Node {
    title: String,
    /// `(actual ...)`, behind the title.
    actual: Option<String>,
    properties: Vec<(&'static str, Value)>,
    children: Vec<Node>,
}

impl Node {
    fn print(&self, depth: usize, lines: &mut Vec<String>) {
        let (lead, indent) = match depth {
            0 => (String::new(), "  ".to_owned()),
            _ => (format!("{}->  ", " ".repeat(depth * 6 - 4)), " ".repeat(depth * 6 + 2)),
        };
        let actual = self.actual.as_deref().map(|a| format!(" ({a})")).unwrap_or_default();
        lines.push(format!("{lead}{}{actual}", self.title));
        for (name, value) in &self.properties {
            lines.push(format!("{indent}{name}: {}", text(value)));
        }
        for child in &self.children {
            child.print(depth + 1, lines);
        }
    }

    fn into_fields(self) -> Vec<Field> {
        let part = |value| match value {
            Value::Array(items) => Part::Items(items),
            value => Part::Value(value),
        };
        let mut fields = vec![("Node Type".to_owned(), Part::Value(Value::String(self.title)))];
        fields.extend(self.actual.map(|actual| ("Actual".to_owned(), Part::Value(Value::String(actual)))));
        fields.extend(self.properties.into_iter().map(|(name, value)| (name.to_owned(), part(value))));
        if !self.children.is_empty() {
            let children = self.children.into_iter().map(Node::into_fields).collect();
            fields.push(("Plans".to_owned(), Part::Groups("Plan", children)));
        }
        fields
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

fn node(plan: &Arc<dyn ExecutionPlan>, reads: Option<&Arc<Reads>>, options: &ExplainOptions) -> Node {
    let inputs = plan.children();
    let (named, is_hashed) = match (kind_of(plan), inputs.as_slice()) {
        (Kind::HandsOn, [only]) => return node(only, reads, options),
        (Kind::Filter(condition), [only]) => {
            let mut filtered = node(only, reads, options);
            filtered.actual = actual_of(plan, options).or(filtered.actual);
            match filtered.properties.iter_mut().find(|(name, _)| *name == "Filter") {
                Some((_, known)) => *known = json!(format!("({} AND {condition})", text(known))),
                None => filtered.properties.push(("Filter", json!(condition))),
            }
            return filtered;
        }
        (Kind::FirstSorted(Named { title, properties }), [only]) => {
            let actual = actual_of(plan, options);
            let sort = Node { title, actual: None, properties, children: vec![node(only, reads, options)] };
            return Node { title: "Limit".to_owned(), actual, properties: Vec::new(), children: vec![sort] };
        }
        (Kind::HashJoin(named), _) => (named, true),
        (Kind::Node(named) | Kind::FirstSorted(named), _) => (named, false),
        (Kind::HandsOn | Kind::Filter(_), _) => (Named { title: "Result".to_owned(), properties: Vec::new() }, false),
    };
    let mut children: Vec<Node> = inputs.into_iter().map(|child| node(child, reads, options)).collect();
    if is_hashed && children.len() == 2 {
        let hashed = vec![children.remove(0)];
        children.push(Node { title: "Hash".to_owned(), children: hashed, ..Node::default() });
    }
    let (title, properties) = match plan.downcast_ref::<EntityScanExec>() {
        Some(scan) => (format!("Entity Scan on {}", scan.relation().name), scan_properties(scan, reads, options)),
        None => (named.title, named.properties),
    };
    let properties = match options.verbose {
        true => properties,
        false => properties.into_iter().map(|(name, value)| (name, shortened(value))).collect(),
    };
    Node { title, actual: actual_of(plan, options), properties, children }
}

/// A text that can be read: a list of a thousand constants is cut.
fn shortened(value: Value) -> Value {
    /// More than what operators say of themselves without such lists.
    const CHARS_MAX: usize = 1_000;
    match value {
        Value::String(mut text) => {
            if let Some((end, _)) = text.char_indices().nth(CHARS_MAX) {
                text.truncate(end);
                text.push_str(" ... (VERBOSE shows all of it)");
            }
            Value::String(text)
        }
        other => other,
    }
}

fn actual_of(plan: &Arc<dyn ExecutionPlan>, options: &ExplainOptions) -> Option<String> {
    plan.metrics().filter(|_| options.analyze).and_then(|metrics| actual(&metrics, options))
}

fn actual(metrics: &MetricsSet, options: &ExplainOptions) -> Option<String> {
    let rows = metrics.output_rows()?;
    let time = metrics.elapsed_compute().filter(|_| options.timing);
    Some(match time.and_then(|nanos| u64::try_from(nanos).ok()) {
        Some(nanos) => format!("actual time={:.3} rows={rows}", milliseconds(Duration::from_nanos(nanos))),
        None => format!("actual rows={rows}"),
    })
}

fn scan_properties(
    scan: &EntityScanExec,
    reads: Option<&Arc<Reads>>,
    options: &ExplainOptions,
) -> Vec<(&'static str, Value)> {
    let plan = scan.key_plan();
    let mut properties = vec![("Scope", json!(plan.scope.to_string()))];
    properties.extend(plan.keys().map(|keys| ("Keys", json!(keys))));
    properties.extend(residual(scan).map(|filter| ("Filter", json!(filter))));
    if !scan.dynamic_filters().is_empty() {
        properties.push(("Run-Time Filters", json!(scan.dynamic_filters().len())));
    }
    if options.verbose {
        let columns: Vec<&str> = scan.columns().collect();
        properties.push(("Output", json!(columns.join(", "))));
    }
    if scan.direction() == Direction::Reverse {
        properties.push(("Order", json!("reverse")));
    }
    if scan.parts() > 1 {
        properties.push(("Parts", json!(scan.parts())));
    }
    properties.extend(scan.fetch().map(|limit| ("Limit", json!(limit))));
    if let Some(reads) = reads {
        properties.extend(requests::properties(scan, reads, options.verbose));
    }
    if options.analyze {
        let stats = scan.stats();
        properties.push(("Entities Scanned", json!(stats.entities_scanned())));
        properties.push(("Requests", json!(stats.requests())));
        if options.timing {
            properties.push(("Bytes", json!(stats.bytes())));
            properties.push(("Retries", json!(stats.retries())));
            // A local store has no pages, and sends no bill.
            if stats.transactions() > 0 {
                properties.push(("Pages", json!(stats.pages())));
                properties.push(("Billable Transactions", json!(stats.transactions())));
            }
        }
    }
    properties
}

/// What is evaluated on the rows that were read: one filter for each group of ranges that needs one.
fn residual(scan: &EntityScanExec) -> Option<String> {
    let mut filters: Vec<String> = Vec::new();
    for filter in scan.key_plan().groups.iter().filter_map(|group| group.residual.as_ref()) {
        let text = printed(filter);
        if !filters.contains(&text) {
            filters.push(text);
        }
    }
    (!filters.is_empty()).then(|| filters.join("; "))
}
