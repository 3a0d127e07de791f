//! `SELECT set_config('name', 'value', is_local)`: SET as a query, which pg_dump writes at the head of its scripts.
//!
//! One that stands alone in its query and has constants is read here: it may set the modes of the open transaction too,
//! which the function of other queries cannot.

use tablegate_types::error::SqlResult;

use super::Session;
use super::show::{text_column, text_rows};
use crate::outcome::{Outcome, ResultColumn, RowsTag};
use crate::syntax::SetConfig;

/// The one column of its result.
pub(super) fn column() -> ResultColumn {
    text_column("set_config")
}

impl Session {
    pub(super) fn run_set_config(&mut self, call: &SetConfig) -> SqlResult<Outcome> {
        self.set_setting(&call.name, Some(&call.value), call.local)?;
        let value = self.settings.show(&call.name)?.1;
        text_rows([column()].into(), vec![vec![value]], RowsTag::Select)
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Command, parse};

    #[test]
    fn a_call_alone_is_read() {
        let read = |sql: &str| match parse(sql).unwrap().remove(0).command {
            Command::SetConfig(call) => Some((call.name, call.value, call.local)),
            _ => None,
        };
        let call = read("SELECT pg_catalog.set_config('search_path', '', false)");
        assert_eq!(call, Some(("search_path".to_owned(), String::new(), false)));
        assert_eq!(read("SELECT set_config('a', 'b', true) FROM t"), None);
        assert_eq!(read("SELECT set_config('a', x, true)"), None);
    }
}
