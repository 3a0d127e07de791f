//! The door for the Azure SDKs: the SDKs of Python and JavaScript as their users use them, and both doors at once.

mod both_doors;
mod drain;
mod tokens;

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use crate::support::installed::Installed;
use crate::support::server::{Server, program};
use crate::support::tables::connection_string;

/// A server with both doors open, and where the one for the SDKs is.
pub(crate) fn server(arguments: &[&str]) -> (Server, SocketAddr) {
    let server = Server::start(&[&["--rest", "127.0.0.1:0"], arguments].concat());
    let address = address(&server);
    (server, address)
}

/// Where the door for the SDKs of a server is.
pub(crate) fn address(server: &Server) -> SocketAddr {
    server.address_behind("the Azure SDKs are served")
}

/// Runs an SDK's checks: it ends with 0, and says that it ran some.
fn passes(mut client: Command) {
    for segments in [["--segment-rows", "off"], ["--segment-rows", "1"]] {
        let (server, address) = server(&segments);
        client.env("TABLES_CONNECTION_STRING", connection_string(address)).stdin(Stdio::null());
        // Nothing is written beside the checks.
        client.env("PYTHONDONTWRITEBYTECODE", "1");
        let ended = client.output().unwrap_or_else(|error| panic!("{client:?}: {error}"));
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{segments:?}: {out}\n{err}\nserver: {}", server.log());
        assert!(out.lines().filter(|line| line.starts_with("ok ")).count() >= 4, "few checks: {out}\n{err}");
    }
}

#[test]
fn python_with_azure_data_tables() {
    let mut client = Command::new(Installed::find().python());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rest/python/check.py"));
    passes(client);
}

#[test]
fn python_with_azure_data_tables_in_odd_corners() {
    let mut client = Command::new(Installed::find().python());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rest/python/corners.py"));
    passes(client);
}

#[test]
fn node_with_azure_data_tables() {
    let mut client = Command::new("node");
    client.env("NODE_PATH", Installed::find().node_modules());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rest/node/check.js"));
    passes(client);
}

#[test]
fn node_with_azure_data_tables_in_odd_corners() {
    let mut client = Command::new("node");
    client.env("NODE_PATH", Installed::find().node_modules());
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rest/node/corners.js"));
    passes(client);
}

/// The certificate and its key are those of psql.
#[test]
fn connections_are_encrypted_where_there_is_a_certificate() {
    let tls = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls");
    let (certificate, key) = (format!("{tls}/server.crt"), format!("{tls}/server.key"));
    let (server, address) = server(&["--tls-cert", &certificate, "--tls-key", &key]);
    let connection = connection_string(address).replace("http:", "https:").replace("=http;", "=https;");
    let program = "import os\n\
        from azure.data.tables import TableServiceClient\n\
        service = TableServiceClient.from_connection_string(os.environ['TABLES_CONNECTION_STRING'], connection_verify=os.environ['CA'])\n\
        service.create_table('encrypted')\n\
        print([table.name for table in service.list_tables()])\n";
    let mut client = Command::new(Installed::find().python());
    client.args(["-c", program]).env("TABLES_CONNECTION_STRING", connection).env("CA", format!("{tls}/ca.crt"));
    let ended = client.output().expect("python runs");
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(out.trim(), "['encrypted']", "{err}\nserver: {}", server.log());
}

#[test]
fn accounts_are_made_and_their_keys_changed_one_by_one() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let account = |arguments: &[&str]| {
        let mut command = program();
        command.arg("account").args(arguments).arg("--data").arg(folder.path());
        let ended = command.output().expect("the program was built");
        (ended.status.success(), String::from_utf8(ended.stdout).expect("it is text"))
    };
    let (made, first) = account(&["add", "shop"]);
    assert!(
        made && first.contains("AccountName=shop;AccountKey=")
            && first.contains("TableEndpoint=http://127.0.0.1:10002/shop;")
    );
    assert_eq!(account(&["list"]), (true, "shop\n".to_owned()));
    assert_eq!(account(&["show", "shop"]), (true, first.clone()));
    assert!(!account(&["add", "shop"]).0 && !account(&["add", "Shop"]).0);
    let (_, second) = account(&["rotate", "shop", "--key", "2"]);
    assert_ne!(second, first);
    assert_eq!(account(&["show", "shop"]), (true, first.clone()));
    assert_ne!(account(&["rotate", "shop", "--key", "1"]).1, first);
    assert!(account(&["remove", "shop"]).0);
    assert_eq!(account(&["list"]), (true, String::new()));
}
