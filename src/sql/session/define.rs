//! Running DDL, TRUNCATE and ANALYZE.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CreateTable, ObjectName};

use super::Session;
use crate::sql::ddl;
use crate::sql::dml::find_target;
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, Outcome};
use crate::sql::relation::Relation;

impl Session {
    pub(super) async fn create_table(&mut self, create: &CreateTable) -> SqlResult<Outcome> {
        let (declaration, notices) = ddl::declare(create)?;
        ddl::check_expressions(&self.planner(), &declaration)?;
        let reader = self.engine.store().reader();
        if let Some(existing) = self.engine.catalog().exact(&*reader, &declaration.name).await? {
            let message = format!("relation \"{}\" already exists", existing.name);
            if !create.if_not_exists {
                return Err(SqlError::new(ErrorKind::DuplicateTable, message));
            }
            self.notice(Notice::info(format!("{message}, skipping")));
            return Ok(Outcome::Done(CommandTag::Plain("CREATE TABLE")));
        }
        self.engine.catalog().create(declaration, Vec::new()).await?;
        self.notices.extend(notices);
        Ok(Outcome::Done(CommandTag::Plain("CREATE TABLE")))
    }

    pub(super) async fn drop_tables(&mut self, names: &[ObjectName], if_exists: bool) -> SqlResult<Outcome> {
        let mut relations = Vec::new();
        for name in names {
            match find_target(&self.planner(), name).await {
                Ok(relation) => relations.push(relation),
                Err(error) if error.kind == ErrorKind::UndefinedTable => {
                    let (_, table) = crate::sql::plan::schema_and_table(name)?;
                    if !if_exists {
                        let message = format!("table \"{table}\" does not exist");
                        return Err(SqlError::new(ErrorKind::UndefinedTable, message));
                    }
                    self.notice(Notice::info(format!("table \"{table}\" does not exist, skipping")));
                }
                Err(error) => return Err(error),
            }
        }
        for relation in relations {
            self.engine.catalog().drop(&relation).await?;
        }
        Ok(Outcome::Done(CommandTag::Plain("DROP TABLE")))
    }

    pub(super) async fn targets(&self, names: &[ObjectName]) -> SqlResult<Vec<Arc<Relation>>> {
        let planner = self.planner();
        let mut relations = Vec::with_capacity(names.len());
        for name in names {
            relations.push(find_target(&planner, name).await?);
        }
        Ok(relations)
    }

    pub(super) async fn analyze(&self, name: Option<&ObjectName>) -> SqlResult<Outcome> {
        let relations = match name {
            Some(name) => self.targets(std::slice::from_ref(name)).await?,
            None => self.engine.catalog().relations(&*self.engine.store().reader()).await?,
        };
        for relation in relations {
            self.engine.store().analyze(&relation.stored).await?;
        }
        Ok(Outcome::Done(CommandTag::Plain("ANALYZE")))
    }

    /// DDL takes effect at once, so it cannot be part of a transaction that may be rolled back.
    pub(super) fn check_ddl(&self, what: &'static str) -> SqlResult<()> {
        self.check_writable(what)?;
        if self.transaction.in_block() {
            return Err(SqlError::not_supported(format!("{what} inside a transaction block"))
                .with_detail("DDL takes effect at once and could not be rolled back.")
                .with_hint("Run it outside BEGIN ... COMMIT."));
        }
        Ok(())
    }
}
