//! ALTER ... OWNER TO.

use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::privileges::ObjectKind;

use super::privileges::{UNKNOWN, object_named};
use super::{Position, Session};
use crate::catalog::Access;
use crate::outcome::{CommandTag, Outcome};
use crate::place::PlacedName;
use crate::privileges::unknown_role;
use crate::syntax::{Grantee, OwnerChange};

impl Session {
    /// The owner of a schema cannot be changed, but dumps contain such a statement, so it is accepted.
    fn keep_owner_of_schema(&mut self, change: &OwnerChange) -> SqlResult<()> {
        let name = change.name.last().map_or("", String::as_str);
        if self.reads().catalog.place_of_schema(name).is_none_or(|place| place.is_temporary()) {
            return Err(SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{name}\" does not exist")));
        }
        self.notice(Notice::info(format!("the owner of schema \"{name}\" is not kept, and stays")));
        Ok(())
    }

    pub(super) async fn change_owner(&mut self, change: &OwnerChange, position: Position) -> SqlResult<Outcome> {
        self.check_writable(change.tag)?;
        let done = Outcome::Done(CommandTag::Plain(change.tag));
        if change.is_of_schema() {
            return self.keep_owner_of_schema(change).map(|()| done);
        }
        let name = change.object_name();
        let Some(object) = object_named(&self.reads(), &name).await? else {
            let shown = change.name.last().map_or("", String::as_str);
            if change.if_exists {
                self.notice(Notice::info(format!("relation \"{shown}\" does not exist, skipping")));
                return Ok(done);
            }
            return Err(SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{shown}\" does not exist")));
        };
        if object.oid == UNKNOWN {
            self.notice(Notice::info(format!("the owner of \"{}\" is not kept, and stays", object.name)));
            return Ok(done);
        }
        let roles = self.roles().await?;
        let to = match &change.owner {
            Grantee::Named(name) => name.as_str(),
            Grantee::Current | Grantee::Public => self.rights.user(),
        };
        if roles.named(to).is_none() {
            if !self.engine.accounts().await?.is_empty() {
                return Err(unknown_role(to));
            }
            // A dump may be loaded into a server that does not have the user.
            self.notice(Notice::info(format!("role \"{to}\" does not exist: the owner stays")));
            return Ok(done);
        }
        if !self.rights.owns_everything() && to != self.rights.user() {
            let message = format!("must be member of role \"{to}\"");
            return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
        }
        let to = to.to_owned();
        self.claim(&PlacedName::new(object.place, &object.name)).await?;
        let reads = self.reads();
        let mut oids = vec![object.oid];
        if object.kind == ObjectKind::Table {
            oids.extend(reads.catalog.sequences_of(object.oid).map(|sequence| sequence.oid));
        }
        for oid in oids {
            let mut access: Access = (*self.privileges_now().access(oid)).clone();
            let from = access.owner().to_owned();
            if let Some(acl) = &mut access.acl {
                acl.change_owner(&from, &to);
            }
            access.owner = Some(to.clone());
            self.transaction.catalog_mut().put_access(object.place, access);
        }
        self.settle(position).await?;
        Ok(done)
    }
}
