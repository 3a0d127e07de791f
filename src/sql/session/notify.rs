//! LISTEN, UNLISTEN and NOTIFY.

use std::sync::Arc;

use tablegate_types::error::SqlResult;

use super::Session;
use crate::notify::Mailbox;
use crate::outcome::{CommandTag, Outcome};
use crate::syntax::NotifyCommand;

impl Session {
    pub(super) fn run_notify(&mut self, command: &NotifyCommand) -> SqlResult<Outcome> {
        let tag = match command {
            NotifyCommand::Listen(channel) => {
                self.handles.listener.listen(channel)?;
                "LISTEN"
            }
            NotifyCommand::Unlisten(channel) => {
                self.handles.listener.unlisten(channel.as_deref())?;
                "UNLISTEN"
            }
            NotifyCommand::Notify { channel, payload } => {
                self.handles.listener.notify_identifier(channel, payload)?;
                "NOTIFY"
            }
        };
        Ok(Outcome::Done(CommandTag::Plain(tag)))
    }

    /// Where notifications for the session wait. They go to the client between its transactions.
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        self.handles.listener.mailbox()
    }
}
