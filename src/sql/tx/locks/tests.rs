//! The locks under many tasks: nobody is forgotten, nobody gets what another one holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use futures::FutureExt;
use futures::future::join_all;
use proptest::prelude::*;
use tablegate_bind::query::LockStrength;
use tablegate_store::model::{EntityKey, TableName};

use super::{HeldLocks, LockError, LockWait, Locks, Mark};
use crate::place::StoredTable;
use crate::syntax::TableMode;

const FOREVER: LockWait = LockWait::AtMost(None);

fn table() -> StoredTable {
    StoredTable::public(TableName::parse("accounts").unwrap())
}

fn key(row: usize) -> EntityKey {
    EntityKey::parse("p", &row.to_string()).unwrap()
}

async fn lock(held: &mut HeldLocks, row: usize, strength: LockStrength, wait: LockWait) -> Result<bool, LockError> {
    held.lock_row(&table(), &key(row), strength, wait).await
}

/// Polls a wait once: it must not be over.
macro_rules! assert_waits {
    ($wait:expr) => {
        assert!($wait.as_mut().now_or_never().is_none(), "it did not wait")
    };
}

#[tokio::test]
async fn a_row_has_one_writer_at_a_time() {
    let locks = Arc::new(Locks::default());
    let (mut a, mut b) = (HeldLocks::new(locks.clone(), 1), HeldLocks::new(locks.clone(), 2));
    assert!(!lock(&mut a, 1, LockStrength::Update, FOREVER).await.unwrap());
    assert!(lock(&mut a, 1, LockStrength::NoKeyUpdate, FOREVER).await.unwrap());
    assert_eq!(lock(&mut b, 1, LockStrength::KeyShare, LockWait::No).await, Err(LockError::Busy));
    lock(&mut b, 2, LockStrength::Update, LockWait::No).await.unwrap();
    let mut wait = Box::pin(lock(&mut b, 1, LockStrength::Update, FOREVER));
    assert_waits!(wait);
    drop(a);
    assert!(!wait.await.unwrap());
    drop(b);
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_reader_does_not_overtake_a_writer_that_waits() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b, mut c] = [1, 2, 3].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Share, FOREVER).await.unwrap();
    let mut writer = Box::pin(lock(&mut b, 1, LockStrength::Update, FOREVER));
    assert_waits!(writer);
    let mut reader = Box::pin(lock(&mut c, 1, LockStrength::Share, FOREVER));
    assert_waits!(reader);
    // The writer gives up: the reader goes with the one that is in.
    drop(writer);
    reader.await.unwrap();
    drop((a, b, c));
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_holder_goes_ahead_of_those_who_wait_for_it() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Share, FOREVER).await.unwrap();
    let mut writer = Box::pin(lock(&mut b, 1, LockStrength::Update, FOREVER));
    assert_waits!(writer);
    assert!(lock(&mut a, 1, LockStrength::Update, LockWait::No).await.unwrap());
}

fn lock_many(held: &mut HeldLocks, rows: std::ops::Range<usize>, strength: LockStrength) -> bool {
    let keys: Vec<EntityKey> = rows.map(key).collect();
    held.lock_rows(&table(), keys.iter().map(EntityKey::as_pair), strength)
}

#[tokio::test]
async fn all_rows_of_a_table_are_locked_at_once_where_nobody_has_one() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut b, 8, LockStrength::KeyShare, LockWait::No).await.unwrap();
    assert!(!a.lock_all_rows(&table(), LockStrength::Update), "one of them is locked");
    assert!(!a.holds_rows());
    b.release_all();
    assert!(a.lock_all_rows(&table(), LockStrength::Update));
    assert_eq!(lock(&mut b, 8, LockStrength::KeyShare, LockWait::No).await, Err(LockError::Busy));
    assert!(!lock_many(&mut b, 0..3, LockStrength::Update) && !b.lock_all_rows(&table(), LockStrength::Update));
    a.release_all();
    lock(&mut b, 8, LockStrength::Update, LockWait::No).await.unwrap();
    assert!(lock_many(&mut a, 0..3, LockStrength::Update), "nothing of it is left");
}

#[tokio::test]
async fn many_rows_are_locked_at_once_and_each_keeps_others_out() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b, mut c] = [1, 2, 3].map(|process| HeldLocks::new(locks.clone(), process));
    let mark = a.mark();
    assert!(lock_many(&mut a, 0..1000, LockStrength::Update));
    assert!(a.holds_rows());
    // What the transaction has it has under any name.
    assert!(lock(&mut a, 7, LockStrength::Update, LockWait::No).await.unwrap());
    assert_eq!(lock(&mut b, 8, LockStrength::KeyShare, LockWait::No).await, Err(LockError::Busy));
    lock(&mut b, 1000, LockStrength::Update, LockWait::No).await.unwrap();
    let (mut one, mut other) = (
        Box::pin(lock(&mut b, 9, LockStrength::Update, FOREVER)),
        Box::pin(lock(&mut c, 9, LockStrength::Update, FOREVER)),
    );
    assert_waits!(one);
    assert_waits!(other);
    a.release_to(mark);
    assert!(!one.await.unwrap());
    assert_waits!(other);
    drop(b);
    other.await.unwrap();
    drop((a, c));
    assert!(locks.is_unused());
}

#[tokio::test]
async fn many_rows_are_not_locked_at_once_where_others_have_one() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b, mut c] = [1, 2, 3].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 500, LockStrength::KeyShare, FOREVER).await.unwrap();
    assert!(!lock_many(&mut b, 0..1000, LockStrength::Update));
    assert!(!b.holds_rows() && b.is_empty());
    assert!(lock_many(&mut b, 0..500, LockStrength::Update));
    assert!(!lock_many(&mut b, 499..700, LockStrength::Update), "the first of them is its own");
    assert!(lock_many(&mut b, 600..700, LockStrength::Update));
    assert!(!lock_many(&mut c, 499..510, LockStrength::Update), "the first of them is noted");
    assert!(lock_many(&mut c, 501..510, LockStrength::Update));
    drop((a, b, c));
    assert!(locks.is_unused());
}

#[tokio::test]
async fn rows_that_stay_locked_go_with_what_was_locked_since_a_mark() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    let hold = |held: &mut HeldLocks, rows: std::ops::Range<usize>| {
        let keys: Vec<EntityKey> = rows.map(key).collect();
        held.hold_rows(&table(), keys.iter().map(EntityKey::as_pair), LockStrength::Update).unwrap()
    };
    assert!(hold(&mut a, 0..100) && hold(&mut a, 100..200));
    let mark = a.mark();
    assert!(hold(&mut a, 200..300) && hold(&mut a, 300..400));
    assert!(!hold(&mut a, 399..500), "it has the first of them");
    // Somebody waits for a row of each.
    let mut c = HeldLocks::new(locks.clone(), 3);
    let mut of_later = Box::pin(lock(&mut b, 350, LockStrength::Update, FOREVER));
    let mut of_earlier = Box::pin(lock(&mut c, 150, LockStrength::Update, FOREVER));
    assert_waits!(of_later);
    assert_waits!(of_earlier);
    a.release_to(mark);
    of_later.await.unwrap();
    assert_waits!(of_earlier);
    assert!(hold(&mut b, 200..350), "these are free again");
    drop(a);
    of_earlier.await.unwrap();
    drop((b, c));
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_circle_of_many_rows_and_one_is_found() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut b, 2000, LockStrength::Update, FOREVER).await.unwrap();
    assert!(lock_many(&mut a, 0..100, LockStrength::NoKeyUpdate));
    let mut wait = Box::pin(lock(&mut b, 5, LockStrength::Update, FOREVER));
    assert_waits!(wait);
    let circle = lock(&mut a, 2000, LockStrength::Update, FOREVER).await;
    assert!(matches!(circle, Err(LockError::Deadlock(_))), "{circle:?}");
    drop(a);
    wait.await.unwrap();
    drop(b);
    assert!(locks.is_unused());
}

/// However the two meet, never do both have the row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rows_and_single_ones_exclude_each_other() {
    let locks = Arc::new(Locks::default());
    let holders = Arc::new(AtomicI64::new(0));
    let tasks = (0..4).map(|process| {
        let (locks, holders) = (locks.clone(), holders.clone());
        tokio::spawn(async move {
            for round in 0..300_usize {
                let mut held = HeldLocks::new(locks.clone(), process);
                let has_all = process % 2 == 0 && lock_many(&mut held, 0..40, LockStrength::Update);
                if !has_all {
                    lock(&mut held, (round * 7) % 3 + 1, LockStrength::Update, FOREVER).await.unwrap();
                    lock(&mut held, 10, LockStrength::Update, FOREVER).await.unwrap();
                }
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "one at a time has row 10");
                tokio::task::yield_now().await;
                holders.fetch_sub(1, Ordering::SeqCst);
            }
        })
    });
    for done in join_all(tasks).await {
        done.unwrap();
    }
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_over() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Update, FOREVER).await.unwrap();
    let wait = LockWait::AtMost(Some(Duration::from_millis(20)));
    assert_eq!(lock(&mut b, 1, LockStrength::Update, wait).await, Err(LockError::Timeout));
    drop(a);
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_mark_is_come_back_to() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Share, FOREVER).await.unwrap();
    let mark = a.mark();
    lock(&mut a, 1, LockStrength::Update, FOREVER).await.unwrap();
    lock(&mut a, 2, LockStrength::Update, FOREVER).await.unwrap();
    a.release_to(mark);
    lock(&mut b, 2, LockStrength::Update, LockWait::No).await.unwrap();
    lock(&mut b, 1, LockStrength::Share, LockWait::No).await.unwrap();
    lock(&mut b, 1, LockStrength::Update, LockWait::No).await.unwrap_err();
    a.release_rows_since(Mark::default(), |row| *row == key(1));
    lock(&mut b, 1, LockStrength::Update, LockWait::No).await.unwrap();
}

#[tokio::test]
async fn tables_lock_in_modes() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    a.lock_table(16_384, TableMode::RowExclusive, FOREVER).await.unwrap();
    b.lock_table(16_384, TableMode::RowExclusive, FOREVER).await.unwrap();
    let refused = b.lock_table(16_384, TableMode::AccessExclusive, LockWait::No).await;
    assert_eq!(refused, Err(LockError::Busy));
}

/// Weak locks are noted by session: who wants the table alone finds them all the same, and they it.
#[tokio::test]
async fn a_strong_lock_of_a_table_waits_for_the_weak_ones_and_they_for_it() {
    const TABLE: u32 = 16_384;
    let locks = Arc::new(Locks::default());
    let [mut a, mut b, mut c] = [1, 65, 3].map(|process| HeldLocks::new(locks.clone(), process));
    a.lock_table(TABLE, TableMode::AccessShare, FOREVER).await.unwrap();
    b.lock_table(TABLE, TableMode::RowExclusive, FOREVER).await.unwrap();
    assert_eq!(locks.rows().len(), 2, "they are shown");
    let mut alone = Box::pin(c.lock_table(TABLE, TableMode::AccessExclusive, FOREVER));
    assert_waits!(alone);
    // Who holds the table goes ahead, also in a weak mode that it does not hold yet; nobody else overtakes.
    let mark = a.mark();
    a.lock_table(TABLE, TableMode::RowShare, LockWait::No).await.unwrap();
    a.release_to(mark);
    let mut late = HeldLocks::new(locks.clone(), 4);
    assert_eq!(late.lock_table(TABLE, TableMode::AccessShare, LockWait::No).await, Err(LockError::Busy));
    late.lock_table(TABLE + 1, TableMode::AccessShare, LockWait::No).await.unwrap();
    a.release_all();
    assert_waits!(alone);
    drop(b);
    alone.await.unwrap();
    let mut reader = Box::pin(a.lock_table(TABLE, TableMode::AccessShare, FOREVER));
    assert_waits!(reader);
    drop(c);
    reader.await.unwrap();
    drop((a, late));
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_strong_lock_given_back_leaves_the_weak_one() {
    const TABLE: u32 = 7;
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    a.lock_table(TABLE, TableMode::AccessShare, FOREVER).await.unwrap();
    let mark = a.mark();
    a.lock_table(TABLE, TableMode::Share, FOREVER).await.unwrap();
    assert_eq!(b.lock_table(TABLE, TableMode::RowExclusive, LockWait::No).await, Err(LockError::Busy));
    a.release_to(mark);
    b.lock_table(TABLE, TableMode::RowExclusive, LockWait::No).await.unwrap();
    assert_eq!(b.lock_table(TABLE, TableMode::Exclusive, LockWait::No).await, Ok(()), "it goes with AccessShare");
    assert_eq!(b.lock_table(TABLE, TableMode::AccessExclusive, LockWait::No).await, Err(LockError::Busy));
    // What was refused keeps nobody away.
    drop(b);
    a.release_all();
    a.lock_table(TABLE, TableMode::RowExclusive, LockWait::No).await.unwrap();
    drop(a);
    assert!(locks.is_unused());
}

/// Nobody reads while one has the table alone, however they meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn weak_and_strong_locks_of_a_table_never_go_together() {
    const SESSIONS: i32 = 12;
    let (locks, alone) = (Arc::new(Locks::default()), Arc::new(AtomicI64::new(0)));
    let sessions = (0..SESSIONS).map(|process| {
        let (locks, alone) = (Arc::clone(&locks), Arc::clone(&alone));
        tokio::spawn(async move {
            let mut held = HeldLocks::new(locks, process);
            for round in 0..300 {
                let is_strong = (round + process) % 7 == 0;
                let mode = if is_strong { TableMode::AccessExclusive } else { TableMode::AccessShare };
                held.lock_table(5, mode, FOREVER).await.unwrap();
                if is_strong {
                    assert_eq!(alone.swap(-1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    assert_eq!(alone.swap(0, Ordering::SeqCst), -1);
                } else {
                    assert!(alone.fetch_add(1, Ordering::SeqCst) >= 0);
                    tokio::task::yield_now().await;
                    assert!(alone.fetch_sub(1, Ordering::SeqCst) >= 1);
                }
                held.release_all();
            }
        })
    });
    for session in join_all(sessions).await {
        session.unwrap();
    }
    assert!(locks.is_unused());
}

#[tokio::test]
async fn a_circle_of_waits_is_found_by_the_last() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b, mut c] = [11, 12, 13].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Update, FOREVER).await.unwrap();
    lock(&mut b, 2, LockStrength::Update, FOREVER).await.unwrap();
    lock(&mut c, 3, LockStrength::Update, FOREVER).await.unwrap();
    let mut first = Box::pin(lock(&mut a, 2, LockStrength::Update, FOREVER));
    assert_waits!(first);
    let mut second = Box::pin(lock(&mut b, 3, LockStrength::Update, FOREVER));
    assert_waits!(second);
    let refused = lock(&mut c, 1, LockStrength::Update, FOREVER).await;
    let row = |n: usize| format!("a lock on row {} of \"accounts\"", key(n));
    let lines = [
        format!("Process 13 waits for {}; blocked by process 11.", row(1)),
        format!("Process 11 waits for {}; blocked by process 12.", row(2)),
        format!("Process 12 waits for {}; blocked by process 13.", row(3)),
    ];
    assert_eq!(refused, Err(LockError::Deadlock(lines.join("\n"))));
    drop(c);
    second.await.unwrap();
    drop(b);
    first.await.unwrap();
}

#[tokio::test]
async fn two_who_share_and_both_want_more_are_a_circle() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b] = [1, 2].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Share, FOREVER).await.unwrap();
    lock(&mut b, 1, LockStrength::Share, FOREVER).await.unwrap();
    let mut first = Box::pin(lock(&mut a, 1, LockStrength::NoKeyUpdate, FOREVER));
    assert_waits!(first);
    let refused = lock(&mut b, 1, LockStrength::NoKeyUpdate, FOREVER).await;
    assert!(matches!(refused, Err(LockError::Deadlock(_))));
}

#[tokio::test]
async fn the_order_of_a_queue_is_no_reason_to_end_a_transaction() {
    let locks = Arc::new(Locks::default());
    let [mut reader, mut writer, mut other] = [11, 12, 13].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut reader, 1, LockStrength::Share, FOREVER).await.unwrap();
    lock(&mut other, 2, LockStrength::Update, FOREVER).await.unwrap();
    let mut writing = Box::pin(lock(&mut writer, 1, LockStrength::Update, FOREVER));
    assert_waits!(writing);
    // Only the writer that waits is in its way.
    let mut sharing = Box::pin(lock(&mut other, 1, LockStrength::Share, FOREVER));
    assert_waits!(sharing);
    let mut closing = Box::pin(lock(&mut reader, 2, LockStrength::Update, FOREVER));
    assert_waits!(closing);
    sharing.await.unwrap();
    drop(other);
    closing.await.unwrap();
    assert_waits!(writing);
    drop(reader);
    writing.await.unwrap();
    drop(writer);
    assert!(locks.is_unused());
}

#[tokio::test]
async fn who_would_close_a_circle_is_in_nobodys_way() {
    let locks = Arc::new(Locks::default());
    let [mut a, mut b, mut bystander] = [11, 12, 13].map(|process| HeldLocks::new(locks.clone(), process));
    lock(&mut a, 1, LockStrength::Update, FOREVER).await.unwrap();
    lock(&mut b, 2, LockStrength::Update, FOREVER).await.unwrap();
    let mut first = Box::pin(lock(&mut a, 2, LockStrength::Update, FOREVER));
    assert_waits!(first);
    lock(&mut b, 1, LockStrength::Update, FOREVER).await.unwrap_err();
    let mut waiting = Box::pin(lock(&mut bystander, 1, LockStrength::Update, FOREVER));
    assert_waits!(waiting);
    drop(b);
    first.await.unwrap();
    drop(a);
    waiting.await.unwrap();
}

/// One thing a task does, between its start and its end.
#[derive(Debug, Clone)]
struct Step {
    row: usize,
    strength: LockStrength,
    /// Gives up after so many polls.
    patience: Option<u8>,
}

fn step() -> impl Strategy<Value = Step> {
    let strength = prop_oneof![
        Just(LockStrength::KeyShare),
        Just(LockStrength::Share),
        Just(LockStrength::NoKeyUpdate),
        Just(LockStrength::Update)
    ];
    (0..4_usize, strength, prop::option::of(0..3_u8)).prop_map(|(row, strength, patience)| Step {
        row,
        strength,
        patience,
    })
}

/// Drops the wait when it was polled so often.
async fn at_most<T>(wait: impl Future<Output = T>, polls: Option<u8>) -> Option<T> {
    let Some(mut left) = polls else { return Some(wait.await) };
    let mut wait = Box::pin(wait);
    futures::future::poll_fn(move |context| match wait.poll_unpin(context) {
        std::task::Poll::Ready(done) => std::task::Poll::Ready(Some(done)),
        std::task::Poll::Pending if left == 0 => std::task::Poll::Ready(None),
        std::task::Poll::Pending => {
            left -= 1;
            context.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    })
    .await
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever tasks lock, give up and drop: writers are alone, everybody comes to an end, nothing is left behind.
    #[test]
    fn tasks_come_to_an_end_and_writers_are_alone(
        tasks in prop::collection::vec(prop::collection::vec(step(), 1..6), 2..12)
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        let locks = Arc::new(Locks::default());
        // Readers of each row; a writer makes it very negative.
        let rows: Arc<[AtomicI64; 4]> = Arc::default();
        // Each a session of its own.
        let tasks = tasks.into_iter().zip(1..).map(|(steps, process)| {
            let (locks, rows) = (locks.clone(), rows.clone());
            runtime.spawn(async move {
                for step in steps {
                    let mut held = HeldLocks::new(locks.clone(), process);
                    let wait = lock(&mut held, step.row, step.strength, FOREVER);
                    let Some(result) = at_most(wait, step.patience).await else { continue };
                    result.unwrap();
                    let delta = if step.strength >= LockStrength::NoKeyUpdate { -1000 } else { 1 };
                    let before = rows[step.row].fetch_add(delta, Ordering::SeqCst);
                    // A key share goes with one that updates; nothing goes with a second writer.
                    assert!(before > -1000 || delta == 1 && step.strength == LockStrength::KeyShare, "{before} {step:?}");
                    tokio::task::yield_now().await;
                    rows[step.row].fetch_sub(delta, Ordering::SeqCst);
                }
            })
        });
        let ended = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(300), join_all(tasks)).await });
        for task in ended.expect("a task waits for ever") {
            task.unwrap();
        }
        prop_assert!(locks.is_unused());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circles_are_broken_however_many_there_are() {
    let locks = Arc::new(Locks::default());
    // Each a session of its own.
    let tasks = (0..16_usize).zip(1..).map(|(task, process)| {
        let locks = locks.clone();
        tokio::spawn(async move {
            let mut done = 0_u32;
            while done < 200 {
                let mut held = HeldLocks::new(locks.clone(), process);
                let first = (task + usize::try_from(done).unwrap()) % 5;
                let second = (task * 3 + 1) % 5;
                lock(&mut held, first, LockStrength::Update, FOREVER).await.unwrap();
                tokio::task::yield_now().await;
                match lock(&mut held, second, LockStrength::Update, FOREVER).await {
                    Ok(_) => done += 1,
                    Err(error) => assert!(matches!(error, LockError::Deadlock(_))),
                }
            }
        })
    });
    let ended = tokio::time::timeout(Duration::from_secs(300), join_all(tasks)).await.expect("a circle was not found");
    assert!(ended.into_iter().all(|task| task.is_ok()));
    assert!(locks.is_unused());
}

#[tokio::test]
async fn locks_of_many_rows_are_a_part_of_the_memory() {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(2 << 20));
    let locks = Arc::new(Locks::within(pool.clone()));
    let (mut a, mut b) = (HeldLocks::new(locks.clone(), 1), HeldLocks::new(locks.clone(), 2));
    let mark = a.mark();
    let mut rows = 0;
    let refused = loop {
        match lock(&mut a, rows, LockStrength::Update, LockWait::No).await {
            Ok(_) => rows += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, LockError::NoMemory(_)), "{refused:?}");
    assert!((2_000..10_000).contains(&rows), "{rows}");
    // A few rows can be locked all the same.
    lock(&mut b, rows + 1, LockStrength::Update, LockWait::No).await.unwrap();
    a.release_to(mark);
    assert_eq!(pool.reserved(), 0);
    drop((a, b));
    assert!(locks.is_unused());
}
