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
    let segments = SegmentConfig { rows: Some(50_000), dirty: 2 };
    let (fsync, disk_reserve, cache_memory) = (FsyncWhen::Always, 256 << 20, 128 << 20);
    assert_eq!(config.store, StoreConfig::Embedded { folder, fsync, disk_reserve, cache_memory, segments });
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
    let folder = |name: &str| {
        let segments = SegmentConfig { rows: Some(50_000), dirty: 2 };
        let (fsync, disk_reserve, cache_memory) = (FsyncWhen::Never, 256 << 20, 128 << 20);
        StoreConfig::Embedded { folder: name.into(), fsync, disk_reserve, cache_memory, segments }
    };
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
    let nowhere = ServeArgs { data: Some(String::new()), ..ServeArgs::default() };
    assert_eq!(message(load(&nowhere, &[])), "option --data: \"\" is not valid, it must be the name of a folder");
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
fn the_users_are_in_the_data_folder_or_where_they_are_said_to_be() {
    let users = |args: ServeArgs| load(&args, &[]).unwrap().users;
    let (data, file) = (Some("d".to_owned()), Some("f".to_owned()));
    assert_eq!(users(ServeArgs { data: data.clone(), ..ServeArgs::default() }), Some("d/users.toml".into()));
    assert_eq!(users(ServeArgs { memory: true, ..ServeArgs::default() }), None);
    assert_eq!(users(ServeArgs { memory: true, users: file.clone(), ..ServeArgs::default() }), Some("f".into()));
    assert_eq!(users(ServeArgs { data, users: file, ..ServeArgs::default() }), Some("f".into()));
}

#[test]
fn tls_needs_a_certificate_and_its_key() {
    let file = || Some("f".to_owned());
    let both = ServeArgs { tls_cert: file(), tls_key: file(), require_tls: true, ..ServeArgs::default() };
    let config = load(&both, &[]).unwrap();
    assert_eq!(config.tls, Some(TlsFiles { certificate: "f".into(), key: "f".into() }));
    assert!(config.require_tls);
    for half in
        [ServeArgs { tls_cert: file(), ..ServeArgs::default() }, ServeArgs { tls_key: file(), ..ServeArgs::default() }]
    {
        assert!(message(load(&half, &[])).contains("tls_cert and tls_key go together"));
    }
    let without = ServeArgs { require_tls: true, ..ServeArgs::default() };
    assert!(message(load(&without, &[])).starts_with("option --require-tls: "));
}

#[test]
fn an_issuer_of_tokens_has_keys() {
    let text = |text: &str| Some(text.to_owned());
    let issuer = ServeArgs { rest_token_issuer: text("https://i"), ..ServeArgs::default() };
    let keys = ServeArgs { rest_token_keys: text("k.json"), ..ServeArgs::default() };
    for half in [&issuer, &keys] {
        assert!(message(load(half, &[])).contains("rest_token_issuer and rest_token_keys go together"));
    }
    let both = load(&keys, &[("TABLEGATE_REST_TOKEN_ISSUER", "https://i")]).unwrap().rest_tokens.unwrap();
    assert_eq!((both.issuer.as_str(), both.audience.as_str()), ("https://i", "https://storage.azure.com"));
    assert_eq!(load(&ServeArgs::default(), &[]).unwrap().rest_tokens, None);
}

#[test]
fn metrics_are_off_or_at_an_address_of_their_own() {
    let metrics = |text: &str| load(&ServeArgs { metrics: Some(text.to_owned()), ..ServeArgs::default() }, &[]);
    assert_eq!(load(&ServeArgs::default(), &[]).unwrap().metrics, None);
    assert_eq!(metrics("off").unwrap().metrics, None);
    assert_eq!(metrics("localhost:9187").unwrap().metrics.unwrap().to_string(), "127.0.0.1:9187");
    let (_file, args) = with_file("metrics = '127.0.0.1:1'");
    assert_eq!(load(&args, &[]).unwrap().metrics.unwrap().port(), 1);
    assert_eq!(load(&args, &[("TABLEGATE_METRICS", "127.0.0.1:2")]).unwrap().metrics.unwrap().port(), 2);
    assert!(message(metrics("9187")).starts_with("option --metrics: \"9187\" is not valid"));
    assert!(message(metrics("127.0.0.1:5433")).contains("an address of their own"));
}

#[test]
fn how_clients_log_in_is_checked() {
    let args = ServeArgs { auth: Some("md5".to_owned()), ..ServeArgs::default() };
    assert!(message(load(&args, &[])).contains("auto, trust or scram"));
    let config = load(&ServeArgs::default(), &[("TABLEGATE_MAX_CONNECTIONS_PER_USER", "3")]).unwrap();
    assert_eq!((config.auth, config.max_connections_per_user), (Method::Auto, Some(3)));
    assert_eq!(config.authentication_timeout, Duration::from_secs(60));
}

#[test]
fn an_account_is_a_store_like_the_others() {
    let (_file, mut args) = with_file("data = 'from-file'\nread_only = true\n");
    args.connection_string = Some("env:MY_ACCOUNT".to_owned());
    let account = AccountConfig::ConnectionString(SecretSource::Variable("MY_ACCOUNT".to_owned()));
    let (requests, retry, rediscover) = (64, RetryPolicy::default(), Some(Duration::from_secs(60)));
    let store = StoreConfig::Azure { account, usage: AccountUse { read_only: true, requests, retry, rediscover } };
    assert_eq!(load(&args, &[]).unwrap().store, store);

    let (_file, args) = with_file("endpoint = 'https://a.table.core.windows.net'\n");
    let StoreConfig::Azure { account, .. } = load(&args, &[("TABLEGATE_KEY", "a2V5")]).unwrap().store else { panic!() };
    assert!(matches!(account, AccountConfig::Key { key: SecretSource::Here(_), .. }));
    assert!(message(load(&args, &[])).contains("connection_string, or endpoint with one of key, sas and entra"));
    assert!(message(load(&ServeArgs::default(), &[("TABLEGATE_READ_ONLY", "on")])).contains("only an account"));
    let two = [("TABLEGATE_MEMORY", "on"), ("TABLEGATE_CONNECTION_STRING", "env:X")];
    assert!(message(load(&ServeArgs::default(), &two)).contains("choose one"));
}

#[test]
fn an_account_of_entra_takes_no_other_secret() {
    let (_file, args) = with_file("endpoint = 'https://a.table.core.windows.net'\nentra = true\n");
    let StoreConfig::Azure { account, .. } = load(&args, &[]).unwrap().store else { panic!() };
    assert_eq!(account, AccountConfig::Entra { endpoint: "https://a.table.core.windows.net".to_owned() });
    if cfg!(not(feature = "entra")) {
        let told = account.open().unwrap_err().to_string();
        assert!(told.contains("--features entra"), "{told}");
    }
    let both = message(load(&args, &[("TABLEGATE_KEY", "a2V5")]));
    assert!(both.contains("one of key, sas and entra"), "{both}");
    assert!(message(load(&args, &[("TABLEGATE_ENTRA", "maybe")])).contains("true or false"));
}

#[test]
fn how_often_an_account_is_asked_can_be_set() {
    let (_file, args) = with_file("connection_string = 'env:X'\naccount_requests = 8\nretry_delays = '100ms 2s'\n");
    let config = load(&args, &[("TABLEGATE_RETRY_BUDGET", "5s")]).unwrap();
    let StoreConfig::Azure { usage: AccountUse { requests, retry, .. }, .. } = config.store else { panic!() };
    let delays = vec![Duration::from_millis(100), Duration::from_secs(2)];
    assert_eq!((requests, retry), (8, RetryPolicy { delays, budget: Duration::from_secs(5) }));
    let rediscover = |text: &str| match load(&args, &[("TABLEGATE_REDISCOVER", text)]).unwrap().store {
        StoreConfig::Azure { usage, .. } => usage.rediscover,
        other => panic!("{other:?}"),
    };
    assert_eq!((rediscover("5min"), rediscover("off")), (Some(Duration::from_secs(300)), None));
    assert!(message(load(&args, &[("TABLEGATE_REDISCOVER", "0")])).contains("from 1s to 24h"));
    let never = load(&args, &[("TABLEGATE_RETRY_DELAYS", "off")]).unwrap().store;
    assert!(matches!(never, StoreConfig::Azure { usage, .. } if usage.retry.delays.is_empty()));
    assert!(message(load(&args, &[("TABLEGATE_RETRY_DELAYS", "2s soon")])).contains("times such as 2s 4s 10s 30s"));
    assert!(message(load(&args, &[("TABLEGATE_ACCOUNT_REQUESTS", "0")])).contains("from 1 to 1024"));
}

#[test]
fn a_secret_is_not_taken_from_the_command_line_and_never_told() {
    let option = Some("AccountName=a;AccountKey=s3cret".to_owned());
    let refused = message(load(&ServeArgs { connection_string: option, ..ServeArgs::default() }, &[]));
    assert!(refused.contains("env:VARIABLE") && !refused.contains("s3cret"), "{refused}");
    let (_file, args) = with_file("connection_string = 'AccountName=a;AccountKey=s3cret'");
    assert!(!format!("{:?}", load(&args, &[]).unwrap()).contains("s3cret"));
}

fn mounted(config: &Config) -> Vec<(&'static str, bool)> {
    config.mounts.iter().map(|mount| (mount.name.as_str(), mount.usage.read_only)).collect()
}

#[test]
fn accounts_are_mounted_by_the_file_the_environment_and_options() {
    let (_file, mut args) = with_file(
        "account_requests = 8\n[mount.prod]\nendpoint = 'https://p.table.core.windows.net'\nkey = 'file:/k'\n\
         read_only = true\nretry_budget = '5s'\n[mount.b]\nconnection_string = 'env:B'\naccount_requests = 2\n",
    );
    args.mount = vec!["a=env:A".to_owned()];
    let config = load(&args, &[("TABLEGATE_MOUNT_C_1", "file:/c"), ("TABLEGATE_MOUNT_B", "env:OTHER")]).unwrap();
    assert_eq!(mounted(&config), [("a", false), ("b", false), ("c_1", false), ("prod", true)]);
    let [a, b, c, prod] = config.mounts.as_slice() else { panic!() };
    let named = |name: &str| AccountConfig::ConnectionString(SecretSource::Variable(name.to_owned()));
    assert_eq!((&a.account, &b.account), (&named("A"), &named("OTHER")));
    assert_eq!(c.account, AccountConfig::ConnectionString(SecretSource::File("/c".into())));
    // How accounts are asked is said once for all of them, or by each.
    assert_eq!((a.usage.requests, b.usage.requests, prod.usage.requests), (8, 2, 8));
    assert_eq!((a.usage.retry.budget, prod.usage.retry.budget), (Duration::from_secs(60), Duration::from_secs(5)));
    assert!(matches!(&prod.account, AccountConfig::Key { endpoint, .. } if endpoint.contains("//p.table")));
    // What is mounted beside it leaves the main store what it is.
    assert!(matches!(config.store, StoreConfig::Embedded { .. }));
}

#[test]
fn public_can_be_a_mount_too() {
    let (_file, args) =
        with_file("[mount.public]\nendpoint = 'https://a.table.core.windows.net'\nsas = 'env:S'\nread_only = true\n");
    let config = load(&args, &[]).unwrap();
    assert!(
        matches!(&config.store, StoreConfig::Azure { account: AccountConfig::Sas { .. }, usage } if usage.read_only)
    );
    assert!(config.mounts.is_empty());
    let option = ServeArgs { mount: vec!["public=env:A".to_owned()], ..ServeArgs::default() };
    let same = ServeArgs { connection_string: Some("env:A".to_owned()), ..ServeArgs::default() };
    assert_eq!(load(&option, &[]), load(&same, &[]));
    let both = ServeArgs { mount: option.mount, ..same };
    assert!(message(load(&both, &[])).contains("\"public\" is mounted twice"));
    let folder = ServeArgs { data: Some("x".to_owned()), mount: both.mount, ..ServeArgs::default() };
    assert!(message(load(&folder, &[])).contains("choose one"));
}

#[test]
fn a_mount_that_cannot_be_one_is_named() {
    let with = |mount: &str| ServeArgs { mount: vec![mount.to_owned()], ..ServeArgs::default() };
    for (option, expected) in [
        ("prod", "a mount is NAME=env:VARIABLE"),
        ("pg_x=env:A", "\"pg_x\" cannot be the name of a mount: the schemas"),
        ("information_schema=env:A", "cannot be the name of a mount"),
        ("Prod=env:A", "begins with a lower-case letter"),
        ("prod=AccountName=a;AccountKey=c2VjcmV0", "a secret does not belong on the command line"),
        ("AccountName=a;AccountKey=c2VjcmV0", "a secret does not belong on the command line"),
    ] {
        let told = message(load(&with(option), &[]));
        assert!(told.contains("--mount") && told.contains(expected) && !told.contains("c2VjcmV0"), "{told}");
    }
    let twice = ServeArgs { mount: vec!["a=env:A".to_owned(), "a=env:B".to_owned()], ..ServeArgs::default() };
    assert!(message(load(&twice, &[])).contains("\"a\" is mounted twice"));
    for (text, expected) in [
        ("[mount.a]\nendpoint = 'https://a'\n", "an account takes connection_string, or endpoint with"),
        ("[mount.a]\nread_only = true\n", "key \"mount.a.read_only\""),
        ("[mount.a]\nlisten = 'x'\n", "unknown key \"mount.a.listen\"; a mount has connection_string"),
        ("[mount.a]\nconnection_string = ['x']\n", "\"mount.a.connection_string\" must be a string"),
        ("[mount.a]\nconnection_string = 'env:A'\nread_only = 'maybe'\n", "it must be true or false"),
        ("mount = 'x'\n", "must be a table, such as [mount.prod]"),
        ("[mount]\na = 'x'\n", "must be a table, such as [mount.prod]"),
        ("[mount.a]\n[mount.a]\n", "line"),
    ] {
        let (_file, args) = with_file(text);
        let told = message(load(&args, &[]));
        assert!(told.contains(expected), "{told}");
    }
}
