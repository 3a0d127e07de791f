//! Prints physical plans: a tree whose scan nodes say which keys they read and what reading them cost. To people as lines, to
//! programs as one document.

mod document;
mod estimate;
mod node;
mod nodes;
mod origin;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::StatisticsContext;
use serde_json::{Value, json};
use tablegate_store::table::Direction;

use self::document::{Document, Part};
use self::estimate::{Estimate, Work};
use self::node::{Actual, Node, rounded, text};
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
    /// How long planning took, and with ANALYZE the whole; `None` where nothing is said of it.
    pub summary: Option<bool>,
    /// What the nodes are expected to give and to cost.
    pub costs: bool,
    pub format: ExplainFormat,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        let (timing, costs, format) = (true, true, ExplainFormat::Text);
        Self { analyze: false, verbose: false, timing, summary: None, costs, format }
    }
}

/// What a statement does with the rows that it finds.
pub(crate) enum Doing {
    /// It locks them.
    Locks,
    /// It changes a table: by an operation, in one word, of this name.
    Changes { operation: &'static str, relation: String },
}

impl Doing {
    fn above(self, below: Option<Node>) -> Node {
        let found = below.as_ref().and_then(|below| below.estimate).unwrap_or_default();
        let (title, kind, estimate) = match self {
            Doing::Locks => ("LockRows".to_owned(), None, Estimate::above(Work::Passes, found)),
            Doing::Changes { operation, relation } => {
                let said = vec![
                    ("Operation", json!(operation)),
                    ("Relation Name", json!(relation)),
                    ("Alias", json!(relation)),
                ];
                let title = format!("{operation} on {relation}");
                (title, Some(("ModifyTable", said)), Estimate::above(Work::Writes, found))
            }
        };
        Node { title, kind, estimate: Some(estimate), children: below.into_iter().collect(), ..Node::default() }
    }
}

/// A statement as it is printed: its own plan, below what it does with the rows, and the parts that run before it.
#[derive(Default)]
pub(crate) struct Shown {
    /// What happens to the rows, if they are not only read.
    pub doing: Option<Doing>,
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
        let tree = Tree { reads: self.reads.as_ref(), options, statistics: StatisticsContext::new() };
        let below = self.plan.as_ref().map(|plan| tree.node(plan));
        let mut root = match self.doing {
            None => below.unwrap_or_default(),
            Some(doing) => doing.above(below),
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

/// How long a statement took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub planning: Duration,
    /// Of a run that was analyzed.
    pub execution: Option<Duration>,
}

impl Times {
    fn named(self, options: &ExplainOptions) -> impl Iterator<Item = (&'static str, f64)> {
        // Without ANALYZE only a summary that is asked for says how long planning took.
        let is_told = options.summary.unwrap_or(options.analyze);
        let times = [("Planning Time", Some(self.planning)), ("Execution Time", self.execution)];
        times.into_iter().filter_map(move |(name, time)| Some((name, milliseconds(time.filter(|_| is_told)?))))
    }
}

/// The rows of EXPLAIN's one column: a line each, or one document.
pub(crate) fn render(shown: Shown, times: Times, options: &ExplainOptions) -> Vec<String> {
    let root = shown.node(options).told(options);
    match options.format {
        ExplainFormat::Text => {
            let mut lines = Vec::new();
            root.print(0, &mut lines);
            lines.extend(times.named(options).map(|(name, time)| format!("{name}: {time:.3} ms")));
            lines
        }
        ExplainFormat::Json | ExplainFormat::Xml | ExplainFormat::Yaml => {
            let mut fields = vec![("Plan".to_owned(), Part::Group(root.into_fields()))];
            fields
                .extend(times.named(options).map(|(name, time)| (name.to_owned(), Part::Value(json!(rounded(time))))));
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

/// Makes the tree that is printed.
struct Tree<'t> {
    reads: Option<&'t Arc<Reads>>,
    options: &'t ExplainOptions,
    /// How many rows the nodes are expected to give.
    statistics: StatisticsContext,
}

impl Tree<'_> {
    fn node(&self, plan: &Arc<dyn ExecutionPlan>) -> Node {
        let options = self.options;
        let inputs = plan.children();
        let (named, is_hashed) = match (kind_of(plan), inputs.as_slice()) {
            (Kind::HandsOn, [only]) => return self.node(only),
            (Kind::Filter(condition), [only]) => {
                let mut filtered = self.node(only);
                filtered.actual = actual_of(plan, options).or(filtered.actual);
                let below = filtered.estimate.unwrap_or_default();
                filtered.estimate = Some(Estimate::of(plan, &self.statistics, Work::Filters, &[below]));
                match filtered.properties.iter_mut().find(|(name, _)| *name == "Filter") {
                    Some((_, known)) => *known = json!(format!("({} AND {condition})", text(known))),
                    None => filtered.properties.push(("Filter", json!(condition))),
                }
                return filtered;
            }
            (Kind::FirstSorted(named), [only]) => {
                let below = self.node(only);
                let sorted = Estimate::above(Work::Sorts, below.estimate.unwrap_or_default());
                let limited = Estimate::of(plan, &self.statistics, Work::Sorts, &[below.estimate.unwrap_or_default()]);
                let sort = named.node(sorted, vec![below]);
                let actual = actual_of(plan, options).map(|actual| first_of(actual, plan.fetch()));
                let title = "Limit".to_owned();
                return Node { title, actual, estimate: Some(limited), children: vec![sort], ..Node::default() };
            }
            (Kind::HashJoin(named), _) => (named, true),
            (Kind::Node(named) | Kind::FirstSorted(named), _) => (named, false),
            (Kind::HandsOn | Kind::Filter(_), _) => (Named::new("Result", Work::Passes), false),
        };
        let mut children: Vec<Node> = inputs.into_iter().map(|child| self.node(child)).collect();
        let below: Vec<Estimate> = children.iter().map(|child| child.estimate.unwrap_or_default()).collect();
        if is_hashed && children.len() == 2 {
            let hashed = children.remove(0);
            let estimate = hashed.estimate.map(|below| Estimate::above(Work::Gathers, below));
            children.push(Node { title: "Hash".to_owned(), estimate, children: vec![hashed], ..Node::default() });
        }
        let named = match plan.downcast_ref::<EntityScanExec>() {
            Some(scan) => Named::of_scan(scan, scan_properties(scan, self.reads, options)),
            None => named,
        };
        let estimate = Estimate::of(plan, &self.statistics, named.work, &below);
        let mut node = named.node(estimate, children);
        node.actual = actual_of(plan, options);
        if !options.verbose {
            node.properties = node.properties.into_iter().map(|(name, value)| (name, shortened(value))).collect();
        }
        node
    }
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

fn actual_of(plan: &Arc<dyn ExecutionPlan>, options: &ExplainOptions) -> Option<Actual> {
    let metrics = plan.metrics().filter(|_| options.analyze)?;
    let time = metrics.elapsed_compute().filter(|_| options.timing).and_then(|nanos| u64::try_from(nanos).ok());
    let time = time.map(|nanos| milliseconds(Duration::from_nanos(nanos)));
    Some(Actual { rows: metrics.output_rows()?, time })
}

/// Each thread keeps its own first rows; those that the node gives are no more than its limit.
fn first_of(actual: Actual, limit: Option<usize>) -> Actual {
    Actual { rows: limit.map_or(actual.rows, |limit| actual.rows.min(limit)), ..actual }
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
