//! An account of the Table service for one test: where it is, and stores over it.

use std::net::SocketAddr;
use std::time::Duration;

use tablegate::backends::azure::{AzureAccount, AzureOptions, AzureStore, Credential, RetryPolicy, Secret};

#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub address: SocketAddr,
    pub name: String,
    pub key: &'static str,
}

impl Account {
    /// A store over it, with short waits.
    pub(crate) fn store(&self) -> AzureStore {
        self.store_at(self.address)
    }

    /// The same, behind a proxy.
    pub(crate) fn store_at(&self, address: SocketAddr) -> AzureStore {
        self.store_with(address, AzureOptions::default())
    }

    /// The same, used otherwise.
    pub(crate) fn store_with(&self, address: SocketAddr, options: AzureOptions) -> AzureStore {
        let delays = [10, 20, 50, 100, 200].map(Duration::from_millis).to_vec();
        let retry = RetryPolicy { delays, budget: Duration::from_secs(120) };
        let credential = Credential::key(&Secret::new(self.key)).expect("the key is base64");
        let account = AzureAccount::new(&format!("http://{address}/{}", self.name), credential).expect("an endpoint");
        AzureStore::new(account, AzureOptions { retry, ..options }).expect("certificates are there")
    }
}
