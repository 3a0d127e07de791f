//! Holds the layers apart: which crate may depend on which, where an external crate may be used, and in which order the
//! rooms of `sql` import each other.
//!
//! The tables are the rule; ARCHITECTURE.md explains them. A new edge is a change of design, made here and there together,
//! never by the way.

mod recipes;
mod rooms;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

/// The crates of the workspace by their folders in `src/`, lowest first, and those that each may depend on.
const MEMBERS: &[(&str, &[&str])] = &[
    ("files", &[]),
    ("store", &[]),
    ("backends", &["store"]),
    ("types", &["store"]),
    ("bind", &["types"]),
    ("sql", &["files", "store", "types", "bind"]),
    ("pg", &["files", "types", "sql"]),
    ("rest", &["files", "store", "types"]),
];

/// Every dependency, and the parts of `src/` that may use it. A dependency that is not listed is refused.
const CRATES: &[(&str, &[&str])] = &[
    ("arrow", &["store", "backends", "types", "sql", "pg"]),
    ("async_trait", &["store", "backends", "sql", "pg", "rest", "cli/doors", "cli/token_keys"]),
    // Tokens of Entra ID, with the feature `entra` alone.
    ("azure_core", &["backends/azure/entra"]),
    ("azure_identity", &["backends/azure/entra"]),
    ("base64", &["store", "backends", "types", "pg", "rest"]),
    ("bytes", &["files", "backends", "types", "sql", "pg", "rest", "cli/metrics"]),
    ("chrono", &["store", "backends", "types", "sql", "rest"]),
    ("chrono_tz", &["types"]),
    ("clap", &["cli"]),
    ("datafusion", &["sql"]),
    // The value type and the error that the engine's crates share.
    ("datafusion_common", &["types"]),
    ("fjall", &["backends/embedded"]),
    ("futures", &["store", "backends", "sql", "pg", "cli"]),
    // Tables that are looked up by keys which lie elsewhere.
    ("hashbrown", &["store/table/columns", "backends/embedded", "sql/range_join", "sql/tx"]),
    ("http_body_util", &["rest", "cli/metrics"]),
    ("hyper", &["rest", "cli/metrics"]),
    ("hyper_util", &["rest", "cli/metrics"]),
    ("itoa", &["rest"]),
    // The priority of threads; who may read new files.
    ("libc", &["sql/spare_stack", "sql/workers", "cli/private"]),
    ("md5", &["types"]),
    // Files of columns are read where they lie, without copies.
    ("memmap2", &["files", "backends/embedded"]),
    ("num_bigint", &["types", "sql"]),
    ("pgwire", &["pg"]),
    ("prometheus_client", &["cli/metrics"]),
    ("regex_automata", &["types"]),
    ("reqwest", &["backends/azure"]),
    // Random bytes, HMAC and SHA-256: of passwords, of requests; signatures of tokens.
    ("ring", &["backends/azure", "pg/auth", "rest/accounts", "rest/auth/token"]),
    ("rlimit", &["cli", "sql/spill_files"]),
    ("rustls_platform_verifier", &["backends/azure"]),
    ("rpassword", &["cli"]),
    ("rustix", &["backends/embedded"]),
    // The shortest digits of a double.
    ("ryu", &["types"]),
    ("serde", &["backends", "types", "sql", "pg/auth", "rest"]),
    ("serde_json", &["backends", "types", "sql", "rest"]),
    ("sha2", &["types"]),
    ("sqlparser", &["bind", "sql/syntax"]),
    // Locks have one holder nearly always.
    ("smallvec", &["sql/tx"]),
    // Files without a name, for what is collected and memory has no room for; files that replace others; a folder of
    // temporary tables.
    // More stack for functions that call themselves.
    ("stacker", &["types/stack"]),
    ("tempfile", &["files", "backends/embedded", "sql/cursor", "sql/tx", "cli/wiring"]),
    ("strsim", &["bind", "sql"]),
    ("thiserror", &["store", "backends", "types", "sql", "pg", "rest", "cli"]),
    // One allocator for the program; who uses the library has their own.
    ("tikv_jemallocator", &["main"]),
    ("tokio", &["backends", "sql", "pg", "rest", "cli"]),
    ("tokio_rustls", &["backends/azure", "pg", "rest"]),
    ("tokio_util", &["pg", "rest", "cli"]),
    ("toml", &["pg/auth", "rest/accounts", "cli"]),
    ("tracing", &["backends", "sql", "pg", "rest", "cli"]),
    ("tracing_subscriber", &["cli"]),
    ("unicode_ident", &["store"]),
    ("unicode_normalization", &["types"]),
    ("uuid", &["store", "backends", "types", "sql", "pg", "rest"]),
    ("xxhash_rust", &["store/table/seeded_hash", "backends", "types", "sql"]),
];

#[test]
fn crates_depend_only_on_those_below() {
    for (member, allowed) in MEMBERS {
        let manifest = manifest(&format!("src/{member}/Cargo.toml"));
        let dependencies = manifest["dependencies"].as_table().expect("[dependencies] is a table");
        let own: BTreeSet<&str> = dependencies.keys().filter_map(|name| name.strip_prefix("tablegate-")).collect();
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert_eq!(own, allowed, "what `{member}` depends on");
    }
}

#[test]
fn external_crates_stay_in_their_place() {
    let mut wrong = Vec::new();
    for file in sources() {
        for name in file.code.path_starts() {
            let Some((_, places)) = CRATES.iter().find(|(krate, _)| *krate == name) else { continue };
            if !places.iter().any(|place| is_inside(&file.path, place)) {
                wrong.push(format!("src/{}: `{name}` belongs to {}", file.path, places.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "external crates outside their place:\n{}", wrong.join("\n"));
}

/// What the parser gives goes through the rooms of `sql` unread: what is asked of it is asked of `syntax`, or of `bind`.
#[test]
fn trees_of_the_parser_are_read_in_two_places() {
    let reads = |file: &File| file.code.calls(&["tree", "tree_mut", "into_tree"]);
    let is_elsewhere = |file: &File| !is_inside(&file.path, "bind") && !is_inside(&file.path, "sql/syntax");
    let wrong: Vec<String> =
        sources().into_iter().filter(|file| is_elsewhere(file) && reads(file)).map(|file| file.path).collect();
    assert!(wrong.is_empty(), "the parser's trees are read outside of their place: {wrong:?}");
}

#[test]
fn every_dependency_has_a_place() {
    let folders = MEMBERS.iter().map(|(member, _)| format!("src/{member}/Cargo.toml"));
    let mut declared = BTreeSet::new();
    for path in folders.chain(["Cargo.toml".to_owned()]) {
        let manifest = manifest(&path);
        let dependencies = manifest["dependencies"].as_table().expect("[dependencies] is a table");
        let external = dependencies.keys().filter(|name| !name.starts_with("tablegate-"));
        declared.extend(external.map(|name| name.replace('-', "_")));
    }
    let placed: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(declared, placed, "the table of crates and the manifests differ");
}

#[test]
fn members_are_tested_with_every_dependency() {
    let external = |dependencies: &toml::Value| -> BTreeSet<String> {
        let dependencies = dependencies.as_table().expect("dependencies are a table");
        dependencies.keys().filter(|name| !name.starts_with("tablegate-")).cloned().collect()
    };
    let mut all = external(&manifest("Cargo.toml")["workspace"]["dependencies"]);
    // Of a feature that no test asks for.
    all.retain(|name| !matches!(name.as_str(), "azure_core" | "azure_identity"));
    assert_eq!(external(&manifest("src/dependencies/Cargo.toml")["dependencies"]), all);
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

fn manifest(path: &str) -> toml::Table {
    read(&root().join(path)).parse().unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
