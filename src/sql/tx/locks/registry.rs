//! Who holds what, and who waits for it.
//!
//! A target has an entry only while somebody holds or awaits it, in one of many shards, so that sessions on different
//! rows hardly meet. Requests are granted in the order they came: a weak one does not overtake a strong one that waits,
//! or the strong one might wait forever. Only a transaction that already holds the target goes ahead of the queue,
//! since all of the queue waits for it, and who asks for a row without waiting for it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::execution::memory_pool::MemoryPool;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::{SmallVec, smallvec};
use tablegate_bind::query::LockStrength;
use tablegate_store::model::EntityKey;
use tablegate_store::table::SeededHash;
use tokio::sync::oneshot;

use super::many::{HashedRows, ManyRows, NoteId};
use super::mode::{Mode, Modes};
use super::replaced::ReplacedRows;
use super::weak::{Noted, Strong, WeakLocks, is_weak};
use crate::place::StoredTable;
use crate::statistics::{Counter, LockFigures, TimeCounter};

/// Enough that the sessions of a busy server seldom want the same one.
const SHARDS: u8 = 64;

/// What can be locked: a table, or a row of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// By its OID: TRUNCATE gives a table another name in the store.
    Table(u32),
    /// Whoever has the lock and the registry share what says which row it is.
    Row(Arc<(StoredTable, EntityKey)>),
    /// A number that only clients know the meaning of.
    Advisory(AdvisoryKey),
}

impl Target {
    pub(super) fn row(table: &StoredTable, key: &EntityKey) -> Self {
        Self::Row(Arc::new((table.clone(), key.clone())))
    }
}

/// What an advisory lock is on: a `bigint`, or a pair of `integer`, which are different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AdvisoryKey {
    One(i64),
    Pair(i32, i32),
}

/// A lock that is held or waited for, as `pg_locks` shows it.
#[derive(Debug, Clone)]
pub(crate) struct LockRow {
    pub target: ShownTarget,
    pub transaction: u64,
    pub process: i32,
    pub mode: &'static str,
    pub granted: bool,
}

/// What a lock is on.
#[derive(Debug, Clone)]
pub(crate) enum ShownTarget {
    /// A table by its OID.
    Table(u32),
    /// A row of a table by its name in the store.
    Row(StoredTable),
    Advisory(AdvisoryKey),
}

/// A transaction. Every transaction has its own number, so that none is taken for one that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub transaction: u64,
    /// The session, as clients know it.
    pub process: i32,
}

/// All locks of one gateway.
pub(crate) struct Locks {
    shards: Vec<Mutex<Shard>>,
    weak: WeakLocks,
    many: ManyRows,
    pub(super) replaced: ReplacedRows,
    key_hash: SeededHash,
    last_transaction: AtomicU64,
    /// What each waiting transaction waits for. Locked before a shard, never after.
    waiting: Mutex<HashMap<Owner, Wanted>>,
    /// What sessions count their locks in.
    pub(super) memory: Arc<dyn MemoryPool>,
    pub(super) counts: WaitCounts,
}

/// Locks that a shard has room for in any case.
const ROOM_KEPT: usize = 64;
/// It has room for this many times what is in it before it is made smaller.
const SPARSE: usize = 8;

/// What is locked.
type Shard = HashTable<(Target, Lock)>;

/// How waits went since the server began.
#[derive(Debug, Default)]
pub(super) struct WaitCounts {
    pub waits: Counter,
    pub waited: TimeCounter,
    pub timeouts: Counter,
    pub deadlocks: Counter,
}

/// What a transaction waits for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub target: Target,
    pub mode: Mode,
}

/// What became of a request.
pub(super) enum Request {
    /// It holds the target; what it held of it before.
    Granted(Modes),
    /// Others hold it.
    Busy,
    /// In the queue: told when it is granted, and what it held before.
    Queued(oneshot::Receiver<Modes>),
}

/// The holders of one target and those in the queue for it.
#[derive(Default)]
struct Lock {
    holders: SmallVec<[Holder; 1]>,
    /// Of most locks there is no more than a holder.
    more: Option<Box<More>>,
}

#[derive(Default)]
struct More {
    queue: VecDeque<Waiter>,
}

struct Holder {
    owner: Owner,
    modes: Modes,
}

struct Waiter {
    owner: Owner,
    mode: Mode,
    granted: oneshot::Sender<Modes>,
}

#[cfg(test)]
impl Default for Locks {
    fn default() -> Self {
        Self::within(Arc::new(datafusion::execution::memory_pool::UnboundedMemoryPool::default()))
    }
}

impl Locks {
    /// None yet; what they take will be a part of this memory.
    pub(crate) fn within(memory: Arc<dyn MemoryPool>) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            shards,
            weak: WeakLocks::default(),
            many: ManyRows::default(),
            replaced: ReplacedRows::default(),
            key_hash: SeededHash::default(),
            last_transaction: AtomicU64::new(0),
            waiting: Mutex::default(),
            memory,
            counts: WaitCounts::default(),
        }
    }

    /// Waits that ended, and those under way.
    pub(crate) fn figures(&self) -> LockFigures {
        let WaitCounts { waits, waited, timeouts, deadlocks } = &self.counts;
        LockFigures {
            waiting: self.waiting().len() as u64,
            waits: waits.get(),
            waited: waited.get(),
            timeouts: timeouts.get(),
            deadlocks: deadlocks.get(),
        }
    }

    pub(super) fn new_owner(&self, process: i32) -> Owner {
        Owner { transaction: self.last_transaction.fetch_add(1, Ordering::Relaxed) + 1, process }
    }

    /// To be called before a table's lock is asked for; the result is held as long as the lock. `None` for locks of
    /// rows and for weak modes, of which the sessions that note weak locks need not know.
    pub(super) fn announce(&self, target: &Target, mode: Mode) -> Option<Strong> {
        let Target::Table(oid) = target else { return None };
        (!is_weak(mode)).then(|| self.weak.announce(*oid, |noted| self.add(noted)))
    }

    /// Takes a table's lock where no registry is needed for it, and gives what was held before. `is_first` says that the
    /// transaction has no lock of the table yet.
    pub(super) fn take_weak(&self, owner: Owner, target: &Target, mode: Mode, is_first: bool) -> Option<Modes> {
        match target {
            Target::Table(oid) if is_weak(mode) => self.weak.take(owner, *oid, mode, is_first, |noted| self.add(noted)),
            Target::Table(_) | Target::Row(_) | Target::Advisory(_) => None,
        }
    }

    /// Takes over what was held of a table without being here. It goes together with whatever is.
    fn add(&self, Noted { owner, oid, modes }: Noted) {
        let target = Target::Table(oid);
        let (mut shard, hash) = self.shard(&target);
        let entry = shard.entry(hash, |(locked, _)| *locked == target, |(locked, _)| self.hash(locked));
        let (_, lock) = entry.or_insert_with(|| (target.clone(), Lock::default())).into_mut();
        lock.holders.push(Holder { owner, modes });
    }

    /// Locks all of these rows at once, if nobody has one of them, not even the transaction.
    pub(super) fn lock_many<'k>(
        &self,
        owner: Owner,
        table: &StoredTable,
        strength: LockStrength,
        keys: impl Iterator<Item = (&'k str, &'k str)>,
    ) -> Option<NoteId> {
        self.lock_noted(owner, table, strength, HashedRows::new(keys.map(|pair| self.key_hash.of_pair(pair))))
    }

    /// As [`Locks::lock_many`], all rows that the table has, or could have.
    pub(super) fn lock_all(&self, owner: Owner, table: &StoredTable, strength: LockStrength) -> Option<NoteId> {
        self.lock_noted(owner, table, strength, HashedRows::all())
    }

    fn lock_noted(
        &self,
        owner: Owner,
        table: &StoredTable,
        strength: LockStrength,
        rows: HashedRows,
    ) -> Option<NoteId> {
        let note = self.many.note(owner, table, strength, rows)?;
        let is_one = |target: &Target| match target {
            Target::Row(row) => row.0 == *table && self.many.holds(note, self.key_hash.of(&row.1)),
            Target::Table(_) | Target::Advisory(_) => false,
        };
        let is_free = self.shards.iter().all(|shard| !guard(shard).iter().any(|(target, _)| is_one(target)));
        if !is_free {
            self.release_many(owner, note);
        }
        is_free.then_some(note)
    }

    /// Whether a row is in one of these notes.
    pub(super) fn are_noted(&self, notes: &[NoteId], pair: (&str, &str)) -> bool {
        let hash = self.key_hash.of_pair(pair);
        notes.iter().any(|note| self.many.holds(*note, hash))
    }

    /// Makes what was locked at two times one: see [`ManyRows::merge`].
    pub(super) fn merge_many(&self, into: NoteId, more: NoteId) {
        self.many.merge(into, more);
    }

    /// Gives back what [`Locks::lock_many`] locked.
    pub(super) fn release_many(&self, owner: Owner, note: NoteId) {
        let Some((table, moved)) = self.many.forget(note) else { return };
        for key in moved {
            self.restore(owner, &Target::Row(Arc::new((table.clone(), key))), Modes::NONE);
        }
    }

    /// Takes a lock that is free, or gets in the queue for it where `queue` says so.
    pub(super) fn request(&self, owner: Owner, target: &Target, mode: Mode, queue: bool) -> Request {
        let (mut shard, hash) = self.shard(target);
        if let Target::Row(row) = target
            && !self.many.is_empty()
            && let Some((holder, strength)) = self.many.take(&row.0, &row.1, hash)
        {
            let entry = shard.entry(hash, |(locked, _)| locked == target, |(locked, _)| self.hash(locked));
            let (_, lock) = entry.or_insert_with(|| (target.clone(), Lock::default())).into_mut();
            lock.add(holder, Mode::Row(strength));
        }
        let lock = match shard.entry(hash, |(locked, _)| locked == target, |(locked, _)| self.hash(locked)) {
            Entry::Occupied(entry) => &mut entry.into_mut().1,
            Entry::Vacant(entry) => {
                let holder = Holder { owner, modes: Modes::NONE.with(mode) };
                entry.insert((target.clone(), Lock { holders: smallvec![holder], ..Lock::default() }));
                return Request::Granted(Modes::NONE);
            }
        };
        let held = lock.held_by(owner);
        if held.cover(mode) {
            return Request::Granted(held);
        }
        // Who would not wait for a row does not stand behind those who do: as in PostgreSQL, it is locked by who holds it alone.
        let asks_for_row_now = !queue && matches!(target, Target::Row(_));
        let wanted_earlier = if asks_for_row_now { Modes::NONE } else { lock.wanted() };
        if lock.is_free_for(owner, mode, wanted_earlier) {
            return Request::Granted(lock.add(owner, mode));
        }
        if !queue {
            return Request::Busy;
        }
        let (granted, receiver) = oneshot::channel();
        let waiter = Waiter { owner, mode, granted };
        let queue = &mut lock.more_mut().queue;
        if held.is_empty() {
            queue.push_back(waiter);
        } else {
            queue.push_front(waiter);
        }
        Request::Queued(receiver)
    }

    /// Goes back to what a transaction held of a target before.
    pub(super) fn restore(&self, owner: Owner, target: &Target, before: Modes) {
        if let Target::Table(oid) = target
            && self.weak.restore(owner, *oid, before)
        {
            return;
        }
        let (mut shard, hash) = self.shard(target);
        let Ok(mut entry) = shard.find_entry(hash, |(locked, _)| locked == target) else { return };
        let lock = &mut entry.get_mut().1;
        lock.restore(owner, before);
        if lock.is_unused() {
            entry.remove();
            self.give_room_back(&mut shard);
        }
    }

    /// How many locks there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.shards.iter().map(|shard| guard(shard).capacity()).sum()
    }

    /// Room for many locks is given back when few are left.
    fn give_room_back(&self, shard: &mut Shard) {
        if shard.capacity() > ROOM_KEPT && shard.len() < shard.capacity() / SPARSE {
            shard.shrink_to(2 * shard.len(), |(target, _)| self.hash(target));
        }
    }

    /// Leaves the queue, or gives back what was granted but not noticed any more.
    pub(super) fn abandon(&self, owner: Owner, target: &Target, granted: &mut oneshot::Receiver<Modes>) {
        let (mut shard, hash) = self.shard(target);
        let Ok(mut entry) = shard.find_entry(hash, |(locked, _)| locked == target) else { return };
        let lock = &mut entry.get_mut().1;
        let place = lock.queue().position(|waiter| waiter.owner == owner);
        match place {
            Some(place) => {
                lock.more_mut().queue.remove(place);
                lock.grant_waiting();
            }
            None => {
                if let Ok(before) = granted.try_recv() {
                    lock.restore(owner, before);
                }
            }
        }
        if lock.is_unused() {
            entry.remove();
            self.give_room_back(&mut shard);
        }
    }

    /// The transactions that must end, or give up, before this one gets what it waits for.
    pub(super) fn blockers(&self, owner: Owner, wanted: &Wanted) -> Vec<Owner> {
        let (shard, hash) = self.shard(&wanted.target);
        let found = shard.find(hash, |(locked, _)| *locked == wanted.target);
        found.map_or_else(Vec::new, |(_, lock)| lock.blockers(owner, wanted.mode))
    }

    /// Grants what a transaction waits for if only others in the queue are in its way, and says so.
    pub(super) fn overtake(&self, owner: Owner, wanted: &Wanted) -> bool {
        let (mut shard, hash) = self.shard(&wanted.target);
        let found = shard.find_mut(hash, |(locked, _)| *locked == wanted.target);
        found.is_some_and(|(_, lock)| lock.overtake(owner))
    }

    pub(super) fn waiting(&self) -> MutexGuard<'_, HashMap<Owner, Wanted>> {
        guard(&self.waiting)
    }

    /// The shard of a target, and the target's hash in there.
    fn shard(&self, target: &Target) -> (MutexGuard<'_, Shard>, u64) {
        let hash = self.hash(target);
        // The table goes by the lowest bits and the highest ones.
        let [_, _, _, byte, ..] = hash.to_le_bytes();
        (guard(&self.shards[usize::from(byte % SHARDS)]), hash)
    }

    fn hash(&self, target: &Target) -> u64 {
        let key_hash = self.key_hash;
        match target {
            Target::Row(row) => key_hash.of(&row.1),
            Target::Table(oid) => key_hash.of_bytes(&oid.to_le_bytes()),
            Target::Advisory(AdvisoryKey::One(key)) => key_hash.of_bytes(&key.to_le_bytes()),
            Target::Advisory(AdvisoryKey::Pair(first, second)) => {
                key_hash.of_bytes(&[first.to_le_bytes(), second.to_le_bytes()].concat())
            }
        }
    }

    /// Locks as `pg_locks` shows them: of tables and numbers all, of rows those that somebody waits for.
    pub(crate) fn rows(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for Noted { owner: Owner { transaction, process }, oid, modes } in self.weak.all() {
            let row = |mode| LockRow { target: ShownTarget::Table(oid), transaction, process, mode, granted: true };
            rows.extend(modes.names(false).map(row));
        }
        for shard in &self.shards {
            for (target, lock) in guard(shard).iter() {
                let shown = match target {
                    Target::Table(oid) => ShownTarget::Table(*oid),
                    Target::Row(_) if lock.queue().next().is_none() => continue,
                    Target::Row(row) => ShownTarget::Row(row.0.clone()),
                    Target::Advisory(key) => ShownTarget::Advisory(*key),
                };
                let is_row = matches!(target, Target::Row(_));
                let mut push = |owner: Owner, mode: &'static str, granted: bool| {
                    let (transaction, process) = (owner.transaction, owner.process);
                    rows.push(LockRow { target: shown.clone(), transaction, process, mode, granted });
                };
                for holder in &lock.holders {
                    holder.modes.names(is_row).for_each(|mode| push(holder.owner, mode, true));
                }
                for waiter in lock.queue() {
                    Modes::NONE.with(waiter.mode).names(is_row).for_each(|mode| push(waiter.owner, mode, false));
                }
            }
        }
        rows
    }

    /// What each waiting session waits for, as `pg_stat_activity` names it.
    pub(crate) fn waits(&self) -> HashMap<i32, &'static str> {
        let waiting = self.waiting();
        let name = |wanted: &Wanted| match wanted.target {
            Target::Table(_) => "relation",
            Target::Row(_) => "tuple",
            Target::Advisory(_) => "advisory",
        };
        waiting.iter().map(|(owner, wanted)| (owner.process, name(wanted))).collect()
    }

    /// The sessions that a session waits for.
    pub(crate) fn blocking(&self, process: i32) -> Vec<i32> {
        let waiting = self.waiting();
        let mine = waiting.iter().filter(|(owner, _)| owner.process == process);
        let blockers = mine.flat_map(|(owner, wanted)| self.blockers(*owner, wanted));
        let mut processes: Vec<i32> = blockers.map(|blocker| blocker.process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    /// Nothing is held and no transaction waits.
    #[cfg(test)]
    pub(super) fn is_unused(&self) -> bool {
        self.waiting().is_empty()
            && self.weak.all().is_empty()
            && self.many.is_empty()
            && self.shards.iter().all(|shard| guard(shard).is_empty())
    }
}

impl Lock {
    fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.queue().next().is_none()
    }

    /// Those that wait, in the order of asking.
    fn queue(&self) -> impl Iterator<Item = &Waiter> {
        self.more.iter().flat_map(|more| &more.queue)
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    fn held_by(&self, owner: Owner) -> Modes {
        self.holders.iter().find(|holder| holder.owner == owner).map_or(Modes::NONE, |holder| holder.modes)
    }

    /// What those in the queue want.
    fn wanted(&self) -> Modes {
        self.queue().fold(Modes::NONE, |modes, waiter| modes.with(waiter.mode))
    }

    /// Whether the mode conflicts with no mode that another transaction holds on the target, or has asked for earlier.
    fn is_free_for(&self, owner: Owner, mode: Mode, wanted_earlier: Modes) -> bool {
        let conflicts = mode.conflicts();
        let held = self.held_by(owner);
        let others = self.holders.iter().filter(|holder| holder.owner != owner);
        !others.fold(Modes::NONE, |modes, holder| modes.and(holder.modes)).overlap(conflicts)
            && (!held.is_empty() || !wanted_earlier.overlap(conflicts))
    }

    /// Adds to what a transaction holds; gives what it held before.
    fn add(&mut self, owner: Owner, mode: Mode) -> Modes {
        match self.holders.iter_mut().find(|holder| holder.owner == owner) {
            Some(holder) => {
                let before = holder.modes;
                holder.modes = before.with(mode);
                before
            }
            None => {
                self.holders.push(Holder { owner, modes: Modes::NONE.with(mode) });
                Modes::NONE
            }
        }
    }

    fn restore(&mut self, owner: Owner, before: Modes) {
        if before.is_empty() {
            self.holders.retain(|holder| holder.owner != owner);
        } else if let Some(holder) = self.holders.iter_mut().find(|holder| holder.owner == owner) {
            holder.modes = before;
        }
        self.grant_waiting();
    }

    /// Grants what can be granted now, in the order of the queue.
    fn grant_waiting(&mut self) {
        let mut wanted_earlier = Modes::NONE;
        let mut place = 0;
        while let Some(waiter) = self.more.as_ref().and_then(|more| more.queue.get(place)) {
            if !self.is_free_for(waiter.owner, waiter.mode, wanted_earlier) {
                wanted_earlier = wanted_earlier.with(waiter.mode);
                place += 1;
            } else if let Some(waiter) = self.more_mut().queue.remove(place) {
                let before = self.add(waiter.owner, waiter.mode);
                // Who gives up waiting looks for the grant before the receiver is dropped: see `Locks::abandon`.
                let _ = waiter.granted.send(before);
            }
        }
    }

    /// Grants what one in the queue waits for, out of turn, unless a holder is in its way.
    fn overtake(&mut self, owner: Owner) -> bool {
        let found = self.queue().enumerate().find(|(_, waiter)| waiter.owner == owner);
        let Some((place, mode)) = found.map(|(place, waiter)| (place, waiter.mode)) else { return false };
        if !self.is_free_for(owner, mode, Modes::NONE) {
            return false;
        }
        if let Some(waiter) = self.more_mut().queue.remove(place) {
            let before = self.add(owner, waiter.mode);
            let _ = waiter.granted.send(before);
        }
        true
    }

    fn blockers(&self, owner: Owner, mode: Mode) -> Vec<Owner> {
        let conflicts = mode.conflicts();
        let held = self.held_by(owner);
        let holders = self.holders.iter().filter(|h| h.owner != owner && h.modes.overlap(conflicts)).map(|h| h.owner);
        let earlier = self.queue().take_while(|waiter| waiter.owner != owner);
        let earlier = earlier.filter(|w| held.is_empty() && Modes::NONE.with(w.mode).overlap(conflicts));
        holders.chain(earlier.map(|waiter| waiter.owner)).collect()
    }
}

/// What the mutexes guard is never left half changed.
fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
