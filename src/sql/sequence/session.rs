//! A session's view of the sequences: which there are, and which values it got last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::privileges::{ObjectKind, Privileges};
use tablegate_types::quoting::split_name;

use super::blocks::Sequences;
use super::counting::{advance, check_within, exhausted};
use crate::catalog::{CatalogView, Sequence, SequenceState};
use crate::privileges::Rights;

/// The sequences as one session uses them.
pub(crate) struct SessionSequences {
    shared: Arc<Sequences>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The catalogue as the running statement sees it.
    catalog: Option<CatalogView>,
    /// What its user may do.
    rights: Option<Rights>,
    /// The transaction of that statement may not write.
    read_only: bool,
    /// What `currval` gives, by the sequence's OID.
    values: HashMap<u32, i64>,
    /// The sequence of the last `nextval`.
    last: Option<u32>,
}

impl SessionSequences {
    pub(crate) fn new(shared: Arc<Sequences>) -> Self {
        Self { shared, inner: Mutex::default() }
    }

    /// A statement begins: what it sees, and whether it may write.
    pub(crate) fn begin_statement(&self, catalog: &CatalogView, rights: &Rights, read_only: bool) {
        let mut inner = self.lock();
        inner.catalog = Some(catalog.clone());
        inner.rights = Some(rights.clone());
        inner.read_only = read_only;
    }

    /// DISCARD SEQUENCES.
    pub(crate) fn forget(&self) {
        let mut inner = self.lock();
        inner.values.clear();
        inner.last = None;
    }

    /// `nextval`, for as many rows as asked for.
    ///
    /// # Errors
    /// 42P01 or 42809 for what is not a sequence, 42501 without the privilege, 25006 in a read-only transaction, 2200H
    /// at the sequence's end.
    pub(crate) async fn next(&self, name: &str, count: usize) -> SqlResult<Vec<i64>> {
        let (sequence, _) = self.for_writing(name, "nextval")?;
        self.check(&sequence, Privileges::USAGE | Privileges::UPDATE)?;
        self.next_of_column(name, count).await
    }

    /// `nextval` for an identity column, for which the privilege to write to the table suffices.
    ///
    /// # Errors
    /// As [`SessionSequences::next`], but for privileges.
    pub(crate) async fn next_of_column(&self, name: &str, count: usize) -> SqlResult<Vec<i64>> {
        let (sequence, counter) = self.for_writing(name, "nextval")?;
        let values = match counter {
            Some(counter) => next_of_own(&sequence, &counter, count)?,
            None => self.shared.next_values(&sequence, count).await?,
        };
        if let Some(last) = values.last() {
            let mut inner = self.lock();
            inner.values.insert(sequence.oid, *last);
            inner.last = Some(sequence.oid);
        }
        Ok(values)
    }

    /// `setval`.
    ///
    /// # Errors
    /// As [`SessionSequences::next`]; 22003 for a value outside the sequence's bounds.
    pub(crate) async fn set(&self, name: &str, value: i64, called: bool) -> SqlResult<i64> {
        let (sequence, counter) = self.for_writing(name, "setval")?;
        self.check(&sequence, Privileges::UPDATE)?;
        let state = SequenceState { last: value, called };
        match counter {
            Some(counter) => {
                check_within(&sequence, value)?;
                *counter.lock().unwrap_or_else(PoisonError::into_inner) = state;
            }
            None => self.shared.set(&sequence, state).await?,
        }
        if called {
            self.lock().values.insert(sequence.oid, value);
        }
        Ok(value)
    }

    /// `currval`.
    ///
    /// # Errors
    /// 55000 before the session's first `nextval` of the sequence.
    pub(crate) fn current(&self, name: &str) -> SqlResult<i64> {
        let sequence = self.find(name)?;
        self.check(&sequence, Privileges::USAGE | Privileges::SELECT)?;
        let value = self.lock().values.get(&sequence.oid).copied();
        value.ok_or_else(|| {
            let message = format!("currval of sequence \"{}\" is not yet defined in this session", sequence.name);
            SqlError::new(ErrorKind::ObjectNotInState, message)
        })
    }

    /// `lastval`.
    ///
    /// # Errors
    /// 55000 before the session's first `nextval`.
    pub(crate) fn last(&self) -> SqlResult<i64> {
        let undefined = || SqlError::new(ErrorKind::ObjectNotInState, "lastval is not yet defined in this session");
        let (sequence, value) = {
            let inner = self.lock();
            let oid = inner.last.ok_or_else(undefined)?;
            let sequence =
                inner.catalog.as_ref().and_then(|catalog| catalog.sequences().find(|s| s.oid == oid).cloned());
            (sequence.ok_or_else(undefined)?, inner.values.get(&oid).copied())
        };
        self.check(&sequence, Privileges::USAGE | Privileges::SELECT)?;
        value.ok_or_else(undefined)
    }

    /// Where a sequence stands.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn state(&self, sequence: &Arc<Sequence>) -> SqlResult<SequenceState> {
        let counter = self.lock().catalog.as_ref().and_then(|catalog| catalog.own_counter(&sequence.placed_name()));
        match counter {
            Some(counter) => Ok(*counter.lock().unwrap_or_else(PoisonError::into_inner)),
            None => self.shared.state(sequence).await,
        }
    }

    /// The sequence that a text means as `regclass` input: a name, perhaps with its schema, or an OID.
    ///
    /// # Errors
    /// 42P01 for an unknown name, 42809 for that of a table.
    pub(crate) fn find(&self, text: &str) -> SqlResult<Arc<Sequence>> {
        let parts = split_name(text);
        let inner = self.lock();
        let unknown =
            || SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{}\" does not exist", parts.join(".")));
        let catalog = inner.catalog.as_ref().ok_or_else(unknown)?;
        if let Ok(oid) = text.trim().parse::<u32>() {
            return catalog.sequences().find(|s| s.oid == oid).cloned().ok_or_else(unknown);
        }
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return Err(unknown()),
        };
        let placed = catalog.named(schema, name).ok_or_else(unknown)?;
        match catalog.sequence(&placed) {
            Some(sequence) => Ok(sequence),
            None if catalog.has_name(&placed) => {
                Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{name}\" is not a sequence")))
            }
            None => Err(unknown()),
        }
    }

    /// A sequence, and its counter where the session's own transaction has made or restarted it.
    fn for_writing(&self, name: &str, function: &str) -> SqlResult<(Arc<Sequence>, Option<OwnCounter>)> {
        let sequence = self.find(name)?;
        let inner = self.lock();
        if inner.read_only && !sequence.place.is_temporary() {
            let message = format!("cannot execute {function}() in a read-only transaction");
            return Err(SqlError::new(ErrorKind::ReadOnlyTransaction, message));
        }
        let counter = inner.catalog.as_ref().and_then(|catalog| catalog.own_counter(&sequence.placed_name()));
        Ok((sequence, counter))
    }

    /// One of these privileges must be the user's.
    fn check(&self, sequence: &Sequence, one_of: Privileges) -> SqlResult<()> {
        let inner = self.lock();
        let (Some(rights), Some(catalog)) = (&inner.rights, &inner.catalog) else { return Ok(()) };
        if rights.on(ObjectKind::Sequence, &catalog.access(sequence.oid)).has_any(one_of) {
            Ok(())
        } else {
            Err(ObjectKind::Sequence.denied(&sequence.name))
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a sequence stands that only one transaction sees.
type OwnCounter = Arc<Mutex<SequenceState>>;

fn next_of_own(sequence: &Sequence, counter: &OwnCounter, count: usize) -> SqlResult<Vec<i64>> {
    let mut state = counter.lock().unwrap_or_else(PoisonError::into_inner);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        *state = advance(&sequence.options, *state).ok_or_else(|| exhausted(&sequence.name, &sequence.options))?;
        values.push(state.last);
    }
    Ok(values)
}
