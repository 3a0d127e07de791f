//! Statements that come again: parsed and planned once.
//!
//! In the extended protocol most clients send the text of a statement each time they run it, and its values beside it. It is
//! planned when it comes first.
//!
//! In the simple protocol the values are constants in the text. One that comes for the second time, but for its constants, is
//! prepared with parameters in their places. From then on it is only bound and run, as long as the catalogue stays as it is. What
//! is not a read or a change by key or a short query, and what meets an error on the way, goes the ordinary way with its own text:
//! so errors are those of that text.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use futures::future::BoxFuture;
use tablegate_types::error::SqlResult;
use tablegate_types::input::parse_text_as;
use tablegate_types::sql_type::SqlType;

use super::prepare::{Known, Plan, Prepared};
use super::{Session, TransactionStatus};
use crate::observe::SeenStatement;
use crate::settings::{EgtMode, PlanCache};
use crate::syntax::{Constant, Lifted, lifted, parse};

/// Most texts that a session remembers.
const TEXTS_MAX: usize = 64;
/// Most bytes that these have together: what is planned takes a multiple.
const TEXTS_BYTES: usize = 64 << 10;
/// A text that is longer is planned each time.
const TEXT_BYTES: usize = 16 << 10;

/// A planned statement and the values of its parameters.
pub struct Repeated {
    pub prepared: Arc<Prepared>,
    pub parameters: Vec<ScalarValue>,
}

/// A text with the types of its parameters, which is to be planned.
pub struct NewText {
    key: String,
    /// Of the catalogue that it is planned with; `None` for one that is not remembered.
    version: Option<u64>,
}

/// The texts of a session, by what is left of them without constants, and the types of these.
pub(super) struct RepeatedTexts {
    known: HashMap<String, Text>,
    bytes: usize,
    uses: u64,
    most: Bounds,
}

/// What a session remembers.
struct Bounds {
    texts: usize,
    bytes: usize,
}

struct Text {
    last_use: u64,
    is: Is,
}

enum Is {
    /// It came once.
    New,
    Planned {
        prepared: Arc<Prepared>,
        /// Of the catalogue that it was planned with.
        version: u64,
    },
    /// It goes the ordinary way, as long as the catalogue stays as it is.
    Other { version: u64 },
}

/// What is known of a text.
pub(super) enum Found {
    Planned(Arc<Prepared>),
    /// It goes the ordinary way.
    Other,
    /// It came before, and is to be planned.
    Again,
    New,
}

impl Default for RepeatedTexts {
    fn default() -> Self {
        Self::within(Bounds { texts: TEXTS_MAX, bytes: TEXTS_BYTES })
    }
}

impl RepeatedTexts {
    /// None yet, and never more than that.
    fn within(most: Bounds) -> Self {
        Self { known: HashMap::new(), bytes: 0, uses: 0, most }
    }

    /// What is known of a text, which is used now; `None` for a new one, which is remembered.
    fn get(&mut self, key: &str) -> Option<&Is> {
        self.uses += 1;
        if let Some(text) = self.known.get_mut(key) {
            text.last_use = self.uses;
        } else {
            self.make_room(key.len());
            self.bytes += key.len();
            self.known.insert(key.to_owned(), Text { last_use: self.uses, is: Is::New });
            return None;
        }
        self.known.get(key).map(|text| &text.is)
    }

    /// What is known of a text in this version of the catalogue.
    pub(super) fn find(&mut self, key: &str, version: u64) -> Found {
        match self.get(key) {
            None => Found::New,
            Some(Is::Planned { prepared, version: of }) if *of == version => Found::Planned(Arc::clone(prepared)),
            Some(Is::Other { version: of }) if *of == version => Found::Other,
            Some(Is::New | Is::Planned { .. } | Is::Other { .. }) => Found::Again,
        }
    }

    /// Remembers what a text was planned as, and gives it back; `None` for one that goes the ordinary way.
    pub(super) fn keep(&mut self, key: &str, version: u64, prepared: Option<Arc<Prepared>>) -> Option<Arc<Prepared>> {
        let is = match &prepared {
            Some(prepared) => Is::Planned { prepared: Arc::clone(prepared), version },
            None => Is::Other { version },
        };
        self.put(key, is);
        prepared
    }

    fn put(&mut self, key: &str, is: Is) {
        if let Some(text) = self.known.get_mut(key) {
            text.is = is;
        }
    }

    /// Forgets those that were used longest ago.
    fn make_room(&mut self, bytes: usize) {
        let Bounds { texts: most_texts, bytes: most_bytes } = self.most;
        while !self.known.is_empty() && (self.known.len() >= most_texts || self.bytes + bytes > most_bytes) {
            let oldest = self.known.iter().min_by_key(|(_, text)| text.last_use).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.bytes -= oldest.len();
            self.known.remove(&oldest);
        }
    }
}

impl Session {
    /// The statement of a text, planned with another one that differs in its constants; `None` where it goes the ordinary
    /// way. Dropping the future loses nothing.
    pub fn repeated<'a>(&'a mut self, text: &'a str) -> BoxFuture<'a, Option<Repeated>> {
        Box::pin(async move {
            if !self.may_repeat() {
                return None;
            }
            if let Some((rows, held)) = self.rows_in(text) {
                let prepared = self.with_rows(&rows, text, held).await?;
                return Some(Repeated { prepared: Arc::new(prepared), parameters: Vec::new() });
            }
            let version = self.catalog_version();
            let mut lifted = lifted(text)?;
            let length = lifted.text.len();
            for constant in &lifted.constants {
                // Writing to memory does not fail.
                let _ = write!(lifted.text, " {}", constant.kind());
            }
            let key = std::mem::take(&mut lifted.text);
            let prepared = match self.repeated.find(&key, version) {
                Found::Planned(prepared) => prepared,
                Found::Other => return None,
                Found::New if self.settings.plan_cache() != PlanCache::Generic => return None,
                Found::New | Found::Again => {
                    let prepared = Box::pin(self.prepare_lifted(&key[..length], &lifted, text)).await;
                    self.repeated.keep(&key, version, prepared)?
                }
            };
            if !prepared.is_of_style(self.settings.style()) {
                return None;
            }
            // Observe mode records changes by their own texts.
            if self.settings.egt_mode() == EgtMode::Observe && !prepared.is_query() {
                self.repeats = Some((prepared.clone(), Arc::new(SeenStatement::new(text))));
            }
            let parameters = self.values_of_constants(&lifted.constants, &prepared.parameters).ok()?;
            Some(Repeated { prepared, parameters })
        })
    }

    pub(super) fn may_repeat(&self) -> bool {
        self.transaction_status() != TransactionStatus::Failed
            && self.settings.direct_reads()
            && self.settings.plan_cache() != PlanCache::Custom
    }

    /// The statement of a text that came before, with parameters that were declared alike, as it was planned then.
    ///
    /// # Errors
    /// What [`Session::remember`] wants to know, for a text that has to be planned.
    pub fn planned_before(&mut self, text: &str, declared: &[SqlType]) -> Result<Arc<Prepared>, NewText> {
        if text.len() > TEXT_BYTES {
            return Err(NewText { key: String::new(), version: None });
        }
        let mut key = String::with_capacity(text.len() + 1);
        // No text has it: no other key begins so, and no text ends in what is the name of a type here.
        key.push('\0');
        key.push_str(text);
        for sql_type in declared {
            // Writing to memory does not fail.
            let _ = write!(key, "\0{sql_type}");
        }
        let version = self.catalog_version();
        let is_failed = self.transaction_status() == TransactionStatus::Failed;
        if let Some(Is::Planned { prepared, version: of }) = self.repeated.get(&key)
            && version == *of
            && !is_failed
            && prepared.is_of_style(self.settings.style())
        {
            return Ok(Arc::clone(prepared));
        }
        Err(NewText { key, version: Some(version) })
    }

    /// Remembers what a text was planned as.
    pub fn remember(&mut self, text: &NewText, prepared: &Arc<Prepared>) {
        if let Some(version) = text.version.filter(|_| prepared.plan.lasts()) {
            self.repeated.put(&text.key, Is::Planned { prepared: Arc::clone(prepared), version });
        }
    }

    /// The version of the catalogue that a statement sees.
    pub(super) fn catalog_version(&self) -> u64 {
        let (staged, own) = (self.transaction.catalog(), &self.own);
        match self.transaction.snapshot() {
            Some(snapshot) => snapshot.moment.version_with(staged, own),
            None => self.engine.catalog().version_with(staged, own),
        }
    }

    /// The statement with parameters for its constants; `None` when they do not mean the same there.
    async fn prepare_lifted(&self, text: &str, lifted: &Lifted<'_>, original: &str) -> Option<Arc<Prepared>> {
        let declared: Vec<SqlType> = lifted.constants.iter().map(Constant::sql_type).collect();
        let prepared = self.prepare_single(text, &declared).await?;
        let has_same_types = prepared.parameters.len() == declared.len()
            && prepared
                .parameters
                .iter()
                .zip(&lifted.constants)
                .all(|(parameter, constant)| constant.is_same_as(parameter, prepared.is_insert()));
        if !has_same_types || !prepared.plan.lasts() || !self.can_be_repeated(&prepared).ok()? {
            return None;
        }
        prepared.count_as(original);
        Some(Arc::new(prepared))
    }

    /// A text of one statement, if nothing is wrong with it.
    pub(super) async fn prepare_single(&self, text: &str, declared: &[SqlType]) -> Option<Prepared> {
        let mut statements = parse(text).ok()?.into_iter();
        let statement = statements.next().filter(|_| statements.next().is_none())?;
        let known = Known { settings: &self.settings, cursors: &self.cursors, statements: &self.statements };
        Prepared::prepare(&self.planner(), statement, declared, &known).await.ok()
    }

    fn can_be_repeated(&self, prepared: &Prepared) -> SqlResult<bool> {
        match &prepared.plan {
            Plan::Query(query) => query.may_be_short(&self.engine),
            Plan::Dml(dml) => dml.can_be_repeated(&self.engine),
            Plan::Locking(query) => query.input().may_read_directly(&self.engine),
            _ => Ok(false),
        }
    }

    fn values_of_constants(&self, constants: &[Constant<'_>], types: &[SqlType]) -> SqlResult<Vec<ScalarValue>> {
        let reading = self.reading();
        let value = |(constant, sql_type): (&Constant<'_>, &SqlType)| match constant {
            Constant::Int4(value) => Ok(ScalarValue::Int32(Some(*value))),
            Constant::Int8(value) => Ok(ScalarValue::Int64(Some(*value))),
            Constant::Decimal(text) => parse_text_as(sql_type, text, reading),
            Constant::Text(text) | Constant::Assigned(text) => parse_text_as(sql_type, text, reading),
        };
        constants.iter().zip(types).map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(texts: &RepeatedTexts) -> Vec<&str> {
        let mut known: Vec<&str> = texts.known.keys().map(String::as_str).collect();
        known.sort_unstable();
        known
    }

    #[test]
    fn the_text_used_longest_ago_makes_room() {
        let mut texts = RepeatedTexts::within(Bounds { texts: 3, bytes: 1000 });
        for text in ["a", "b", "c"] {
            assert!(texts.get(text).is_none(), "it is new");
        }
        assert!(matches!(texts.get("a"), Some(Is::New)), "three are remembered");
        texts.put("a", Is::Other { version: 7 });
        assert!(texts.get("d").is_none());
        assert_eq!(known(&texts), ["a", "c", "d"]);
        assert!(matches!(texts.get("a"), Some(Is::Other { version: 7 })));
        assert!(texts.get("c").is_some() && texts.get("e").is_none());
        assert_eq!(known(&texts), ["a", "c", "e"]);
        // What was forgotten is not taken for known.
        texts.put("b", Is::Other { version: 7 });
        assert!(texts.get("b").is_none());
    }

    #[test]
    fn all_texts_together_have_so_many_bytes() {
        let mut texts = RepeatedTexts::within(Bounds { texts: 100, bytes: 10 });
        for text in ["aaaa", "bbb", "ccc"] {
            texts.get(text);
        }
        assert_eq!((known(&texts), texts.bytes), (vec!["aaaa", "bbb", "ccc"], 10));
        texts.get("aaaa");
        texts.get("d");
        assert_eq!((known(&texts), texts.bytes), (vec!["aaaa", "ccc", "d"], 8));
        texts.get("eeeeeeee");
        assert_eq!((known(&texts), texts.bytes), (vec!["d", "eeeeeeee"], 9));
        // One that is too long for all of it stands alone, until another one comes.
        texts.get("ffffffffffffffff");
        assert_eq!((known(&texts), texts.bytes), (vec!["ffffffffffffffff"], 16));
        texts.get("g");
        assert_eq!((known(&texts), texts.bytes), (vec!["g"], 1));
    }

    #[test]
    fn a_session_remembers_64_texts_of_64_kib() {
        let RepeatedTexts { most, .. } = RepeatedTexts::default();
        assert_eq!((most.texts, most.bytes), (64, 65_536));
    }
}
