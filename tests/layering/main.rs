//! Holds the layers apart: who may import whom, and where an external crate may be used.
//!
//! The tables below are the rule; ARCHITECTURE.md explains them. A new edge is a change of design, made here and there
//! together, never by the way.

mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

/// Each layer, and the layers whose paths it may name. A layer is a folder of `src/` or a file of that name.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("table", &["model"]),
    ("backend", &["table", "model"]),
    ("sql", &["table", "model"]),
    ("pg", &["sql", "model"]),
    ("cli", &["pg", "sql", "backend", "table", "model"]),
    ("main", &["cli"]),
    // Declares the layers, imports none.
    ("lib", &[]),
];

/// Every dependency, and the parts of `src/` that may use it. A dependency that is not listed is refused.
const CRATES: &[(&str, &[&str])] = &[
    ("arrow", &["model", "table", "backend", "sql", "pg"]),
    ("async_trait", &["table", "backend", "sql", "pg"]),
    // Tokens of Entra ID, with the feature `entra` alone.
    ("azure_core", &["backend/azure/entra"]),
    ("azure_identity", &["backend/azure/entra"]),
    ("base64", &["model", "table", "backend", "sql", "pg"]),
    ("bytes", &["table", "backend", "sql", "pg", "cli/metrics"]),
    ("chrono", &["model", "table", "backend", "sql", "pg"]),
    ("chrono_tz", &["sql"]),
    ("clap", &["cli"]),
    ("datafusion", &["sql"]),
    ("fjall", &["backend/embedded"]),
    ("futures", &["table", "backend", "sql", "pg", "cli"]),
    // Tables that are looked up by keys which lie elsewhere.
    ("hashbrown", &["table/columns", "sql/tx"]),
    ("http_body_util", &["cli/metrics"]),
    ("hyper", &["cli/metrics"]),
    ("hyper_util", &["cli/metrics"]),
    ("md5", &["sql"]),
    // Files of columns are read where they lie, without copies.
    ("memmap2", &["backend/embedded"]),
    ("num_bigint", &["sql"]),
    ("pgwire", &["pg"]),
    ("postgres_types", &["pg"]),
    ("prometheus_client", &["cli/metrics"]),
    ("regex_automata", &["sql"]),
    ("reqwest", &["backend/azure"]),
    // Random bytes, HMAC and SHA-256: of passwords, of requests.
    ("ring", &["pg/auth", "backend/azure"]),
    ("rustls_platform_verifier", &["backend/azure"]),
    ("rpassword", &["cli"]),
    ("rustix", &["backend/embedded"]),
    // The shortest digits of a double.
    ("ryu", &["sql/output"]),
    ("serde", &["backend", "sql", "pg/auth", "cli"]),
    ("serde_json", &["table", "backend", "sql", "pg"]),
    ("sha2", &["sql"]),
    // Locks have one holder nearly always.
    ("smallvec", &["sql/tx"]),
    // Files without a name, for what collected writes do not keep in memory; files that replace others; a folder of
    // temporary tables.
    ("tempfile", &["sql/tx", "pg/auth", "cli/wiring"]),
    ("strsim", &["sql"]),
    ("thiserror", &["model", "table", "backend", "sql", "pg", "cli"]),
    // One allocator for the program; who uses the library has their own.
    ("tikv_jemallocator", &["main"]),
    ("tokio", &["backend", "sql", "pg", "cli"]),
    ("tokio_rustls", &["pg", "backend/azure"]),
    ("tokio_util", &["pg", "cli"]),
    ("toml", &["cli", "pg/auth"]),
    ("tracing", &["backend", "sql", "pg", "cli"]),
    ("tracing_subscriber", &["cli"]),
    ("unicode_normalization", &["sql"]),
    ("uuid", &["model", "table", "backend", "sql", "pg"]),
    ("xxhash_rust", &["backend", "sql", "table/seeded_hash"]),
];

#[test]
fn layers_import_only_what_is_below_them() {
    let mut wrong = Vec::new();
    for file in sources() {
        let (layer, allowed) = layer_of(&file.path).unwrap_or_else(|| panic!("{} is in no layer", file.path));
        for name in file.code.crate_paths(&file.path) {
            let is_layer = LAYERS.iter().any(|(layer, _)| *layer == name);
            if is_layer && name != layer && !allowed.contains(&name.as_str()) {
                wrong.push(format!("src/{}: `{layer}` must not import `crate::{name}`", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "wrong imports between layers:\n{}", wrong.join("\n"));
}

#[test]
fn external_crates_stay_in_their_layer() {
    let mut wrong = Vec::new();
    for file in sources() {
        for name in file.code.path_starts() {
            let Some((_, places)) = CRATES.iter().find(|(krate, _)| *krate == name) else { continue };
            if !places.iter().any(|place| is_inside(&file.path, place)) {
                wrong.push(format!("src/{}: `{name}` belongs to {}", file.path, places.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "external crates outside their layer:\n{}", wrong.join("\n"));
}

#[test]
fn every_dependency_has_a_place() {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().expect("Cargo.toml is TOML");
    let dependencies = manifest["dependencies"].as_table().expect("[dependencies] is a table");
    let declared: BTreeSet<String> = dependencies.keys().map(|name| name.replace('-', "_")).collect();
    let placed: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(declared, placed, "the table of crates and Cargo.toml differ");
}

#[test]
fn every_file_opens_with_why_it_exists() {
    let files = rust_files(&["src", "tests", "examples", "benches"]);
    let silent: Vec<String> =
        files.iter().filter(|path| !read(path).starts_with("//! ")).map(|path| path.display().to_string()).collect();
    assert!(silent.is_empty(), "files that do not start with `//! `:\n{}", silent.join("\n"));
}

struct File {
    /// Below `src/`, with forward slashes.
    path: String,
    code: Source,
}

/// Every source file that is not test code.
fn sources() -> Vec<File> {
    let src = root().join("src");
    let files = rust_files(&["src"]).into_iter().map(|path| {
        let below = path.strip_prefix(&src).expect("it was found below src").to_string_lossy().replace('\\', "/");
        File { code: Source::new(&read(&path)), path: below }
    });
    files.filter(|file| !is_test_code(&file.path)).collect()
}

/// `foo/tests.rs` and what is in a folder `tests` are compiled under `#[cfg(test)]` only.
fn is_test_code(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn layer_of(path: &str) -> Option<(&'static str, &'static [&'static str])> {
    LAYERS.iter().find(|(layer, _)| is_inside(path, layer)).copied()
}

/// Whether a file is `place.rs` or below the folder `place`.
fn is_inside(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

fn rust_files(folders: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|f| root().join(f)).filter(|f| f.is_dir()).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
