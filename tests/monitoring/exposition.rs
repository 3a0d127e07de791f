//! A reader of the OpenMetrics text format that takes nothing else, so that what it reads every other reader can.

use std::collections::{BTreeMap, BTreeSet};

/// The samples of one answer, by their names with labels as they are written.
#[derive(Debug, Clone)]
pub(super) struct Samples(BTreeMap<String, f64>);

impl Samples {
    /// # Panics
    /// With the line that is not of the format.
    pub(super) fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("it ends with the end marker");
        let (mut samples, mut families) = (BTreeMap::new(), BTreeSet::new());
        let (mut family, mut kind) = (String::new(), String::new());
        for line in body.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let mut words = comment.splitn(3, ' ');
                let (word, name, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
                match word {
                    "HELP" => {
                        assert!(families.insert(name.to_owned()), "a family is told twice: {line}");
                        (family, kind) = (name.to_owned(), String::new());
                        assert!(rest.len() > 3, "{line}");
                    }
                    "TYPE" => {
                        if family != name {
                            assert!(families.insert(name.to_owned()), "a family is told twice: {line}");
                            family = name.to_owned();
                        }
                        assert!(["counter", "gauge", "histogram", "info"].contains(&rest), "{line}");
                        kind = rest.to_owned();
                    }
                    "UNIT" => assert!(family == name && name.ends_with(&format!("_{rest}")), "{line}"),
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let suffixes: &[&str] = match kind.as_str() {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                "info" => &["_info"],
                _ => &[""],
            };
            let suffix = name.strip_prefix(family.as_str()).unwrap_or_else(|| panic!("{line} is not of {family}"));
            assert!(suffixes.contains(&suffix), "{line} is not of a {kind}");
            check_labels(labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}")));
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {line}");
        }
        let samples = Self(samples);
        samples.check_histograms();
        samples
    }

    /// # Panics
    /// When there is no such sample.
    pub(super) fn get(&self, series: &str) -> f64 {
        *self.0.get(series).unwrap_or_else(|| panic!("no {series} in {:#?}", self.0.keys()))
    }

    /// By how much a sample grew; one that is not there yet was 0.
    pub(super) fn growth(&self, before: &Samples, series: &str) -> f64 {
        self.get(series) - before.0.get(series).copied().unwrap_or(0.0)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The spans add up, and the last is all of them.
    fn check_histograms(&self) {
        for (series, count) in self.0.iter().filter(|(series, _)| series.contains("_count")) {
            let labels = series.split_once('{').map_or("", |(_, labels)| labels.trim_end_matches('}'));
            let family = series.split_once("_count").unwrap().0;
            let of_this = |series: &&String| series.starts_with(&format!("{family}_bucket")) && series.contains(labels);
            let mut buckets: Vec<f64> = self.0.keys().filter(of_this).map(|series| self.0[series]).collect();
            buckets.sort_by(f64::total_cmp);
            assert_eq!(buckets.last(), Some(count), "{series}");
            let all = self.0.keys().filter(of_this).find(|series| series.contains("le=\"+Inf\"")).unwrap();
            assert_eq!(self.0[all], *count, "{all}");
        }
    }
}

fn check_labels(labels: &str) {
    let mut rest = labels;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{labels}"));
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{labels}");
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{labels}"));
        assert!(!value.contains(['\\', '\n']), "{labels}");
        rest = after.strip_prefix(',').unwrap_or(after);
        assert!(!rest.is_empty() || after.is_empty(), "{labels}");
    }
}
