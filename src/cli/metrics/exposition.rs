//! The figures in the OpenMetrics text format: each with its name, its unit and what it means.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use tablegate_pg::Counters;
use tablegate_rest::OperationFigures;
use tablegate_sql::Engine;
use tablegate_sql::statistics::{Figures, LockFigures, Memory, StatementFigures};
use tablegate_store::model::EdmDateTime;
use tablegate_store::table::{RequestFigures, StoreFigures};

use super::{Monitored, process};

/// What the text is.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where the figures come from.
pub(super) struct Source {
    registry: Registry,
}

impl Source {
    pub(super) fn new(monitored: Monitored) -> Self {
        let Monitored { engine, counters, rest, max_connections, started, draining: _ } = monitored;
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Server { engine, counters, rest, max_connections, started }));
        Self { registry }
    }

    /// All figures, now.
    ///
    /// # Errors
    /// None are expected: the text is written to memory.
    pub(super) fn exposition(&self) -> Result<String, fmt::Error> {
        let mut text = String::with_capacity(32 << 10);
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

struct Server {
    engine: Arc<Engine>,
    counters: Arc<Counters>,
    rest: Option<Arc<tablegate_rest::Counters>>,
    max_connections: usize,
    started: EdmDateTime,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Collector for Server {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Writer(encoder);
        let figures = self.engine.figures();
        out.info("tablegate_build", "The program", [("version", env!("CARGO_PKG_VERSION"))])?;
        process::write(&mut out, self.started)?;
        self.write_connections(&mut out, &figures)?;
        write_statements(&mut out, &figures)?;
        write_transactions(&mut out, &figures)?;
        write_locks(&mut out, figures.locks)?;
        write_memory(&mut out, &figures)?;
        write_store(&mut out, figures.store)?;
        figures.store.requests.map_or(Ok(()), |requests| write_requests(&mut out, requests))?;
        self.rest.as_ref().map_or(Ok(()), |rest| write_rest(&mut out, rest))
    }
}

impl Server {
    fn write_connections(&self, out: &mut Writer<'_>, figures: &Figures) -> fmt::Result {
        let (sessions, counters) = (&figures.sessions, &self.counters);
        let sessions = sessions.iter().map(|(state, count)| (*state, *count));
        out.gauges("tablegate_connections", "Sessions, by what they are at", "state", sessions)?;
        let most = self.max_connections as u64;
        out.gauge("tablegate_connections_limit", "Sessions that there may be at one time", most)?;
        let accepted = counters.accepted.get();
        out.counter("tablegate_connections_accepted", "Connections of clients", accepted)?;
        let name = "tablegate_connections_refused";
        out.counters(name, "Connections that did not become sessions, by why", "reason", counters.refused())?;
        let asked = counters.cancel_requests.get();
        out.counter("tablegate_cancel_requests", "Cancel requests of clients", asked)?;
        let name = "tablegate_interruptions";
        let help = "Statements and idle sessions that were ended from outside, by why";
        out.counters(name, help, "reason", counters.stopped())?;
        let errors: Vec<(String, u64)> = counters.errors().collect();
        let errors = errors.iter().map(|(class, count)| (class.as_str(), *count));
        let help = "Errors that clients were told, by the class of their SQLSTATE";
        out.counters("tablegate_errors", help, "sqlstate_class", errors)?;
        out.counter("tablegate_rows_sent", "Rows of results that were sent", counters.rows_sent.get())?;
        let (sent, received) = (counters.bytes_sent.get(), counters.bytes_received.get());
        out.bytes_total("tablegate_sent", "Messages to clients, before encryption", sent)?;
        out.bytes_total("tablegate_received", "Messages of clients, after decryption", received)
    }
}

fn write_statements(out: &mut Writer<'_>, figures: &Figures) -> fmt::Result {
    let Figures { statements, scanned, returned, copied_in, copied_out, open_cursors, .. } = figures;
    out.outcomes("tablegate_statements", "Statements that ended, by kind and outcome", statements)?;
    let help = "Time from the start of statements to their last row; of those that did not fail";
    out.histograms("tablegate_statement_duration", help, statements)?;
    let rows = statements.iter().map(|statement| (statement.kind, statement.rows));
    out.counters("tablegate_statement_rows", "Rows that statements returned or changed", "kind", rows)?;
    out.counter("tablegate_entities_scanned", "Entities that scans looked at", *scanned)?;
    out.counter("tablegate_entities_returned", "Entities that met the conditions of scans", *returned)?;
    let copied = [("in", *copied_in), ("out", *copied_out)];
    out.counters("tablegate_copy_rows", "Rows that COPY has read and written", "direction", copied)?;
    out.gauge("tablegate_cursors", "Cursors that are open", *open_cursors)
}

fn write_transactions(out: &mut Writer<'_>, figures: &Figures) -> fmt::Result {
    let ended = [("committed", figures.commits), ("rolled_back", figures.rollbacks)];
    let help = "Transactions that ended; a statement on its own is one";
    out.counters("tablegate_transactions", help, "outcome", ended)?;
    let help = "Entity group transactions that were committed, those of the gateway's own tables among them";
    out.counter("tablegate_egts_committed", help, figures.egts)?;
    let help = "Entity group transactions that the store rejected, by why";
    out.counters("tablegate_egts_rejected", help, "reason", figures.rejected_egts.iter().copied())?;
    let help = "Entity group transactions that the store could not commit";
    out.counter("tablegate_egts_failed", help, figures.failed_egts)?;
    let help = "Entities that were written, by the kind of the operation";
    out.counters("tablegate_entities_written", help, "operation", figures.written)?;
    let help = "Transactions that observe mode saw break a rule of entity group transactions, by the rule";
    out.counters("tablegate_observed_breaches", help, "rule", figures.breaches.iter().copied())
}

fn write_locks(out: &mut Writer<'_>, locks: LockFigures) -> fmt::Result {
    let LockFigures { waiting, waits, waited, timeouts, deadlocks } = locks;
    out.gauge("tablegate_locks_waiting", "Transactions that wait for a lock", waiting)?;
    out.counter("tablegate_lock_waits", "Waits for locks that ended", waits)?;
    out.seconds_total("tablegate_lock_wait", "Time of these waits", waited.as_secs_f64())?;
    out.counter("tablegate_lock_timeouts", "Waits that lock_timeout ended", timeouts)?;
    out.counter("tablegate_deadlocks", "Deadlocks that were found", deadlocks)
}

fn write_memory(out: &mut Writer<'_>, figures: &Figures) -> fmt::Result {
    let Memory { used, limit } = figures.query_memory;
    out.bytes("tablegate_query_memory", "Memory that queries hold", used)?;
    out.bytes("tablegate_query_memory_limit", "Memory that queries may hold", limit)?;
    let Memory { used, limit } = figures.write_memory;
    out.bytes("tablegate_transaction_memory", "Memory that writes of open transactions hold", used)?;
    out.bytes("tablegate_transaction_memory_limit", "Memory that writes of open transactions may hold", limit)
}

/// The door for the Azure SDKs.
fn write_rest(out: &mut Writer<'_>, rest: &tablegate_rest::Counters) -> fmt::Result {
    let operations: Vec<OperationFigures> = rest.operations().collect();
    out.rest_requests(
        "tablegate_rest_requests",
        "Requests of the REST protocol, by operation and class of status",
        &operations,
    )?;
    out.rest_times("tablegate_rest_request_duration", "Time from the head of requests to their answers", &operations)?;
    let (entities, scanned) = rest.entities();
    out.counter("tablegate_rest_entities", "Entities that these returned or wrote", entities)?;
    out.counter("tablegate_rest_entities_scanned", "Entities that these looked at", scanned)?;
    let (received, sent) = rest.bytes();
    out.bytes_total("tablegate_rest_received", "Bodies of these requests", received)?;
    out.bytes_total("tablegate_rest_sent", "Bodies of their answers", sent)?;
    let (accepted, refused, open) = rest.connections();
    out.counter("tablegate_rest_connections_accepted", "Connections of the REST protocol", accepted)?;
    out.counter("tablegate_rest_connections_refused", "Those that were one too many", refused)?;
    out.gauge("tablegate_rest_connections", "Those that are open", open)
}

/// What the store does not tell is left out.
fn write_store(out: &mut Writer<'_>, figures: StoreFigures) -> fmt::Result {
    let StoreFigures { disk_bytes, write_buffer_bytes, cache_bytes, commits_waiting, syncs, compactions, .. } = figures;
    if let Some(bytes) = disk_bytes {
        out.bytes("tablegate_store_disk", "What the store's files take", bytes)?;
    }
    if let Some(bytes) = write_buffer_bytes {
        out.bytes("tablegate_store_write_buffer", "Memory for what is written and not yet in files", bytes)?;
    }
    if let Some(bytes) = cache_bytes {
        out.bytes("tablegate_store_cache", "Memory for what was read of files", bytes)?;
    }
    if let Some(waiting) = commits_waiting {
        out.gauge("tablegate_store_commits_waiting", "Commits that wait for the commit thread", waiting)?;
    }
    if let Some(syncs) = syncs {
        out.counter("tablegate_store_syncs", "Times the disk was waited for", syncs)?;
    }
    if let Some(compactions) = compactions {
        out.counter("tablegate_store_compactions", "Times files were merged", compactions)?;
    }
    let StoreFigures { segments, segment_bytes, segments_built, segments_building, .. } = figures;
    if let Some(segments) = segments {
        out.gauge("tablegate_store_segments", "Files that hold rows as columns too", segments)?;
    }
    if let Some(bytes) = segment_bytes {
        out.bytes("tablegate_store_segments_disk", "What these files take, within all of the store's", bytes)?;
    }
    if let Some(building) = segments_building {
        out.gauge("tablegate_store_segments_building", "Files with rows as columns that are being made", building)?;
    }
    if let Some(built) = segments_built {
        out.counter("tablegate_store_segments_built", "Files with rows as columns that were made", built)?;
    }
    Ok(())
}

/// A store that is asked over the network.
fn write_requests(out: &mut Writer<'_>, requests: RequestFigures) -> fmt::Result {
    let RequestFigures { answered, throttled, failed, time, received, limit } = requests;
    let outcomes = [("answered", answered), ("throttled", throttled), ("failed", failed)];
    let help = "Requests to the account, each try of them, by what became of them";
    out.counters("tablegate_account_requests", help, "outcome", outcomes)?;
    out.seconds_total("tablegate_account_request", "Time from sending these to their answers", time.as_secs_f64())?;
    out.bytes_total("tablegate_account_received", "Bodies of the answers", received)?;
    let help = "Requests that may be under way at one time: fewer while the account throttles or does not answer";
    out.gauge("tablegate_account_requests_limit", help, limit)
}

/// Writes metrics. Units and `_total` are added to names where the format wants them.
pub(super) struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    pub(super) fn bytes(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.0.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Gauge)?.encode_gauge(&value)
    }

    pub(super) fn seconds(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Gauge)?.encode_gauge(&value)
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    pub(super) fn bytes_total(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    pub(super) fn seconds_total(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    fn info(&mut self, name: &str, help: &str, labels: [(&str, &str); 1]) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Info)?.encode_info(&labels)
    }

    fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (value, gauge) in values {
            family.encode_family(&[(label, value)])?.encode_gauge(&gauge)?;
        }
        Ok(())
    }

    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (value, count) in values {
            family.encode_family(&[(label, value)])?.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
        }
        Ok(())
    }

    fn outcomes(&mut self, name: &str, help: &str, statements: &[StatementFigures]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for statement in statements {
            for (outcome, count) in [("ok", statement.times.count()), ("error", statement.failed)] {
                let labels = [("kind", statement.kind), ("outcome", outcome)];
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
            }
        }
        Ok(())
    }

    fn rest_requests(&mut self, name: &str, help: &str, operations: &[OperationFigures]) -> fmt::Result {
        const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for operation in operations {
            for (class, count) in CLASSES.into_iter().zip(operation.by_class).filter(|(_, count)| *count > 0) {
                let labels = [("operation", operation.name), ("status", class)];
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
            }
        }
        Ok(())
    }

    fn rest_times(&mut self, name: &str, help: &str, operations: &[OperationFigures]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for OperationFigures { name, by_class, time, spans } in operations {
            let labels = [("operation", *name)];
            let mut histogram = family.encode_family(&labels)?;
            histogram.encode_histogram::<NoLabelSet>(time.as_secs_f64(), by_class.iter().sum(), spans, None)?;
        }
        Ok(())
    }

    /// Of kinds that there were none of nothing is written: a histogram is many lines.
    fn histograms(&mut self, name: &str, help: &str, statements: &[StatementFigures]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for StatementFigures { kind, times, .. } in statements.iter().filter(|s| s.times.count() > 0) {
            let total = times.total.as_secs_f64();
            let labels = [("kind", *kind)];
            let mut histogram = family.encode_family(&labels)?;
            histogram.encode_histogram::<NoLabelSet>(total, times.count(), &times.spans, None)?;
        }
        Ok(())
    }
}
