//! Precedence of the sources, and the one line each mistake gets.

use std::io::Write;

use super::*;

fn load(args: &ServeArgs, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(args, environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn with_file(text: &str) -> (tempfile::NamedTempFile, ServeArgs) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let args = ServeArgs { config: Some(file.path().to_owned()), ..ServeArgs::default() };
    (file, args)
}

fn message(result: Result<Config, ConfigError>) -> String {
    let message = result.unwrap_err().to_string();
    assert!(!message.contains('\n'), "more than one line: {message}");
    message
}

#[test]
fn without_anything_the_defaults_hold() {
    let config = load(&ServeArgs::default(), &[("PATH", "/bin")]).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:5433");
    let folder = "./tablegate-data".into();
    assert_eq!(config.store, StoreConfig::Embedded { folder, fsync: FsyncWhen::Always, disk_reserve: 256 << 20 });
    assert!(config.sample);
    assert_eq!(
        (config.max_connections, config.query_memory, config.log.as_str()),
        (100, 1 << 30, "warn,tablegate=info")
    );
}

#[test]
fn options_win_over_environment_over_file() {
    let (_file, mut args) = with_file("max_connections = 7\nlisten = '127.0.0.1:7'\nlog = 'warn'\nsample = false\n");
    args.max_connections = Some("9".to_owned());
    let config = load(&args, &[("TABLEGATE_MAX_CONNECTIONS", "8"), ("TABLEGATE_LISTEN", "127.0.0.1:8")]).unwrap();
    assert_eq!(config.max_connections, 9);
    assert_eq!(config.listen.port(), 8);
    assert_eq!(config.log, "warn");
    assert!(!config.sample);
}

#[test]
fn the_environment_names_the_file() {
    let (file, _) = with_file("max_connections = 7");
    let path = file.path().to_string_lossy().into_owned();
    assert_eq!(load(&ServeArgs::default(), &[(CONFIG_VARIABLE, &path)]).unwrap().max_connections, 7);
}

#[test]
fn the_highest_layer_that_names_a_store_decides() {
    let (_file, mut args) = with_file("data = 'from-file'\nfsync = 'never'\n");
    let folder =
        |name: &str| StoreConfig::Embedded { folder: name.into(), fsync: FsyncWhen::Never, disk_reserve: 256 << 20 };
    assert_eq!(load(&args, &[]).unwrap().store, folder("from-file"));
    assert_eq!(load(&args, &[("TABLEGATE_MEMORY", "true")]).unwrap().store, StoreConfig::Memory);
    assert_eq!(load(&args, &[("TABLEGATE_MEMORY", "false")]).unwrap().store, folder("from-file"));
    args.data = Some("from-option".to_owned());
    assert_eq!(load(&args, &[("TABLEGATE_MEMORY", "true")]).unwrap().store, folder("from-option"));
    let two = message(load(&ServeArgs::default(), &[("TABLEGATE_MEMORY", "on"), ("TABLEGATE_DATA", "x")]));
    assert!(two.contains("TABLEGATE_DATA") && two.contains("choose one"), "{two}");
}

#[test]
fn unknown_names_are_refused_by_name() {
    let (_file, args) = with_file("max_conections = 7");
    assert!(message(load(&args, &[])).contains("unknown key \"max_conections\""));
    let variable = message(load(&ServeArgs::default(), &[("TABLEGATE_LISTENS", "x")]));
    assert!(variable.contains("unknown environment variable TABLEGATE_LISTENS"), "{variable}");
    assert!(load(&ServeArgs::default(), &[("TABLEGATE_listen", "127.0.0.1:1")]).is_err());
}

#[test]
fn wrong_values_name_their_origin() {
    let args = ServeArgs { max_connections: Some("0".to_owned()), ..ServeArgs::default() };
    assert!(message(load(&args, &[])).starts_with("option --max-connections: \"0\" is not valid"));
    let variable = message(load(&ServeArgs::default(), &[("TABLEGATE_QUERY_MEMORY", "lots")]));
    assert!(variable.starts_with("environment variable TABLEGATE_QUERY_MEMORY: \"lots\""), "{variable}");
    let (_file, args) = with_file("fsync = 'sometimes'");
    assert!(
        message(load(&args, &[])).contains("key \"fsync\": \"sometimes\" is not valid, it must be always or never")
    );
    let (_file, args) = with_file("listen = [1]");
    assert!(message(load(&args, &[])).contains("\"listen\" must be a string"));
    let (_file, args) = with_file("listen = '127.0.0.1:1'\nlog = \n");
    assert!(message(load(&args, &[])).contains("line 2"));
    let args = ServeArgs { config: Some("/nonexistent/t.toml".into()), ..ServeArgs::default() };
    assert!(message(load(&args, &[])).contains("cannot read the configuration file /nonexistent/t.toml"));
}

#[test]
fn the_mode_of_transactions_is_one_of_two() {
    let mode = |text: &str| ServeArgs { egt_mode: Some(text.to_owned()), ..ServeArgs::default() };
    assert_eq!(load(&mode("observe"), &[]).unwrap().egt_mode, EgtMode::Observe);
    assert!(message(load(&mode("lax"), &[])).contains("strict or observe"));
}

#[test]
fn other_than_loopback_is_refused() {
    let args = ServeArgs { listen: Some("0.0.0.0:5433".to_owned()), ..ServeArgs::default() };
    assert!(message(load(&args, &[])).contains("loopback"));
}
