//! Reads CREATE, ALTER and DROP ROLE, SET ROLE and the like, straight from the tokens: sqlparser knows only some of
//! PostgreSQL's forms, and would put passwords into its messages.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::grant::Grantee;
use crate::login::Secret;
use crate::syntax::dialect::words::{Read, Unexpected, Words};

/// A command about roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RoleCommand {
    Create {
        name: String,
        options: RoleOptions,
    },
    Alter {
        role: Grantee,
        options: RoleOptions,
    },
    Drop {
        names: Vec<String>,
        if_exists: bool,
    },
    /// SET ROLE; `None` for NONE.
    Set(Option<String>),
    /// SET SESSION AUTHORIZATION; `None` for DEFAULT.
    SetAuthorization(Option<String>),
    /// RESET of one of the two.
    Reset,
    /// What is not done here.
    Refused(&'static str),
}

/// The options of a role, as far as they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoleOptions {
    pub superuser: Option<bool>,
    /// LOGIN or NOLOGIN, or what CREATE USER or CREATE ROLE means without.
    pub login: Option<bool>,
    /// PASSWORD; `Some(None)` for NULL.
    pub password: Option<Option<Secret>>,
    /// The first one that means something else than it does not hold.
    pub refused: Option<&'static str>,
    /// Rights that only a superuser has here.
    pub of_superusers: Option<&'static str>,
}

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read_role<'t>(tokens: &[&'t TokenWithSpan]) -> Option<Result<RoleCommand, Unexpected<'t>>> {
    let mut reader = Reader(Words::new(tokens));
    let command = reader.command()?;
    Some(command.and_then(|command| match command {
        RoleCommand::Refused(_) => Ok(command),
        _ => reader.0.end().map(|()| command),
    }))
}

/// The text of such a command as other sessions may see it: without its strings, because one may be a password.
pub(crate) fn without_strings(tokens: &[&TokenWithSpan]) -> String {
    let shown = |token: &&TokenWithSpan| match &token.token {
        word @ (Token::Word(_) | Token::Number(..) | Token::Comma | Token::Minus | Token::Eq) => word.to_string(),
        _ => "'********'".to_owned(),
    };
    tokens.iter().map(shown).collect::<Vec<_>>().join(" ")
}

struct Reader<'a, 't>(Words<'a, 't>);

impl<'t> Reader<'_, 't> {
    fn command(&mut self) -> Option<Read<'t, RoleCommand>> {
        let first = self.0.take_word()?.value.to_ascii_uppercase();
        match first.as_str() {
            "CREATE" | "ALTER" | "DROP" => {
                let kind = ["ROLE", "USER", "GROUP"].into_iter().find(|kind| self.0.eat(kind))?;
                // CREATE USER MAPPING is about foreign servers.
                if kind == "USER" && self.0.eat("MAPPING") {
                    return Some(Ok(RoleCommand::Refused("USER MAPPING")));
                }
                Some(match first.as_str() {
                    "CREATE" => self.create(kind == "USER"),
                    "ALTER" => self.alter(kind),
                    _ => self.drop(),
                })
            }
            "SET" => self.set(),
            "RESET" => {
                let authorization = self.0.eat("SESSION") && self.0.eat("AUTHORIZATION");
                (authorization || self.0.eat("ROLE")).then_some(Ok(RoleCommand::Reset))
            }
            _ => None,
        }
    }

    fn create(&mut self, login: bool) -> Read<'t, RoleCommand> {
        let name = self.0.name()?;
        self.0.eat("WITH");
        let mut options = self.options()?;
        options.login.get_or_insert(login);
        Ok(RoleCommand::Create { name, options })
    }

    fn alter(&mut self, kind: &str) -> Read<'t, RoleCommand> {
        let role = match ["CURRENT_USER", "CURRENT_ROLE", "SESSION_USER"].iter().any(|word| self.0.eat(word)) {
            true => Grantee::Current,
            false => Grantee::Named(self.0.name()?),
        };
        if self.0.eat("RENAME") {
            return Ok(RoleCommand::Refused("ALTER ROLE ... RENAME"));
        }
        if self.0.eat("SET") || self.0.eat("RESET") || self.0.eat("IN") {
            return Ok(RoleCommand::Refused("ALTER ROLE ... SET"));
        }
        if kind == "GROUP" {
            return Ok(RoleCommand::Refused("membership of roles in roles"));
        }
        self.0.eat("WITH");
        Ok(RoleCommand::Alter { role, options: self.options()? })
    }

    fn drop(&mut self) -> Read<'t, RoleCommand> {
        let if_exists = self.0.eat("IF");
        if if_exists {
            self.0.expect("EXISTS")?;
        }
        let mut names = vec![self.0.name()?];
        while self.0.eat_token(&Token::Comma) {
            names.push(self.0.name()?);
        }
        Ok(RoleCommand::Drop { names, if_exists })
    }

    /// `SET [SESSION | LOCAL] ROLE` and `SET [SESSION | LOCAL] SESSION AUTHORIZATION`; any other SET is not of this kind.
    fn set(&mut self) -> Option<Read<'t, RoleCommand>> {
        let session = self.0.eat("SESSION");
        if session && self.0.eat("AUTHORIZATION") || self.eat_authorization(session) {
            let default = self.0.eat("DEFAULT");
            return Some(if default {
                Ok(RoleCommand::SetAuthorization(None))
            } else {
                self.name_or_text().map(|name| RoleCommand::SetAuthorization(Some(name)))
            });
        }
        if !self.0.eat("ROLE") {
            return None;
        }
        // As a setting it may be written with either.
        let _ = self.0.eat_token(&Token::Eq) || self.0.eat("TO");
        if self.0.eat("NONE") || self.0.eat("DEFAULT") {
            return Some(Ok(RoleCommand::Set(None)));
        }
        Some(self.name_or_text().map(|name| RoleCommand::Set((name != "none").then_some(name))))
    }

    fn eat_authorization(&mut self, session: bool) -> bool {
        let local = !session && self.0.eat("LOCAL");
        (session || local) && self.0.eat("SESSION") && self.0.eat("AUTHORIZATION")
    }

    fn name_or_text(&mut self) -> Read<'t, String> {
        match self.0.peek().map(|token| &token.token) {
            Some(Token::Word(_)) => self.0.name(),
            _ => self.0.text(),
        }
    }

    fn options(&mut self) -> Read<'t, RoleOptions> {
        let mut options = RoleOptions::default();
        while let Some(word) = self.0.take_word() {
            match word.value.to_ascii_uppercase().as_str() {
                "SUPERUSER" => options.superuser = Some(true),
                "NOSUPERUSER" => options.superuser = Some(false),
                "LOGIN" => options.login = Some(true),
                "NOLOGIN" => options.login = Some(false),
                "CREATEDB" => options.of_superusers = Some("CREATEDB"),
                "CREATEROLE" => options.of_superusers = Some("CREATEROLE"),
                "REPLICATION" => options.of_superusers = Some("REPLICATION"),
                "BYPASSRLS" => options.of_superusers = Some("BYPASSRLS"),
                "NOCREATEDB" | "NOCREATEROLE" | "NOREPLICATION" | "NOBYPASSRLS" => {}
                // No role is a member of another, so nothing is inherited or not.
                "INHERIT" | "NOINHERIT" => {}
                "ENCRYPTED" => {
                    self.0.expect("PASSWORD")?;
                    options.password = Some(Some(Secret::new(self.0.text()?)));
                }
                "PASSWORD" if self.0.eat("NULL") => options.password = Some(None),
                "PASSWORD" => options.password = Some(Some(Secret::new(self.0.text()?))),
                "CONNECTION" => {
                    self.0.expect("LIMIT")?;
                    if self.0.integer()? != Some(-1) {
                        options.refused = Some("CONNECTION LIMIT");
                    }
                }
                "VALID" => {
                    self.0.expect("UNTIL")?;
                    if !self.0.eat("NULL") && self.0.text()? != "infinity" {
                        options.refused = Some("VALID UNTIL");
                    }
                }
                "SYSID" => {
                    self.0.integer()?;
                }
                "IN" | "ROLE" | "ADMIN" | "USER" => {
                    options.refused = Some("membership of roles in roles");
                    if word.value.eq_ignore_ascii_case("in") && !self.0.eat("ROLE") {
                        self.0.expect("GROUP")?;
                    }
                    self.0.name()?;
                    while self.0.eat_token(&Token::Comma) {
                        self.0.name()?;
                    }
                }
                _ => return Err(self.unexpected()),
            }
        }
        Ok(options)
    }

    /// The word that was just taken.
    fn unexpected(&self) -> Unexpected<'t> {
        Unexpected(self.0.taken())
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::syntax::is_significant;

    fn with<T>(sql: &str, read: impl Fn(&[&TokenWithSpan]) -> T) -> T {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let significant: Vec<&TokenWithSpan> = tokens.iter().filter(|t| is_significant(t)).collect();
        read(&significant)
    }

    fn parsed(sql: &str) -> Option<Result<RoleCommand, String>> {
        with(sql, |tokens| {
            read_role(tokens).map(|r| r.map_err(|at| at.0.map_or("end".into(), |t| t.token.to_string())))
        })
    }

    fn options(sql: &str) -> RoleOptions {
        match parsed(sql) {
            Some(Ok(RoleCommand::Create { options, .. } | RoleCommand::Alter { options, .. })) => options,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn options_are_read_in_any_order() {
        let secret = Some(Some(Secret::new("x".to_owned())));
        assert_eq!(
            options("CREATE USER a PASSWORD 'x'"),
            RoleOptions { login: Some(true), password: secret.clone(), ..RoleOptions::default() }
        );
        let all = options(
            "create role a with nosuperuser encrypted password 'x' inherit nocreatedb connection limit -1 login valid until 'infinity'",
        );
        assert_eq!((all.superuser, all.login, all.password, all.refused), (Some(false), Some(true), secret, None));
        assert_eq!(options("ALTER ROLE CURRENT_USER PASSWORD NULL").password, Some(None));
        assert_eq!(options("CREATE ROLE a IN ROLE b, c LOGIN").refused, Some("membership of roles in roles"));
        assert_eq!(options("CREATE ROLE a CREATEDB").of_superusers, Some("CREATEDB"));
    }

    #[test]
    fn the_session_s_role_is_read_in_all_its_forms() {
        let name = || Some("a".to_owned());
        for (sql, command) in [
            ("SET ROLE a", RoleCommand::Set(name())),
            ("SET LOCAL ROLE 'a'", RoleCommand::Set(name())),
            ("SET SESSION ROLE NONE", RoleCommand::Set(None)),
            ("SET SESSION AUTHORIZATION 'a'", RoleCommand::SetAuthorization(name())),
            ("SET LOCAL SESSION AUTHORIZATION DEFAULT", RoleCommand::SetAuthorization(None)),
            ("SET SESSION SESSION AUTHORIZATION a", RoleCommand::SetAuthorization(name())),
            ("RESET ROLE", RoleCommand::Reset),
            ("RESET SESSION AUTHORIZATION", RoleCommand::Reset),
            ("DROP USER IF EXISTS a", RoleCommand::Drop { names: vec!["a".to_owned()], if_exists: true }),
        ] {
            assert_eq!(parsed(sql), Some(Ok(command)), "{sql}");
        }
        for sql in [
            "SET x = 1",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
            "RESET ALL",
            "DROP TABLE t",
            "SET LOCAL x TO 1",
        ] {
            assert_eq!(parsed(sql), None, "{sql}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_pointed_at() {
        for (sql, at) in [
            ("CREATE USER", "end"),
            ("CREATE USER a foo", "foo"),
            ("ALTER USER a PASSWORD", "end"),
            ("DROP ROLE a b", "b"),
        ] {
            assert_eq!(parsed(sql), Some(Err(at.to_owned())), "{sql}");
        }
    }

    #[test]
    fn a_password_is_in_no_text() {
        for sql in [
            "ALTER USER a PASSWORD 'secret'",
            "ALTER USER a PASSWORD E'secret' LOGIN",
            "CREATE USER a PASSWORD $$secret$$",
        ] {
            let shown = with(sql, without_strings);
            assert!(!shown.contains("secret") && shown.contains("PASSWORD '********'"), "{shown}");
            assert!(!format!("{:?}", parsed(sql)).contains("secret"));
        }
    }
}
