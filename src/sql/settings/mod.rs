//! Session settings: PostgreSQL's names, defaults and checks, and this product's own (`egt.*`).
//!
//! A setting that changes nothing here but that clients set as a matter of course is accepted within PostgreSQL's range
//! of values and shown back. A name that PostgreSQL does not know is 42704, unless it has a dot: such are the client's own.

mod checks;
mod definitions;
mod egt;
mod often;
mod unit;
mod value;
mod values;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tablegate_types::error::{ErrorKind, Severity, SqlError, SqlResult};
use tablegate_types::style::{DateStyle, Style};

use self::definitions::{Context, Kind, place};
pub(crate) use self::definitions::{DEFINITIONS, Definition, List};
pub(crate) use self::egt::Autocommit;
pub use self::egt::EgtMode;
use self::often::Often;
pub(crate) use self::often::PlanCache;
use self::value::Value;
pub(crate) use self::value::parse_bool;
pub(crate) use self::values::Source;
use self::values::{Values, custom_name, unrecognized};
use super::login::Role;
use crate::syntax::{Isolation, TransactionModes};

/// PostgreSQL's version, which clients parse: features and catalogue are those of this release.
#[cfg(test)]
const SERVER_VERSION: &str = "15.8";

const READ_ONLY: &str = "default_transaction_read_only";

/// The settings of one session, shared with the functions of its statements.
#[derive(Debug, Clone)]
pub(crate) struct Settings(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    current: Arc<Values>,
    /// What is left of them when the transaction commits: without what SET LOCAL did.
    session: Arc<Values>,
    /// What is left of them when it rolls back.
    before: Arc<Values>,
    /// The current ones and the session's at each savepoint.
    savepoints: Vec<(Arc<Values>, Arc<Values>)>,
    /// What RESET goes back to: the defaults, then what start-up set.
    reset: Arc<Values>,
    /// What the client was told last.
    told: Option<Arc<Values>>,
    modes: TransactionModes,
    /// The user may not write, whatever the session asks for.
    reads_only: bool,
    /// Of the current values.
    often: Often,
}

/// A setting as `pg_settings` shows it.
pub(crate) struct Shown {
    pub definition: &'static Definition,
    pub setting: String,
    pub source: Source,
    pub reset: String,
}

impl Settings {
    /// The defaults, with `user` as the session's authorization.
    pub(crate) fn new(user: &str) -> Self {
        let mut values = Values::of_defaults();
        if let Some(place) = place("session_authorization") {
            values.put(place, Value::Text(user.to_owned()), Source::Default);
        }
        let values = Arc::new(values);
        Self(Arc::new(Mutex::new(State {
            often: Often::of(&values),
            current: values.clone(),
            session: values.clone(),
            before: values.clone(),
            reset: values,
            savepoints: Vec::new(),
            told: None,
            modes: TransactionModes { isolation: Isolation::ReadCommitted, read_only: false, deferrable: false },
            reads_only: false,
        })))
    }

    /// Shows whether the user decides about others. For one who may not write, transactions are read-only, and no setting
    /// makes them otherwise.
    pub(crate) fn follow_role(&self, role: Role) {
        let mut state = self.lock();
        state.put_for_good("is_superuser", Value::Bool(role == Role::Admin), Source::Default);
        let reads_only = role == Role::ReadOnly;
        if state.reads_only != reads_only {
            state.reads_only = reads_only;
            state.put_for_good(READ_ONLY, Value::Bool(reads_only), Source::Default);
        }
    }

    /// The server's own bound of slow statements, which users without the right to cannot change.
    pub(crate) fn log_slower_than(&self, patience: Duration) {
        let millis = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX).min(i32::MAX.into());
        self.lock().put_for_good("log_min_duration_statement", Value::Integer(millis), Source::Server);
    }

    /// The server's own bound of clients, which nobody changes here.
    pub(crate) fn show_connections(&self, most: usize) {
        let most = i64::try_from(most).unwrap_or(i64::MAX).min(i32::MAX.into());
        self.lock().put_for_good("max_connections", Value::Integer(most), Source::Server);
    }

    /// Sets from the server's configuration, then the start-up packet: these become what RESET goes back to.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn set_at_startup(&self, name: &str, value: &str, source: Source) -> SqlResult<()> {
        let mut state = self.lock();
        state.assign(name, Some(value), source, false)?;
        let values = state.current.clone();
        (state.reset, state.before) = (values.clone(), values);
        Ok(())
    }

    /// SET, until the session ends; undone when the open block rolls back. `None` for DEFAULT.
    ///
    /// # Errors
    /// 42704 for an unknown name, 22023 for a value outside the setting's domain, 42501 for one the user may not set.
    pub(crate) fn set(&self, name: &str, value: Option<&str>) -> SqlResult<()> {
        self.lock().assign(name, value, Source::Session, false)
    }

    /// SET LOCAL, until the block ends.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn set_local(&self, name: &str, value: Option<&str>) -> SqlResult<()> {
        self.lock().assign(name, value, Source::Session, true)
    }

    /// RESET ALL.
    pub(crate) fn reset_all(&self) {
        let mut state = self.lock();
        let mut values = Values::clone(&state.reset);
        for (place, definition) in DEFINITIONS.iter().enumerate() {
            if !matches!(definition.context, Context::User | Context::Superuser) {
                values.put_back(place, &state.current);
            }
        }
        values.keep_customs_of(&state.current);
        let values = Arc::new(values);
        (state.session, state.current) = (values.clone(), values);
        state.refresh();
    }

    /// A transaction ended: what was local to it, and on ROLLBACK what it set, goes back.
    pub(crate) fn end_transaction(&self, committed: bool) {
        let mut state = self.lock();
        let left = if committed { state.session.clone() } else { state.before.clone() };
        state.savepoints.clear();
        state.session = left.clone();
        state.go_to(left);
        state.session = state.current.clone();
        state.before = state.current.clone();
    }

    /// An error in a block: what was set since the last savepoint goes back at once.
    pub(crate) fn fail(&self) {
        let mut state = self.lock();
        let (current, session) = match state.savepoints.last() {
            Some(saved) => saved.clone(),
            None => (state.before.clone(), state.before.clone()),
        };
        state.session = session;
        state.go_to(current);
    }

    pub(crate) fn savepoint(&self) {
        let mut state = self.lock();
        let saved = (state.current.clone(), state.session.clone());
        state.savepoints.push(saved);
    }

    /// So many savepoints are left; what was set since stays.
    pub(crate) fn release_to(&self, depth: usize) {
        self.lock().savepoints.truncate(depth);
    }

    /// So many savepoints are left, and what was set since the last of them goes back.
    pub(crate) fn rollback_to(&self, depth: usize) {
        let mut state = self.lock();
        state.savepoints.truncate(depth);
        if let Some((current, session)) = state.savepoints.last().cloned() {
            state.session = session;
            state.go_to(current);
        }
    }

    /// The setting's name as PostgreSQL spells it, and its value.
    ///
    /// # Errors
    /// 42704 for an unknown name.
    pub(crate) fn show(&self, name: &str) -> SqlResult<(String, String)> {
        let state = self.lock();
        // The parts of a dotted name come as words.
        let name = canonical(name).replace(' ', ".");
        if let Some(place) = place(&name) {
            let definition = &DEFINITIONS[place];
            return Ok((definition.name.to_owned(), state.shown(place)));
        }
        let custom = name.to_ascii_lowercase();
        match state.current.custom(&custom) {
            Some(value) => Ok((custom, value.to_owned())),
            None => Err(unrecognized(&name)),
        }
    }

    /// What SHOW ALL shows: names, values, descriptions.
    pub(crate) fn all(&self) -> Vec<(String, String, &'static str)> {
        let state = self.lock();
        let places = DEFINITIONS.iter().enumerate().filter(|(_, definition)| !definition.is_hidden);
        let known = places.map(|(place, d)| (d.name.to_owned(), state.shown(place), d.description));
        let customs = state.current.customs().map(|(name, value)| (name.to_owned(), value.to_owned(), ""));
        let mut all: Vec<_> = known.chain(customs).collect();
        all.sort_by_cached_key(|(name, ..)| name.to_lowercase());
        all
    }

    /// The rows of `pg_settings` for the settings that are declared.
    pub(crate) fn rows(&self) -> Vec<Shown> {
        let state = self.lock();
        let places = DEFINITIONS.iter().enumerate().filter(|(_, definition)| !definition.is_hidden);
        let row = |(place, definition): (usize, &'static Definition)| Shown {
            definition,
            setting: state.bare(place),
            source: state.current.source(place),
            reset: state.reset.get(place).bare(),
        };
        places.map(row).collect()
    }

    /// What ParameterStatus has to say since the last call.
    pub(crate) fn take_changes(&self) -> Vec<(&'static str, String)> {
        let mut state = self.lock();
        let current = state.current.clone();
        let told = state.told.replace(current);
        if told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &state.current)) {
            return Vec::new();
        }
        let is_news = |place: usize| told.as_ref().is_none_or(|told| told.get(place) != state.current.get(place));
        let reported = DEFINITIONS.iter().enumerate().filter(|(place, d)| d.is_reported && is_news(*place));
        reported.map(|(place, definition)| (definition.name, state.shown(place))).collect()
    }

    /// How values are written and read.
    pub(crate) fn style(&self) -> Style {
        self.often().style
    }

    pub(crate) fn application_name(&self) -> String {
        self.text("application_name")
    }

    pub(crate) fn egt_mode(&self) -> EgtMode {
        self.often().egt_mode
    }

    pub(crate) fn autocommit(&self) -> Autocommit {
        self.often().autocommit
    }

    /// Whether reads by key go without the optimizer.
    pub(crate) fn direct_reads(&self) -> bool {
        self.often().direct_reads
    }

    pub(crate) fn plan_cache(&self) -> PlanCache {
        self.often().plan_cache
    }

    /// Whether stores are told what filters say about stored values.
    pub(crate) fn filter_pushdown(&self) -> bool {
        self.lock().value("tablegate.filter_pushdown") == Value::Bool(true)
    }

    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        self.often().statement_timeout
    }

    /// How long the client may be silent outside a block.
    pub(crate) fn idle_session_timeout(&self) -> Option<Duration> {
        self.often().idle_session_timeout
    }

    /// How long the client may be silent inside a block.
    pub(crate) fn idle_in_transaction_timeout(&self) -> Option<Duration> {
        self.often().idle_in_transaction_timeout
    }

    /// How long a statement waits for each lock.
    pub(crate) fn lock_timeout(&self) -> Option<Duration> {
        self.often().lock_timeout
    }

    /// How long a statement may take before the log is told of it; `None` for any time.
    pub(crate) fn slow_statement(&self) -> Option<Duration> {
        self.often().slow_statement
    }

    /// Whether `search_path` names the schema of temporary tables, and behind `public`. Unnamed it is the first.
    pub(crate) fn looks_for_temporary_last(&self) -> bool {
        self.often().looks_for_temporary_last
    }

    /// The least severity that reaches the client.
    pub(crate) fn min_severity(&self) -> Option<Severity> {
        self.often().min_severity
    }

    /// The modes of a transaction that names none.
    pub(crate) fn default_modes(&self) -> TransactionModes {
        self.often().default_modes
    }

    /// Shows the modes of the open transaction.
    pub(crate) fn show_modes(&self, modes: TransactionModes) {
        self.lock().modes = modes;
    }

    fn often(&self) -> Often {
        self.lock().often
    }

    fn text(&self, name: &str) -> String {
        self.lock().value(name).as_text().to_owned()
    }

    /// Values are never left half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn value(&self, name: &str) -> Value {
        place(name).map_or(Value::Text(String::new()), |place| self.current.get(place).clone())
    }

    /// As SHOW has it.
    fn shown(&self, place: usize) -> String {
        let definition = &DEFINITIONS[place];
        self.mode(definition).unwrap_or_else(|| self.current.get(place).shown(&definition.kind))
    }

    /// As `pg_settings` has it.
    fn bare(&self, place: usize) -> String {
        self.mode(&DEFINITIONS[place]).unwrap_or_else(|| self.current.get(place).bare())
    }

    /// The modes of the open transaction are settings too.
    fn mode(&self, definition: &Definition) -> Option<String> {
        let modes = self.modes.settings();
        modes.into_iter().find(|(name, _)| *name == definition.name).map(|(_, value)| value.to_owned())
    }

    /// Sets a value, or with `None` what RESET goes back to; `is_local` until the block ends.
    fn assign(&mut self, name: &str, text: Option<&str>, source: Source, is_local: bool) -> SqlResult<()> {
        let name = canonical(name);
        let Some(place) = place(&name) else { return self.assign_custom(&name, text, is_local) };
        let definition = &DEFINITIONS[place];
        self.check_allowed(definition)?;
        let (value, source) = match text {
            Some(text) => (checks::checked(definition, text, self.often.style, self.reset_dates())?, source),
            None => (self.reset.get(place).clone(), self.reset.source(place)),
        };
        if self.reads_only && definition.name == READ_ONLY && value == Value::Bool(false) {
            return Err(may_only_read(READ_ONLY));
        }
        self.change(is_local, |values| {
            values.put(place, value.clone(), source);
            Ok(())
        })
    }

    fn assign_custom(&mut self, name: &str, text: Option<&str>, is_local: bool) -> SqlResult<()> {
        let name = custom_name(name)?;
        let value = match text {
            Some(text) => text.to_owned(),
            None => self.reset.custom(&name).unwrap_or_default().to_owned(),
        };
        self.change(is_local, |values| values.put_custom(&name, value.clone()))
    }

    fn change(&mut self, is_local: bool, put: impl Fn(&mut Values) -> SqlResult<()>) -> SqlResult<()> {
        if is_local {
            put(Arc::make_mut(&mut self.current))?;
        } else {
            let are_same = Arc::ptr_eq(&self.session, &self.current);
            put(Arc::make_mut(&mut self.session))?;
            if are_same {
                self.current = self.session.clone();
            } else {
                put(Arc::make_mut(&mut self.current))?;
            }
        }
        self.refresh();
        Ok(())
    }

    fn check_allowed(&self, definition: &Definition) -> SqlResult<()> {
        let name = definition.name;
        match definition.context {
            Context::User => Ok(()),
            Context::Superuser if self.value("is_superuser") == Value::Bool(true) => Ok(()),
            Context::Superuser => {
                let message = format!("permission denied to set parameter \"{name}\"");
                Err(SqlError::new(ErrorKind::InsufficientPrivilege, message))
            }
            Context::Internal => {
                Err(SqlError::new(ErrorKind::CannotChangeNow, format!("parameter \"{name}\" cannot be changed")))
            }
            Context::Postmaster => {
                let message = format!("parameter \"{name}\" cannot be changed without restarting the server");
                Err(SqlError::new(ErrorKind::CannotChangeNow, message))
            }
        }
    }

    fn put_for_good(&mut self, name: &str, value: Value, source: Source) {
        let Some(place) = place(name) else { return };
        for values in [&mut self.current, &mut self.session, &mut self.before, &mut self.reset] {
            Arc::make_mut(values).put(place, value.clone(), source);
        }
        self.refresh();
    }

    /// Goes back to other values.
    fn go_to(&mut self, mut values: Arc<Values>) {
        if Arc::ptr_eq(&values, &self.current) {
            return;
        }
        let has_more = self.current.customs().any(|(name, _)| values.custom(name).is_none());
        if has_more {
            Arc::make_mut(&mut values).keep_customs_of(&self.current);
        }
        self.current = values;
        self.refresh();
    }

    /// What is asked for often follows the values.
    fn refresh(&mut self) {
        self.often = Often::of(&self.current);
    }

    /// The DateStyle that DEFAULT means.
    fn reset_dates(&self) -> DateStyle {
        let text = place("DateStyle").map_or("", |place| self.reset.get(place).as_text());
        DateStyle::parse(text, Style::PLAIN.dates, Style::PLAIN.dates).unwrap_or(Style::PLAIN.dates)
    }
}

/// Whether SET takes several values of a setting.
pub(crate) fn list_of(name: &str) -> List {
    place(&canonical(name)).map_or(List::No, |place| DEFINITIONS[place].list)
}

impl Definition {
    /// The bounds of a number, and the choices of an enumeration.
    pub(crate) fn bounds(&self) -> (Option<(String, String)>, &[&'static str]) {
        match &self.kind {
            Kind::Integer { least, most, .. } => (Some((least.to_string(), most.to_string())), &[]),
            Kind::Real { least, most, .. } => (Some((Value::Real(*least).bare(), Value::Real(*most).bare())), &[]),
            Kind::Enum(choices) => (None, choices),
            Kind::Bool | Kind::Text => (None, &[]),
        }
    }

    /// The default as `pg_settings` has it.
    pub(crate) fn shown_default(&self) -> String {
        self.default.bare()
    }
}

/// 42501: what would let a user write who may not.
pub(super) fn may_only_read(parameter: &str) -> Box<SqlError> {
    let message = format!("permission denied to set parameter \"{parameter}\"");
    SqlError::new(ErrorKind::InsufficientPrivilege, message)
        .with_detail("The user's role is read-only.")
        .with_hint("Connect as a user whose role is read-write.")
}

/// Words that SET and SHOW have for some settings.
fn canonical(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "time zone" => "timezone".to_owned(),
        "names" => "client_encoding".to_owned(),
        "transaction isolation level" => "transaction_isolation".to_owned(),
        "session authorization" => "session_authorization".to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
