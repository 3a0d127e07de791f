//! Where `tests/clients/install.sh` put the drivers.

use std::env;
use std::path::PathBuf;

pub(crate) struct Installed(PathBuf);

impl Installed {
    /// The folder of the drivers.
    ///
    /// # Panics
    /// When nothing is installed: a check that does not run must not pass.
    pub(crate) fn find() -> Self {
        let home = || PathBuf::from(env::var_os("HOME").expect("HOME is set")).join(".cache/tablegate-clients");
        let place = env::var_os("TABLEGATE_CLIENTS").map_or_else(home, PathBuf::from);
        assert!(
            place.join("installed").exists(),
            "no drivers in {}: run tests/clients/install.sh, or `make test`, which does",
            place.display()
        );
        Self(place)
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.0.join("python/bin/python")
    }

    pub(crate) fn node_modules(&self) -> PathBuf {
        self.0.join("node/node_modules")
    }

    /// The compiled check and Debian's driver.
    pub(crate) fn class_path(&self) -> String {
        format!("{}:/usr/share/java/postgresql.jar", self.0.join("java").display())
    }
}
