//! Which addresses may be listened on, and with what.

use tablegate_sql::session::Role;

use super::*;

fn config(method: Method, users: Option<PathBuf>, insecure: bool) -> PgConfig {
    PgConfig { auth: AuthConfig { method, trust_loopback: false, users }, insecure, ..PgConfig::default() }
}

#[test]
fn loopback_needs_nothing() {
    let config = config(Method::Auto, None, false);
    for good in ["127.0.0.1:5432", "127.8.0.1:1", "[::1]:5432", "[::ffff:127.0.0.1]:5432"] {
        assert!(check_listen_address(good.parse().unwrap(), &config).is_ok(), "{good}");
    }
}

#[test]
fn the_world_needs_users_and_tls() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("users.toml");
    let check = |method, insecure| {
        ["0.0.0.0:5432", "[::]:5432", "10.0.0.1:5432", "[::ffff:10.0.0.1]:5432"].map(|address| {
            check_listen_address(address.parse().unwrap(), &config(method, Some(file.clone()), insecure))
                .err()
                .map(|refused| refused.to_string())
                .unwrap_or_default()
        })
    };
    for message in check(Method::Auto, true) {
        assert!(message.contains("tablegate user add"), "{message}");
    }
    let user = User { role: Role::ReadWrite, verifier: Some(Verifier::of_password("x").unwrap()) };
    UsersFile::new(&file).change(|users| users.add("u", user)).unwrap();
    for message in check(Method::Scram, false) {
        assert!(message.contains("--tls-cert") && message.contains("--insecure"), "{message}");
    }
    for message in check(Method::Trust, true) {
        assert!(message.contains("only a loopback address"), "{message}");
    }
    assert_eq!(check(Method::Auto, true), [""; 4]);
    std::fs::write(&file, "nonsense").unwrap();
    assert!(check(Method::Auto, true)[0].contains("is damaged"));
}
