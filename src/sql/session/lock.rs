//! LOCK TABLE, and the locks that statements take on the tables they read and write.

use std::sync::Arc;

use futures::StreamExt;
use tablegate_bind::QualifiedName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::{Position, Session};
use crate::catalog;
use crate::dml::find_target;
use crate::outcome::{CommandTag, Outcome, RowStream};
use crate::plan::schema_and_table;
use crate::relation::Relation;
use crate::syntax::{LockCommand, TableMode};
use crate::tx::Claims;

impl Session {
    pub(super) async fn run_lock(&mut self, lock: &LockCommand) -> SqlResult<Outcome> {
        if !self.transaction.in_block() {
            let message = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(ErrorKind::NoActiveTransaction, message));
        }
        let mode = lock.mode;
        let mut bind_everybody = true;
        for name in &lock.tables {
            for relation in self.lockable(name).await? {
                let claims = self.transaction.claims_mut();
                bind_everybody &= claims.bind_everybody(relation.place());
                if lock.nowait {
                    claims.try_lock_table(&relation, mode).await?;
                } else {
                    claims.lock_table(&relation, mode).await?;
                }
            }
        }
        if !bind_everybody {
            self.notice(Notice::warning("the lock binds the sessions of this gateway, not other writers of the store"));
        }
        Ok(Outcome::Done(CommandTag::Plain("LOCK TABLE")))
    }

    /// The table of this name; of a view, the tables that it reads.
    async fn lockable(&self, name: &QualifiedName) -> SqlResult<Vec<Arc<Relation>>> {
        let (schema, table) = schema_and_table(name)?;
        let planner = self.planner();
        match planner.view(schema.as_deref(), &table) {
            Some(view) => Ok(planner.plan(&catalog::query_of(view)?, &[]).await?.relations),
            None => Ok(vec![find_target(&planner, name).await?]),
        }
    }

    /// Locks a table until the transaction ends.
    pub(super) async fn lock_table(&mut self, relation: &Relation, mode: TableMode) -> SqlResult<()> {
        self.transaction.claims_mut().lock_table(relation, mode).await
    }

    /// Locks the tables of a query against DDL: until the transaction ends or, for the only statement of one, as long
    /// as what is returned lives.
    pub(super) async fn lock_for_reading(
        &mut self,
        relations: &[Arc<Relation>],
        position: Position,
    ) -> SqlResult<Option<Claims>> {
        let claims = self.transaction.claims();
        let only = position == Position::Last && !self.transaction.in_block() && claims.is_empty();
        let mut own = only.then(|| claims.of_next_transaction());
        let claims = own.as_mut().unwrap_or_else(|| self.transaction.claims_mut());
        for relation in relations {
            claims.lock_table(relation, TableMode::AccessShare).await?;
        }
        Ok(own)
    }
}

/// A stream that holds locks until it is dropped.
pub(super) fn held_with(stream: RowStream, locks: Option<Claims>) -> RowStream {
    match locks {
        None => stream,
        Some(locks) => Box::pin(stream.map(move |batch| {
            let _held = &locks;
            batch
        })),
    }
}
