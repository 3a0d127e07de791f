//! The program's own door for the Azure SDKs in the place of the emulator: one over an empty store for each account.

use std::net::TcpListener;
use std::sync::{Arc, LazyLock};

use tablegate::backends::azure::AzureStore;
use tablegate::backends::memory::MemoryStore;
use tablegate::rest::{Alone, EMULATOR_ACCOUNT, EMULATOR_KEY, RestConfig, serve};
use tablegate::store::model::{Clock, SystemClock};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::account::Account;

/// The token of a page that goes on at the key ' '.
pub(crate) const PAGE_AT_SPACE: &str = "1!4!IA--";
pub(crate) const IS_EMULATOR: bool = false;

/// The threads of all doors. They go on as long as the program, whatever runtime a test has.
static DOORS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(2).enable_all().build().expect("threads can be had")
});

/// An account that nobody has used yet.
pub(crate) fn new_account() -> Account {
    new_account_with(Arc::new(SystemClock))
}

/// The same, whose entities are stamped by this clock.
pub(crate) fn new_account_with(clock: Arc<dyn Clock>) -> Account {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    listener.set_nonblocking(true).expect("the system can");
    DOORS.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("it does not block");
        let store = Arc::new(MemoryStore::new(clock));
        let alone = Arc::new(Alone(store.clone()));
        let config = RestConfig::default();
        serve(listener, store, alone, Arc::new(SystemClock), config, CancellationToken::new()).await
    });
    Account { address, name: EMULATOR_ACCOUNT.to_owned(), key: EMULATOR_KEY }
}

/// An empty store.
pub(crate) fn new_store() -> AzureStore {
    new_account().store()
}
