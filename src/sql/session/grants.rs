//! GRANT and REVOKE.

use tablegate_bind::QualifiedName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::privileges::{Change, ObjectKind, Privileges};

use super::privileges::{Object, UNKNOWN, object_named};
use super::{Position, Session};
use crate::catalog::{Access, CatalogView, DATABASE};
use crate::outcome::{CommandTag, Outcome};
use crate::place::{Place, PlacedName};
use crate::plan::SystemRelations;
use crate::privileges::Roles;
use crate::syntax::{GrantCommand, GrantPrivileges, Grantee, On};

impl Session {
    pub(super) async fn run_grant(&mut self, command: &GrantCommand, position: Position) -> SqlResult<Outcome> {
        let grant = match command {
            GrantCommand::Privileges(grant) => grant,
            GrantCommand::Owner(change) => return self.change_owner(change, position).await,
            GrantCommand::Refused(what) => return Err(refused(what)),
        };
        let tag = if grant.revokes { "REVOKE" } else { "GRANT" };
        self.check_writable(tag)?;
        let roles = self.roles().await?;
        let mut grantees = Vec::with_capacity(grant.grantees.len());
        for grantee in &grant.grantees {
            grantees.push(self.role_of(grantee, &roles)?);
        }
        if let Some(grantor) = &grant.granted_by
            && self.role_of(grantor, &roles)?.as_deref() != Some(self.rights.user())
        {
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, "grantor must be current user"));
        }
        for object in self.objects_of(&grant.on).await? {
            self.claim(&claimed_name(&object)).await?;
            self.grant_on(&object, grant, &grantees)?;
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain(tag)))
    }

    /// Every role that can be named.
    pub(super) async fn roles(&self) -> SqlResult<Roles> {
        let accounts = self.engine.accounts().await?;
        Ok(Roles::new(&accounts, &self.rights, self.privileges_now().accesses()))
    }

    /// A role's name; `None` for PUBLIC.
    fn role_of(&self, grantee: &Grantee, roles: &Roles) -> SqlResult<Option<String>> {
        Ok(match grantee {
            Grantee::Public => None,
            Grantee::Current => Some(self.rights.user().to_owned()),
            Grantee::Named(name) => {
                roles.check(name)?;
                Some(name.clone())
            }
        })
    }

    async fn objects_of(&self, on: &On) -> SqlResult<Vec<Object>> {
        let reads = self.reads();
        let mut objects = Vec::new();
        match on {
            On::Tables(names) | On::Sequences(names) => {
                for name in names {
                    let object = self.named_object(name).await?;
                    if object.kind == ObjectKind::Table && matches!(on, On::Sequences(_)) {
                        let message = format!("\"{}\" is not a sequence", object.name);
                        return Err(SqlError::new(ErrorKind::WrongObjectType, message));
                    }
                    objects.push(object);
                }
            }
            On::AllTables(schemas) => {
                let places = places_of(&reads.catalog, schemas)?;
                let table = |r: &std::sync::Arc<crate::relation::Relation>| Object {
                    kind: ObjectKind::Table,
                    oid: r.oid,
                    place: r.place(),
                    name: r.name.clone(),
                };
                let relations = reads.relations().await?;
                objects.extend(relations.iter().filter(|r| places.contains(&r.place())).map(table));
                objects.extend(reads.catalog.views().filter(|v| places.contains(&v.place)).map(|v| Object {
                    kind: ObjectKind::Table,
                    oid: v.oid,
                    place: v.place,
                    name: v.name.clone(),
                }));
            }
            On::AllSequences(schemas) => {
                let places = places_of(&reads.catalog, schemas)?;
                let sequences = reads.catalog.sequences().filter(|s| places.contains(&s.place));
                objects.extend(sequences.map(|s| Object {
                    kind: ObjectKind::Sequence,
                    oid: s.oid,
                    place: s.place,
                    name: s.name.clone(),
                }));
            }
            On::Schemas(schemas) => {
                objects.extend(places_of(&reads.catalog, schemas)?.into_iter().map(Object::schema));
            }
            On::Databases(names) => {
                for name in names {
                    if !self.database.has_name(name) {
                        let message = format!("database \"{name}\" does not exist");
                        return Err(SqlError::new(ErrorKind::UndefinedDatabase, message));
                    }
                    let (kind, place, name) = (ObjectKind::Database, Place::Public, name.clone());
                    objects.push(Object { kind, oid: DATABASE, place, name });
                }
            }
        }
        Ok(objects)
    }

    async fn named_object(&self, parts: &[String]) -> SqlResult<Object> {
        let name = QualifiedName::quoted(parts);
        let reads = self.reads();
        match object_named(&reads, &name).await? {
            Some(object) if object.oid == UNKNOWN => {
                return Err(SqlError::not_supported(format!("a privilege on \"{}\"", object.name))
                    .with_hint("Privileges are kept on tables and sequences."));
            }
            Some(object) => return Ok(object),
            None => {}
        }
        let (schema, table) = crate::plan::schema_and_table(&name)?;
        let is_index = reads.catalog.named(schema.as_deref(), &table);
        if is_index.is_some_and(|index| super::indexes::index_of(&reads.catalog, &index).is_some()) {
            return Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{table}\" is an index")));
        }
        if self.system_catalog().knows(schema.as_deref(), &table) {
            return Err(SqlError::not_supported("a privilege on a system catalog")
                .with_hint("Everybody may read it; what it shows of others it leaves out."));
        }
        Err(SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{}\" does not exist", parts.join("."))))
    }

    /// One object's part of a GRANT or REVOKE: staged, unless the user may hand on none of it.
    fn grant_on(&mut self, object: &Object, grant: &GrantPrivileges, grantees: &[Option<String>]) -> SqlResult<()> {
        let asked = asked(object.kind, grant)?;
        let all = grant.privileges.is_empty();
        let mut access: Access = (*self.privileges_now().access(object.oid)).clone();
        let (owner, grantor) = (access.owner().to_owned(), self.rights.grantor(&access).to_owned());
        let grantable = self.rights.grantable_on(object.kind, &access);
        if grantable.is_empty() && self.rights.on(object.kind, &access).is_empty() {
            return Err(object.kind.denied(&object.name));
        }
        let privileges = asked & grantable;
        if privileges != asked && (!all || privileges.is_empty()) {
            self.notice(Notice::warning(incomplete(grant.revokes, privileges.is_empty(), &object.name)));
        }
        let mut acl = access.acl(object.kind);
        for grantee in grantees {
            let (grantor, grantee, owner) = (grantor.as_str(), grantee.as_deref(), owner.as_str());
            let change = Change { grantor, grantee, privileges, option: grant.option, owner };
            if grant.revokes {
                acl.revoke(&change, grant.cascade)?;
            } else {
                acl.grant(&change)?;
            }
        }
        access.acl = Some(acl);
        self.transaction.catalog_mut().put_access(object.place, access);
        Ok(())
    }
}

/// The privileges that a command names, for one kind of object.
fn asked(kind: ObjectKind, grant: &GrantPrivileges) -> SqlResult<Privileges> {
    if grant.privileges.is_empty() {
        return Ok(kind.all());
    }
    let mut asked = Privileges::NONE;
    for given in &grant.privileges {
        if !given.columns.is_empty() {
            return Err(SqlError::not_supported("a privilege on columns")
                .with_hint("Grant the privilege on the table, or on a view that shows these columns."));
        }
        let privilege = Privileges::named(&given.name).ok_or_else(|| {
            SqlError::new(ErrorKind::Syntax, format!("unrecognized privilege type \"{}\"", given.name))
        })?;
        asked = asked | privilege;
    }
    // A sequence is a relation too: TABLE may stand before its name.
    kind.check(asked).map(|()| asked)
}

/// A name under which one transaction at a time changes an object's privileges.
fn claimed_name(object: &Object) -> PlacedName {
    match object.kind {
        ObjectKind::Table | ObjectKind::Sequence => PlacedName::new(object.place, &object.name),
        // No table has such a name.
        ObjectKind::Schema | ObjectKind::Database => {
            PlacedName::new(object.place, &format!("\u{1}{} {}", object.kind.noun(), object.name))
        }
    }
}

/// The places of schemas whose privileges are kept.
fn places_of(catalog: &CatalogView, schemas: &[String]) -> SqlResult<Vec<Place>> {
    let place_of = |schema: &String| match catalog.place_of_schema(schema) {
        Some(place) if !place.is_temporary() => Ok(place),
        _ if matches!(schema.as_str(), "pg_catalog" | "information_schema") => {
            Err(SqlError::not_supported("a privilege on a system schema")
                .with_hint("Everybody may read what is in it."))
        }
        _ => Err(SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{schema}\" does not exist"))),
    };
    schemas.iter().map(place_of).collect()
}

/// PostgreSQL's warning where the user may not hand on everything.
fn incomplete(revokes: bool, nothing: bool, name: &str) -> String {
    match (revokes, nothing) {
        (false, true) => format!("no privileges were granted for \"{name}\""),
        (false, false) => format!("not all privileges were granted for \"{name}\""),
        (true, true) => format!("no privileges could be revoked for \"{name}\""),
        (true, false) => format!("not all privileges could be revoked for \"{name}\""),
    }
}

fn refused(what: &str) -> Box<SqlError> {
    let hint = match what {
        "ALTER DEFAULT PRIVILEGES" => {
            "Grant on the tables once they are there: GRANT ... ON ALL TABLES IN SCHEMA public."
        }
        "membership of roles in roles" => "Grant the privileges to each user, or to PUBLIC.",
        _ => "Privileges are kept on tables, sequences, the schema and the database.",
    };
    SqlError::not_supported(what).with_hint(hint)
}
