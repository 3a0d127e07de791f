//! What each kind of statement needs, told by its syntax.

use tablegate_bind::QualifiedName;
use tablegate_types::privileges::{ObjectKind, Privileges};

use crate::syntax::dialect::comment::CommentSubject;
use crate::syntax::dialect::copy::CopySource;
use crate::syntax::{AlterAction, Command, CursorCommand, GrantCommand, TableMode, wanted_by, wanted_of_tables};

/// One thing that a statement needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Demand {
    /// Something of a table, a sequence, or whatever has the name; a name that nothing has needs nothing.
    On(QualifiedName, Wanted),
    /// To own the table of an index.
    OwnIndex(QualifiedName),
    /// To make something of this name; temporary, where that is said.
    Create(QualifiedName, bool),
    /// To own the schema or the database.
    OwnShared(ObjectKind, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    All(Privileges),
    OneOf(Privileges),
    Ownership,
}

/// What a command needs. What only shows when it runs is checked there: the sequences that `nextval` is called with, the
/// tables that TRUNCATE ... CASCADE comes to, and the parts of other commands (DECLARE, EXECUTE), which run like commands.
pub(crate) fn demands(command: &Command) -> Vec<Demand> {
    let mut needs = Needs::default();
    match command {
        Command::CreateTable(create) => {
            needs.create(&create.name, create.temporary);
            create.foreign_tables().for_each(|table| needs.all(table, Privileges::REFERENCES));
            create.likes.iter().for_each(|like| needs.all(&like.source, Privileges::SELECT));
        }
        Command::CreateTableAs(create) => needs.create(&create.table.name, create.table.temporary),
        // A role that may read the view reads its tables with the rights of the view's owner.
        Command::CreateView(create) => {
            needs.create(&create.name, create.temporary);
            if create.or_replace {
                needs.own(&create.name);
            }
        }
        Command::AlterTable(alter) => {
            needs.own(&alter.name);
            // It may be an index that is renamed.
            let renames = matches!(alter.actions[..], [AlterAction::RenameTable(_)]);
            if renames && !alter.of_view {
                needs.0.push(Demand::OwnIndex(alter.name.clone()));
            }
            alter.foreign_tables().for_each(|table| needs.all(table, Privileges::REFERENCES));
        }
        Command::DropTable(drop) | Command::DropSequence(drop) | Command::DropView(drop) => drop.names.iter().for_each(|name| needs.own(name)),
        Command::CreateSequence(create) => needs.create(&create.name, create.temporary),
        Command::AlterSequence(alter) => needs.own(&alter.name),
        Command::CreateIndex(create) => needs.own(&create.table),
        Command::DropIndex(drop) => needs.0.extend(drop.names.iter().cloned().map(Demand::OwnIndex)),
        Command::RenameIndex(rename) => needs.0.push(Demand::OwnIndex(rename.name.clone())),
        Command::Comment(comment) => needs.comment(&comment.subject),
        Command::Truncate(truncate) => {
            truncate.names.iter().for_each(|name| needs.all(name, Privileges::TRUNCATE));
        }
        Command::Copy(copy) => match (&copy.source, copy.to_stdout) {
            (CopySource::Table { name, .. }, true) => needs.all(name, Privileges::SELECT),
            (CopySource::Table { name, .. }, false) => needs.all(name, Privileges::INSERT),
            (CopySource::Query(_), _) => {}
        },
        Command::Lock(lock) => {
            let wanted = wanted_to_lock(lock.mode);
            needs.0.extend(lock.tables.iter().map(|table| Demand::On(table.clone(), wanted)));
        }
        Command::Grant(grant) => match &**grant {
            GrantCommand::Owner(change) => needs.own(&change.object_name()),
            GrantCommand::Privileges(_) | GrantCommand::Refused(_) => {}
        },
        Command::Explain(explain) => return demands(&explain.inner.command),
        Command::Execute(execute) => needs.add(wanted_by(&execute.arguments)),
        // What they want of tables is added below.
        Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) | Command::Merge(_) => {}
        // What a cursor reads is checked when its query runs; what a prepared statement does, when it is executed.
        Command::Cursor(CursorCommand::Declare(_) | CursorCommand::Fetch(_) | CursorCommand::Close(_))
        | Command::Prepare(_)
        | Command::Deallocate(_)
        // Who grants what is decided privilege by privilege, and who changes which user by the user.
        | Command::Role(_)
        // Tables of others are left out with a warning.
        | Command::Utility(_)
        | Command::Transaction(_)
        | Command::Set(_)
        | Command::Show(_)
        | Command::SetConfig(_)
        | Command::Reset(_)
        | Command::Notify(_)
        | Command::Discard(_) => {}
    }
    if let Some((syntax, _)) = command.bound_syntax() {
        needs.add(wanted_of_tables(syntax));
    }
    needs.0
}

/// Any of these is enough, as in PostgreSQL.
fn wanted_to_lock(mode: TableMode) -> Wanted {
    let changes = Privileges::UPDATE | Privileges::DELETE | Privileges::TRUNCATE;
    Wanted::OneOf(match mode {
        TableMode::AccessShare => Privileges::SELECT,
        TableMode::RowExclusive => changes | Privileges::INSERT,
        _ => changes,
    })
}

#[derive(Default)]
struct Needs(Vec<Demand>);

impl Needs {
    fn add(&mut self, wanted: Vec<(QualifiedName, Privileges)>) {
        wanted.iter().for_each(|(name, privileges)| self.all(name, *privileges));
    }

    fn all(&mut self, name: &QualifiedName, privileges: Privileges) {
        self.want(name, Wanted::All(privileges));
    }

    fn create(&mut self, name: &QualifiedName, temporary: bool) {
        self.0.push(Demand::Create(name.clone(), temporary));
    }

    fn own(&mut self, name: &QualifiedName) {
        self.want(name, Wanted::Ownership);
    }

    fn want(&mut self, name: &QualifiedName, wanted: Wanted) {
        let demand = Demand::On(name.clone(), wanted);
        if !self.0.contains(&demand) {
            self.0.push(demand);
        }
    }

    fn comment(&mut self, subject: &CommentSubject) {
        match subject {
            CommentSubject::Table(name)
            | CommentSubject::View(name)
            | CommentSubject::Sequence(name)
            | CommentSubject::Constraint { table: name, .. } => self.own(&QualifiedName::quoted(name)),
            CommentSubject::Column(name) => {
                self.own(&QualifiedName::quoted(name.split_last().map_or(&[][..], |(_, table)| table)))
            }
            CommentSubject::Index(name) => self.0.push(Demand::OwnIndex(QualifiedName::quoted(name))),
            CommentSubject::Schema(name) => self.0.push(Demand::OwnShared(ObjectKind::Schema, name.clone())),
            CommentSubject::Database(name) => self.0.push(Demand::OwnShared(ObjectKind::Database, name.clone())),
            // Only that of the user's own role can be changed.
            CommentSubject::Role(_) | CommentSubject::Other(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    /// The demands, printed: `t:rw`, any of them `t?rw`, `t!` for ownership.
    fn needs(sql: &str) -> String {
        let command = parse(sql).unwrap().pop().unwrap().command;
        let shown = |demand: &Demand| match demand {
            Demand::On(name, Wanted::All(privileges)) => format!("{name}:{privileges:?}"),
            Demand::On(name, Wanted::OneOf(privileges)) => format!("{name}?{privileges:?}"),
            Demand::On(name, Wanted::Ownership) => format!("{name}!"),
            Demand::OwnIndex(name) => format!("{name}!"),
            Demand::Create(..) => "+".to_owned(),
            Demand::OwnShared(kind, name) => format!("{} {name}!", kind.noun()),
        };
        demands(&command).iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn queries_need_to_read() {
        for (sql, needed) in [
            ("SELECT 1", ""),
            ("SELECT * FROM a JOIN b USING (x), (SELECT * FROM c) d WHERE x IN (SELECT y FROM e)", "a:r b:r c:r e:r"),
            ("SELECT (SELECT max(x) FROM a) UNION SELECT x FROM s.b ORDER BY (SELECT 1 FROM c)", "a:r s.b:r c:r"),
            ("VALUES ((SELECT x FROM a))", "a:r"),
            ("SELECT * FROM a FOR UPDATE", "a:w a:r"),
            ("SELECT * FROM a x, b FOR SHARE OF x", "a:w a:r b:r"),
            ("COPY a TO STDOUT", "a:r"),
            ("COPY (SELECT * FROM a) TO STDOUT", "a:r"),
            ("EXPLAIN ANALYZE DELETE FROM a", "a:d"),
            ("PREPARE p AS SELECT * FROM a", ""),
            ("EXECUTE p((SELECT x FROM a))", "a:r"),
            ("DECLARE c CURSOR FOR SELECT * FROM a", ""),
        ] {
            assert_eq!(needs(sql), needed, "{sql}");
        }
    }

    #[test]
    fn parts_of_with_are_no_tables() {
        for (sql, needed) in [
            ("WITH a AS (SELECT * FROM b) SELECT * FROM a, \"A\"", "b:r \"A\":r"),
            ("WITH a AS (SELECT * FROM a) SELECT * FROM a", "a:r"),
            ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b", "b:r"),
            ("WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a", ""),
            ("WITH a AS (SELECT 1) SELECT * FROM public.a", "public.a:r"),
            ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", "a:r"),
            ("WITH a AS (SELECT 1) SELECT (SELECT 1 FROM a) FROM (WITH b AS (SELECT * FROM a) SELECT * FROM b) x", ""),
            ("WITH d AS (DELETE FROM a RETURNING x) INSERT INTO b SELECT * FROM d, c", "a:rd b:a c:r"),
            ("WITH a AS (SELECT 1) UPDATE a SET x = 1", "a:w"),
        ] {
            assert_eq!(needs(sql), needed, "{sql}");
        }
    }

    #[test]
    fn changes_need_to_read_what_they_name() {
        for (sql, needed) in [
            ("INSERT INTO a SELECT * FROM b", "a:a b:r"),
            ("INSERT INTO a VALUES (1) RETURNING 1", "a:a"),
            ("INSERT INTO a VALUES (1) RETURNING *", "a:ar"),
            ("INSERT INTO a VALUES (1) ON CONFLICT DO NOTHING", "a:a"),
            ("INSERT INTO a VALUES (1) ON CONFLICT (x) DO NOTHING", "a:ar"),
            ("INSERT INTO a VALUES (1) ON CONFLICT (x) DO UPDATE SET y = 1", "a:arw"),
            ("UPDATE a SET x = 1, y = DEFAULT", "a:w"),
            ("UPDATE a SET x = y", "a:rw"),
            ("UPDATE a SET x = 1 WHERE y = 1", "a:rw"),
            ("UPDATE a SET x = b.x FROM b WHERE b.y = 1", "a:w b:r"),
            ("UPDATE a AS c SET x = 1 FROM b WHERE c.y = b.y", "a:rw b:r"),
            ("UPDATE a SET x = 1 RETURNING a.*", "a:rw"),
            ("DELETE FROM a", "a:d"),
            ("DELETE FROM a USING b WHERE a.x = b.x", "a:rd b:r"),
            ("DELETE FROM a WHERE EXISTS (SELECT 1 FROM a)", "a:d a:r"),
            (
                "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1)",
                "a:ard b:r",
            ),
            ("TRUNCATE a, b", "a:D b:D"),
            ("COPY a FROM STDIN", "a:a"),
            ("LOCK TABLE a IN ACCESS SHARE MODE", "a?r"),
            ("LOCK TABLE a IN ROW EXCLUSIVE MODE", "a?awdD"),
            ("LOCK TABLE a", "a?wdD"),
        ] {
            assert_eq!(needs(sql), needed, "{sql}");
        }
    }

    #[test]
    fn definitions_need_owners() {
        for (sql, needed) in [
            ("CREATE TABLE a (x int REFERENCES b, FOREIGN KEY (x) REFERENCES c (y))", "+ c:x b:x"),
            ("CREATE TABLE a AS SELECT * FROM b", "+ b:r"),
            ("SELECT x INTO a FROM b", "+ b:r"),
            ("CREATE VIEW a AS SELECT * FROM b", "+ b:r"),
            ("CREATE OR REPLACE VIEW a AS SELECT * FROM b", "+ a! b:r"),
            ("DROP VIEW a", "a!"),
            ("ALTER VIEW a RENAME TO b", "a!"),
            ("ALTER TABLE a ADD COLUMN y int REFERENCES b", "a! b:x"),
            ("ALTER TABLE a RENAME TO b", "a! a!"),
            ("ALTER SEQUENCE a OWNER TO b", "\"a\"!"),
            ("DROP TABLE a, b", "a! b!"),
            ("CREATE INDEX ON a (x)", "a!"),
            ("DROP INDEX i", "i!"),
            ("CREATE SEQUENCE s", "+"),
            ("ALTER SEQUENCE s RESTART", "s!"),
            ("DROP SEQUENCE s", "s!"),
            ("COMMENT ON COLUMN public.t.c IS 'x'", "\"public\".\"t\"!"),
            ("COMMENT ON INDEX i IS 'x'", "\"i\"!"),
            ("COMMENT ON SCHEMA public IS 'x'", "schema public!"),
        ] {
            assert_eq!(needs(sql), needed, "{sql}");
        }
    }
}
