//! Portals of a connection.

use std::sync::Arc;

use tablegate_sql::outcome::RowsTag;
use tablegate_sql::session::NamedStatement;
use tablegate_types::ScalarValue;

use super::params::Format;
use super::rows::Cursor;

/// A prepared statement with values for its parameters.
pub(super) struct Portal {
    pub statement: Arc<NamedStatement>,
    pub parameters: Vec<ScalarValue>,
    /// One for each column of the result.
    pub formats: Vec<Format>,
    pub state: PortalState,
}

pub(super) enum PortalState {
    Ready,
    /// It is the session's cursor of its name.
    Cursor,
    /// It has rows left after the limit of an Execute.
    Suspended(Box<Cursor>),
    /// It has run; the tag is that of a statement with rows.
    Finished(Option<RowsTag>),
}
