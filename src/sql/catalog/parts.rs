//! The catalogues of the stores, each kept in its own, as one: what statements see is all of them together.
//!
//! A store that is mounted may be away when the server starts. Then its schema is empty, a statement that names
//! something in it gets an error with the reason, and opening it is tried again until it answers (`contact`).

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::others::follow_others;
use super::state::State;
use super::{Common, Shared};
use crate::place::Place;

/// Pauses between tries to reach a mounted store: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The catalogue of each store that keeps one.
pub(super) struct Parts {
    pub public: Arc<Shared>,
    pub mounts: Vec<Arc<Shared>>,
    joined: Mutex<Option<Joined>>,
}

/// The states of all parts at a moment, and what they make together.
struct Joined {
    of: Vec<Arc<State>>,
    state: Arc<State>,
}

impl Parts {
    /// Nothing is read yet.
    pub(super) fn of(common: &Arc<Common>) -> Self {
        let stores = &common.stores;
        let shared = |place, store| Arc::new(Shared::new(place, Arc::clone(store), common));
        let mounts = stores.mounts().iter().map(|mount| shared(Place::Mount(mount.name), &mount.store));
        Self { public: shared(Place::Public, stores.public()), mounts: mounts.collect(), joined: Mutex::default() }
    }

    /// That of a place; `None` for what is kept nowhere.
    pub(super) fn at(&self, place: Place) -> Option<&Arc<Shared>> {
        match place {
            Place::Public => Some(&self.public),
            Place::Mount(_) => self.mounts.iter().find(|mount| mount.place == place),
            Place::Temporary(_) => None,
        }
    }

    pub(super) fn common(&self) -> &Common {
        &self.public.common
    }

    /// Of all together: another number after a change of any.
    pub(super) fn version(&self) -> u64 {
        self.public.state().version + self.mounts.iter().map(|mount| mount.state().version).sum::<u64>()
    }

    /// These states as one, made again only when one of them is another.
    pub(super) fn joined(&self, public: Arc<State>, mounts: Vec<Arc<State>>) -> Arc<State> {
        if mounts.is_empty() {
            return public;
        }
        let mut of = mounts;
        of.insert(0, public);
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = joined.as_ref().filter(|known| known.of.iter().zip(&of).all(|(a, b)| Arc::ptr_eq(a, b))) {
            return Arc::clone(&known.state);
        }
        let mut state = State::clone(&of[0]);
        of[1..].iter().for_each(|mounted| state.add_all(mounted));
        let state = Arc::new(state);
        *joined = Some(Joined { of, state: Arc::clone(&state) });
        state
    }

    /// Begins to read the catalogues of what is mounted, each by itself: none keeps the others, or the server, waiting.
    pub(super) fn open_mounts(&self) {
        for mount in &self.mounts {
            tokio::spawn(open_mount(Arc::downgrade(mount)));
        }
    }
}

/// Reads the catalogue of a mounted store as soon as it answers, and follows it from then on.
async fn open_mount(mount: Weak<Shared>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(shared) = Weak::upgrade(&mount) else { return };
        let schema = shared.place.schema();
        match shared.load().await {
            Ok(()) => {
                shared.contact.was_reached();
                tracing::info!(%schema, "mounted");
                let is_alone = shared.is_alone();
                drop(shared);
                if !is_alone {
                    follow_others(mount).await;
                }
                return;
            }
            Err(error) => {
                tracing::warn!(%schema, %error, "what is mounted cannot be read; it is tried again");
                shared.contact.was_away(error);
            }
        }
        drop(shared);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
