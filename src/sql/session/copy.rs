//! placeholder
use super::{Position, Session};
use crate::sql::error::{SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, Outcome};
use crate::sql::statement::CopyCommand;
pub(super) struct CopyInProgress {}
impl Session {
    pub(super) async fn start_copy(&mut self, _copy: &CopyCommand) -> SqlResult<Outcome> {
        Err(SqlError::not_supported("COPY"))
    }
    pub(super) async fn copy_in(&mut self, _data: &[u8]) -> SqlResult<()> {
        Err(SqlError::not_supported("COPY"))
    }
    pub(super) async fn copy_finish(&mut self, _position: Position) -> SqlResult<CommandTag> {
        Err(SqlError::not_supported("COPY"))
    }
}
