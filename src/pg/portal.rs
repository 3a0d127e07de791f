//! Prepared statements and portals of a connection.

use std::sync::Arc;

use super::params::Format;
use super::rows::Cursor;
use crate::sql::ScalarValue;
use crate::sql::outcome::RowsTag;
use crate::sql::session::Prepared;

/// A prepared statement.
pub(super) struct PreparedStatement {
    /// `None` for an empty query text.
    pub prepared: Option<Prepared>,
    /// Types of the parameters as the client is told them: what it declared, else what was found out.
    pub parameter_oids: Vec<u32>,
}

/// A prepared statement with values for its parameters.
pub(super) struct Portal {
    pub statement: Arc<PreparedStatement>,
    pub parameters: Vec<ScalarValue>,
    /// One for each column of the result.
    pub formats: Vec<Format>,
    pub state: PortalState,
}

pub(super) enum PortalState {
    Ready,
    /// It has rows left after the limit of an Execute.
    Suspended(Box<Cursor>),
    /// It has run; the tag is that of a statement with rows.
    Finished(Option<RowsTag>),
}
