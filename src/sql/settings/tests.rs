//! Settings through transactions, savepoints and reports.

use super::*;

fn shown(settings: &Settings, name: &str) -> String {
    settings.show(name).map_or_else(|error| error.message, |(_, value)| value)
}

#[test]
fn names_are_postgresqls() {
    let settings = Settings::new("me");
    settings.set("STATEMENT_TIMEOUT", Some("1500")).unwrap();
    assert_eq!(settings.show("statement_timeout").unwrap(), ("statement_timeout".to_owned(), "1500ms".to_owned()));
    assert_eq!(settings.statement_timeout(), Some(Duration::from_millis(1500)));
    let kind = |name, value| settings.set(name, Some(value)).unwrap_err().kind;
    assert_eq!(kind("nosuch", "1"), ErrorKind::UndefinedObject);
    assert_eq!(kind("jit", "perhaps"), ErrorKind::InvalidParameterValue);
    assert_eq!(kind("server_version", "16"), ErrorKind::CannotChangeNow);
    assert_eq!(kind("standard_conforming_strings", "off"), ErrorKind::FeatureNotSupported);
    assert_eq!(kind("client_encoding", "latin1"), ErrorKind::FeatureNotSupported);
    assert_eq!(kind("client_encoding", "nope"), ErrorKind::InvalidParameterValue);
    settings.set("egt.mode", Some("Observe")).unwrap();
    assert_eq!((settings.egt_mode(), shown(&settings, "egt mode")), (EgtMode::Observe, "observe".to_owned()));
    assert_eq!(settings.show("timezone").unwrap().0, "TimeZone");
}

#[test]
fn rollback_undoes_set_and_the_end_undoes_set_local() {
    let settings = Settings::new("me");
    settings.set("jit", Some("on")).unwrap();
    settings.set_local("application_name", Some("x")).unwrap();
    settings.end_transaction(false);
    assert_eq!((shown(&settings, "jit"), shown(&settings, "application_name")), ("off".to_owned(), String::new()));
    settings.set("jit", Some("on")).unwrap();
    settings.set_local("jit", Some("off")).unwrap();
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "jit"), "on");
    settings.end_transaction(false);
    assert_eq!(shown(&settings, "jit"), "on");
}

#[test]
fn savepoints_keep_what_was_set_before_them() {
    let settings = Settings::new("me");
    settings.set("TimeZone", Some("Asia/Tokyo")).unwrap();
    settings.savepoint();
    settings.set("TimeZone", Some("Europe/Athens")).unwrap();
    settings.rollback_to(1);
    assert_eq!(shown(&settings, "TimeZone"), "Asia/Tokyo");
    settings.set_local("TimeZone", Some("Europe/Athens")).unwrap();
    settings.release_to(0);
    assert_eq!(shown(&settings, "TimeZone"), "Europe/Athens");
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "TimeZone"), "Asia/Tokyo");
    settings.set("TimeZone", None).unwrap();
    settings.fail();
    assert_eq!(shown(&settings, "TimeZone"), "Asia/Tokyo");
}

#[test]
fn settings_of_the_clients_own_stay_with_no_value() {
    let settings = Settings::new("me");
    settings.set("My.Var", Some("x")).unwrap();
    assert_eq!(settings.show("my.var").unwrap(), ("my.var".to_owned(), "x".to_owned()));
    settings.end_transaction(false);
    assert_eq!(shown(&settings, "my.var"), "");
    for name in ["a b.c", "a.", ".a", "egt.nothing"] {
        assert_eq!(settings.set(name, Some("x")).unwrap_err().kind, ErrorKind::InvalidName, "{name}");
    }
    assert_eq!(settings.show("your.var").unwrap_err().kind, ErrorKind::UndefinedObject);
    let too_many = (0..2000).find_map(|n| settings.set(&format!("my.v{n}"), Some("x")).err());
    assert_eq!(too_many.map(|error| error.kind), Some(ErrorKind::LimitExceeded));
}

#[test]
fn the_style_follows_the_settings() {
    let settings = Settings::new("me");
    assert_eq!(settings.style(), Style::PLAIN);
    for (name, value) in [
        ("DateStyle", "SQL, DMY"),
        ("TimeZone", "europe/athens"),
        ("IntervalStyle", "iso_8601"),
        ("extra_float_digits", "0"),
        ("bytea_output", "escape"),
    ] {
        settings.set(name, Some(value)).unwrap();
    }
    let style = settings.style();
    assert_eq!((style.dates.to_string().as_str(), style.float_digits), ("SQL, DMY", 0));
    assert_ne!(style.zone, Style::PLAIN.zone);
    settings.set("DateStyle", Some("postgres")).unwrap();
    assert_eq!(shown(&settings, "DateStyle"), "Postgres, DMY");
    settings.reset_all();
    assert_eq!(settings.style(), Style::PLAIN);
}

#[test]
fn a_user_who_may_only_read_stays_so() {
    let settings = Settings::new("me");
    settings.follow_role(Role::ReadOnly);
    let denied = Some(ErrorKind::InsufficientPrivilege);
    assert_eq!(settings.set(READ_ONLY, Some("off")).err().map(|e| e.kind), denied);
    assert_eq!(settings.set_local(READ_ONLY, Some("false")).err().map(|e| e.kind), denied);
    assert_eq!(settings.set_at_startup(READ_ONLY, "0", Source::Client).err().map(|e| e.kind), denied);
    assert_eq!(settings.set("log_min_duration_statement", Some("0")).err().map(|e| e.kind), denied);
    settings.set(READ_ONLY, Some("on")).unwrap();
    settings.reset_all();
    assert!(settings.default_modes().read_only);
    assert_eq!(shown(&settings, "is_superuser"), "off");
    settings.follow_role(Role::Admin);
    assert!(!settings.default_modes().read_only);
    assert_eq!(shown(&settings, "is_superuser"), "on");
}

#[test]
fn reported_settings_are_told_when_they_change() {
    let settings = Settings::new("me");
    assert!(settings.take_changes().iter().any(|(name, value)| *name == "server_version" && value == SERVER_VERSION));
    assert!(settings.take_changes().is_empty());
    settings.set("application_name", Some("psql")).unwrap();
    settings.set("jit", Some("on")).unwrap();
    assert_eq!(settings.take_changes(), [("application_name", "psql".to_owned())]);
    settings.end_transaction(false);
    assert_eq!(settings.take_changes(), [("application_name", String::new())]);
}

#[test]
fn a_start_up_value_is_what_reset_goes_back_to() {
    let settings = Settings::new("me");
    settings.set_at_startup("TimeZone", "Asia/Tokyo", Source::Client).unwrap();
    settings.set("TimeZone", Some("UTC")).unwrap();
    settings.set("TimeZone", None).unwrap();
    assert_eq!(shown(&settings, "TimeZone"), "Asia/Tokyo");
    let row = settings.rows().into_iter().find(|row| row.definition.name == "TimeZone").unwrap();
    assert_eq!((row.source.name(), row.reset.as_str()), ("client", "Asia/Tokyo"));
}
