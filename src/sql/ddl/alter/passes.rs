//! The actions of one ALTER TABLE, in the order PostgreSQL takes them.

use std::collections::{HashMap, HashSet};

use tablegate_store::model::limits::CUSTOM_PROPERTIES_MAX;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::Alteration;
use crate::catalog::{CatalogView, Declaration};
use crate::ddl::columns::too_many_columns;
use crate::ddl::create_table::read_options;
use crate::settings::EgtMode;
use crate::syntax::{AlterAction, AlterCommand, ColumnChange};

/// Applies the actions to a declaration. `stored` are the properties that stored rows may have.
///
/// # Errors
/// What PostgreSQL refuses, and 0A000 for what is not done here.
pub(crate) fn alter<'a>(
    catalog: &'a CatalogView,
    before: Declaration,
    stored: HashSet<String>,
    command: &'a AlterCommand,
    mode: EgtMode,
) -> SqlResult<Alteration<'a>> {
    let mut alteration = Alteration {
        catalog,
        mode,
        after: before.clone(),
        before,
        stored,
        values: HashMap::new(),
        must_rewrite: false,
        checks: Vec::new(),
        notices: Vec::new(),
        dropped: Vec::new(),
        uncounted: Vec::new(),
        dropped_key: None,
        sequences: Vec::new(),
        cascaded: Vec::new(),
        column_key: None,
        collations: &command.taken.collations,
    };
    let values = &command.taken.values;
    values.iter().try_for_each(|change| alteration.drop_values(change))?;
    let mut in_order: Vec<&AlterAction> = command.actions.iter().collect();
    in_order.sort_by_key(|action| pass(action));
    in_order.into_iter().try_for_each(|action| alteration.apply(action))?;
    values.iter().try_for_each(|change| alteration.set_values(change))?;
    if let Some((name, column)) = alteration.column_key.take() {
        alteration.key_by(name, &[column])?;
    }
    alteration.make_room()?;
    Ok(alteration)
}

/// When an action has its turn: what goes first makes room for what comes.
fn pass(action: &AlterAction) -> u8 {
    use AlterAction as A;
    use ColumnChange as C;
    match action {
        A::DropColumns { .. } | A::DropConstraint { .. } => 0,
        A::AlterColumn { change: C::Default(None) | C::DropNotNull, .. } => 0,
        A::AlterColumn { change: C::Type { .. }, .. } => 1,
        A::AddColumn { .. } => 2,
        A::AlterColumn { change: C::AddIdentity { .. }, .. } => 6,
        A::AlterColumn { .. } => 4,
        A::AddConstraint { constraint, .. } if constraint.is_primary_key() => 5,
        A::AddConstraint { .. } => 6,
        _ => 7,
    }
}

impl Alteration<'_> {
    fn apply(&mut self, action: &AlterAction) -> SqlResult<()> {
        use AlterAction as A;
        use ColumnChange as C;
        match action {
            A::AddColumn { column, if_not_exists } => self.add_column(column, *if_not_exists),
            A::DropColumns { names, if_exists, cascade } => {
                names.iter().try_for_each(|name| self.drop_column(name, *if_exists, *cascade))
            }
            A::AlterColumn { name, change } => match change {
                C::Default(value) => self.set_default(name, value.as_deref()),
                C::SetNotNull => self.set_not_null(name),
                C::DropNotNull => self.drop_not_null(name),
                C::Type { data_type, using } => self.alter_type(name, data_type, using.as_deref()),
                C::AddIdentity { always, options } => self.add_identity(name, *always, options),
            },
            A::AddConstraint { constraint, not_valid } => self.add_constraint(constraint, *not_valid),
            A::ValidateConstraint(name) => self.validate(name),
            A::DropConstraint { name, if_exists, cascade } => self.drop_constraint(name, *if_exists, *cascade),
            A::SetOptions(options) => {
                let mut found = read_options(options, &mut self.notices)?;
                if let Some(escape) = found.key_escape.take() {
                    self.set_escape(escape)?;
                }
                if found.is_about_storage() {
                    return Err(SqlError::not_supported("changing how a table is stored")
                        .with_hint("Create a table with the options, and INSERT INTO it from this one."));
                }
                Ok(())
            }
            A::Owner => {
                Err(SqlError::not_supported("OWNER TO beside other actions").with_hint("Change the owner on its own."))
            }
            A::ReplicaIdentity => self.ignore("REPLICA IDENTITY: rows are not replicated from here"),
            A::Trigger(name) if is_every_trigger(name) => Ok(()),
            A::Trigger(name) => {
                let message = format!("trigger \"{name}\" for table \"{}\" does not exist", self.after.name);
                Err(SqlError::new(ErrorKind::UndefinedObject, message))
            }
            A::RowLevelSecurity(action) => Err(SqlError::not_supported(format!("ALTER TABLE ... {action}"))
                .with_hint("Grant roles SELECT on a view of the rows that they may see, and nothing on the table.")),
            A::Nothing => Ok(()),
            // What gets another name is alone in its command.
            A::RenameTable(_) | A::RenameColumn { .. } | A::RenameConstraint { .. } => {
                Err(SqlError::new(ErrorKind::Internal, "a renaming is taken for an action"))
            }
            A::Other(action) => Err(SqlError::not_supported(format!("ALTER TABLE ... {action}"))),
        }
    }

    /// Tells of a clause that has no meaning here.
    fn ignore(&mut self, what: &str) -> SqlResult<()> {
        self.notices.push(Notice::info(what));
        Ok(())
    }

    /// Dropped columns stay in the rows until those are written anew, which is done when an entity would get too many
    /// properties.
    fn make_room(&mut self) -> SqlResult<()> {
        let declared: HashSet<&str> = self.after.columns.iter().filter_map(|c| c.property.as_deref()).collect();
        if declared.len() > CUSTOM_PROPERTIES_MAX {
            return Err(too_many_columns(&self.after.name, declared.len()));
        }
        let together = self.stored.iter().filter(|name| !declared.contains(name.as_str())).count() + declared.len();
        self.must_rewrite |= together > CUSTOM_PROPERTIES_MAX;
        if self.must_rewrite {
            // Rows that are written anew do not have them.
            self.after.dropped_properties.clear();
        }
        Ok(())
    }
}

fn is_every_trigger(name: &str) -> bool {
    matches!(name, "all" | "user")
}
