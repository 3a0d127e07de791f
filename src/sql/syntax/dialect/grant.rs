//! Reads GRANT and REVOKE, straight from the tokens: sqlparser knows only some of PostgreSQL's forms.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::QualifiedName;

use crate::syntax::dialect::words::{Read, Unexpected, Words};

/// A command about privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GrantCommand {
    Privileges(GrantPrivileges),
    /// ALTER ... OWNER TO.
    Owner(OwnerChange),
    /// What is not done here.
    Refused(&'static str),
}

/// ALTER ... OWNER TO, of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnerChange {
    pub tag: &'static str,
    pub if_exists: bool,
    /// Its name, with the schemas before it.
    pub name: Vec<String>,
    pub owner: Grantee,
}

impl OwnerChange {
    /// Whether it is about a schema.
    pub(crate) fn is_of_schema(&self) -> bool {
        self.tag == ALTER_SCHEMA
    }

    pub(crate) fn object_name(&self) -> QualifiedName {
        QualifiedName::quoted(&self.name)
    }
}

/// Its tag.
const ALTER_SCHEMA: &str = "ALTER SCHEMA";

/// GRANT or REVOKE of privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantPrivileges {
    pub revokes: bool,
    /// As they are written, with their columns; none for ALL.
    pub privileges: Vec<GivenPrivilege>,
    pub on: On,
    pub grantees: Vec<Grantee>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub option: bool,
    pub granted_by: Option<Grantee>,
    pub cascade: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenPrivilege {
    pub name: String,
    pub columns: Vec<String>,
}

/// The objects it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum On {
    /// Names, each with the schemas before it.
    Tables(Vec<Vec<String>>),
    Sequences(Vec<Vec<String>>),
    AllTables(Vec<String>),
    AllSequences(Vec<String>),
    Schemas(Vec<String>),
    Databases(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grantee {
    Public,
    Named(String),
    /// CURRENT_USER, CURRENT_ROLE, SESSION_USER.
    Current,
}

/// Kinds of objects that privileges are not kept for.
const OTHERS: [(&str, &str); 10] = [
    ("FUNCTION", "a privilege on a function"),
    ("PROCEDURE", "a privilege on a procedure"),
    ("ROUTINE", "a privilege on a routine"),
    ("LANGUAGE", "a privilege on a language"),
    ("TYPE", "a privilege on a type"),
    ("DOMAIN", "a privilege on a domain"),
    ("TABLESPACE", "a privilege on a tablespace"),
    ("FOREIGN", "a privilege on a foreign server"),
    ("LARGE", "a privilege on a large object"),
    ("PARAMETER", "a privilege on a setting"),
];

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'t>(tokens: &[&'t TokenWithSpan]) -> Option<Result<GrantCommand, Unexpected<'t>>> {
    let mut words = Words::new(tokens);
    if words.eat("GRANT") {
        return Some(Reader { words, revokes: false }.command());
    }
    if words.eat("REVOKE") {
        return Some(Reader { words, revokes: true }.command());
    }
    if !words.eat("ALTER") {
        return None;
    }
    if words.eat("DEFAULT") && words.eat("PRIVILEGES") {
        return Some(Ok(GrantCommand::Refused("ALTER DEFAULT PRIVILEGES")));
    }
    Reader { words, revokes: false }.owner_change().map(|change| Ok(GrantCommand::Owner(change)))
}

struct Reader<'a, 't> {
    words: Words<'a, 't>,
    revokes: bool,
}

impl<'t> Reader<'_, 't> {
    fn command(mut self) -> Read<'t, GrantCommand> {
        if self.revokes && self.words.eat("ADMIN") {
            return Ok(GrantCommand::Refused("membership of roles in roles"));
        }
        let mut option = self.revokes && self.option_for()?;
        let privileges = self.privileges()?;
        if !self.words.eat("ON") {
            // Without objects these are names of roles.
            self.words.expect(if self.revokes { "FROM" } else { "TO" })?;
            return Ok(GrantCommand::Refused("membership of roles in roles"));
        }
        if ["FUNCTIONS", "PROCEDURES", "ROUTINES"].iter().any(|kind| self.are_all(kind)) {
            return Ok(GrantCommand::Refused("a privilege on a function"));
        }
        if let Some(other) = self.other_kind() {
            return Ok(GrantCommand::Refused(other));
        }
        let on = self.on()?;
        self.words.expect(if self.revokes { "FROM" } else { "TO" })?;
        let grantees = self.list(Self::grantee)?;
        if !self.revokes && self.words.eat("WITH") {
            self.words.expect("GRANT")?;
            self.words.expect("OPTION")?;
            option = true;
        }
        let granted_by = if self.words.eat("GRANTED") {
            self.words.expect("BY")?;
            Some(self.grantee()?)
        } else {
            None
        };
        let cascade = self.revokes && self.words.eat("CASCADE");
        if self.revokes && !cascade {
            self.words.eat("RESTRICT");
        }
        self.words.end()?;
        let revokes = self.revokes;
        Ok(GrantCommand::Privileges(GrantPrivileges { revokes, privileges, on, grantees, option, granted_by, cascade }))
    }

    /// The rest of `ALTER TABLE name OWNER TO role`; `None` for any other ALTER.
    fn owner_change(mut self) -> Option<OwnerChange> {
        let kinds = [
            ("TABLE", "ALTER TABLE"),
            ("SEQUENCE", "ALTER SEQUENCE"),
            ("VIEW", "ALTER VIEW"),
            ("SCHEMA", ALTER_SCHEMA),
        ];
        let (_, tag) = kinds.into_iter().find(|(kind, _)| self.words.eat(kind))?;
        let if_exists = self.words.eat("IF") && self.words.eat("EXISTS");
        self.words.eat("ONLY");
        let name = self.qualified().ok()?;
        let is_meant = self.words.eat("OWNER") && self.words.eat("TO");
        let owner = if is_meant { self.grantee().ok()? } else { return None };
        self.words.end().ok()?;
        Some(OwnerChange { tag, if_exists, name, owner })
    }

    fn option_for(&mut self) -> Read<'t, bool> {
        if !self.words.eat("GRANT") {
            return Ok(false);
        }
        self.words.expect("OPTION")?;
        self.words.expect("FOR")?;
        Ok(true)
    }

    fn privileges(&mut self) -> Read<'t, Vec<GivenPrivilege>> {
        if self.words.eat("ALL") {
            self.words.eat("PRIVILEGES");
            let columns = self.columns()?;
            let named = GivenPrivilege { name: "all".to_owned(), columns };
            return Ok(if named.columns.is_empty() { Vec::new() } else { vec![named] });
        }
        self.list(|reader| {
            let mut name = reader.words.name()?;
            if name == "alter" && reader.words.eat("SYSTEM") {
                name.push_str(" system");
            }
            Ok(GivenPrivilege { name, columns: reader.columns()? })
        })
    }

    fn columns(&mut self) -> Read<'t, Vec<String>> {
        if !self.words.eat_token(&Token::LParen) {
            return Ok(Vec::new());
        }
        let columns = self.list(|reader| reader.words.name())?;
        if self.words.eat_token(&Token::RParen) { Ok(columns) } else { Err(Unexpected(self.words.peek())) }
    }

    /// `ALL FUNCTIONS IN SCHEMA ...`
    fn are_all(&self, kind: &str) -> bool {
        let mut ahead = Words::new(self.words.rest());
        ahead.eat("ALL") && ahead.eat(kind)
    }

    fn other_kind(&mut self) -> Option<&'static str> {
        OTHERS.iter().find(|(word, _)| self.eat_kind(word)).map(|(_, what)| *what)
    }

    /// Takes the word for a kind of object. Most can also be the name of a table: then no name follows.
    fn eat_kind(&mut self, kind: &str) -> bool {
        let is_followed = match self.words.rest().get(1).map(|token| &token.token) {
            Some(Token::Word(next)) => {
                let ends = ["TO", "FROM"].iter().any(|end| next.value.eq_ignore_ascii_case(end));
                next.quote_style.is_some() || !ends
            }
            _ => false,
        };
        is_followed && self.words.eat(kind)
    }

    fn on(&mut self) -> Read<'t, On> {
        if self.words.eat("ALL") {
            let tables = self.words.eat("TABLES");
            if !tables {
                self.words.expect("SEQUENCES")?;
            }
            self.words.expect("IN")?;
            self.words.expect("SCHEMA")?;
            let schemas = self.list(|reader| reader.words.name())?;
            return Ok(if tables { On::AllTables(schemas) } else { On::AllSequences(schemas) });
        }
        if self.eat_kind("SEQUENCE") {
            return self.list(Self::qualified).map(On::Sequences);
        }
        if self.eat_kind("SCHEMA") {
            return self.list(|reader| reader.words.name()).map(On::Schemas);
        }
        if self.eat_kind("DATABASE") {
            return self.list(|reader| reader.words.name()).map(On::Databases);
        }
        self.words.eat("TABLE");
        self.list(Self::qualified).map(On::Tables)
    }

    fn grantee(&mut self) -> Read<'t, Grantee> {
        self.words.eat("GROUP");
        if self.words.eat("PUBLIC") {
            return Ok(Grantee::Public);
        }
        if ["CURRENT_USER", "CURRENT_ROLE", "SESSION_USER"].iter().any(|word| self.words.eat(word)) {
            return Ok(Grantee::Current);
        }
        self.words.name().map(Grantee::Named)
    }

    fn qualified(&mut self) -> Read<'t, Vec<String>> {
        let mut parts = vec![self.words.name()?];
        while self.words.eat_token(&Token::Period) {
            parts.push(self.words.name()?);
        }
        Ok(parts)
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Read<'t, T>) -> Read<'t, Vec<T>> {
        let mut items = vec![item(self)?];
        while self.words.eat_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::syntax::is_significant;

    fn parsed(sql: &str) -> Option<Result<GrantCommand, String>> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let significant: Vec<&TokenWithSpan> = tokens.iter().filter(|t| is_significant(t)).collect();
        read(&significant).map(|r| r.map_err(|at| at.0.map_or("end".to_owned(), |t| t.token.to_string())))
    }

    fn granted(sql: &str) -> GrantPrivileges {
        match parsed(sql) {
            Some(Ok(GrantCommand::Privileges(grant))) => grant,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn all_parts_are_read() {
        let grant =
            granted("GRANT select, INSERT (a, \"B\") ON TABLE public.T, \"U\" TO ann, PUBLIC WITH GRANT OPTION");
        let names: Vec<&str> = grant.privileges.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(
            (names, grant.privileges[1].columns.clone()),
            (vec!["select", "insert"], vec!["a".into(), "B".into()])
        );
        assert_eq!(grant.on, On::Tables(vec![vec!["public".into(), "t".into()], vec!["U".into()]]));
        assert_eq!(grant.grantees, [Grantee::Named("ann".into()), Grantee::Public]);
        assert!(grant.option && !grant.revokes && !grant.cascade);
        let revoke = granted(
            "revoke grant option for all privileges on all sequences in schema public from current_user cascade",
        );
        assert_eq!((revoke.privileges.len(), revoke.on), (0, On::AllSequences(vec!["public".into()])));
        assert_eq!(revoke.grantees, [Grantee::Current]);
        assert!(revoke.option && revoke.revokes && revoke.cascade);
        assert_eq!(
            granted("GRANT SELECT ON type, sequence TO a").on,
            On::Tables(vec![vec!["type".into()], vec!["sequence".into()]])
        );
        let revoke = granted("REVOKE USAGE ON SCHEMA public FROM GROUP ann GRANTED BY bob RESTRICT");
        assert_eq!(revoke.granted_by, Some(Grantee::Named("bob".into())));
    }

    #[test]
    fn what_makes_no_sense_is_pointed_at() {
        for (sql, at) in [
            ("GRANT", "end"),
            ("GRANT SELECT ON t", "end"),
            ("GRANT SELECT ON t FROM a", "FROM"),
            ("REVOKE SELECT ON t TO a", "TO"),
            ("GRANT SELECT ON t TO a CASCADE", "CASCADE"),
            ("REVOKE SELECT ON t FROM a WITH GRANT OPTION", "WITH"),
            ("GRANT SELECT (a ON t TO a", "ON"),
        ] {
            assert_eq!(parsed(sql), Some(Err(at.to_owned())), "{sql}");
        }
    }

    #[test]
    fn other_commands_are_left_alone() {
        assert_eq!(parsed("ALTER TABLE t ADD COLUMN a int"), None);
        assert_eq!(parsed("SELECT 1"), None);
        for sql in [
            "GRANT a TO b",
            "GRANT EXECUTE ON FUNCTION f(int) TO a",
            "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO a",
        ] {
            assert!(matches!(parsed(sql), Some(Ok(GrantCommand::Refused(_)))), "{sql}");
        }
    }
}
