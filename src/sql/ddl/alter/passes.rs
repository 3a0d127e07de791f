//! The actions of one ALTER TABLE, in the order PostgreSQL takes them.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Owner, ReplicaIdentity, TableConstraint};
use tablegate_store::model::limits::CUSTOM_PROPERTIES_MAX;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::Alteration;
use crate::catalog::{CatalogView, Declaration};
use crate::ddl::columns::{is_identity, too_many_columns};
use crate::ddl::create_table::read_options;
use crate::settings::EgtMode;
use crate::syntax::{AlterCommand, GivenOptions, fold};

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
    let mut in_order = with_identities(command);
    in_order.sort_by_key(|(operation, _)| pass(operation));
    for (operation, identity) in in_order {
        alteration.apply(operation, &identity)?;
    }
    values.iter().try_for_each(|change| alteration.set_values(change))?;
    if let Some((name, column)) = alteration.column_key.take() {
        alteration.key_by(name, &[column])?;
    }
    alteration.make_room()?;
    Ok(alteration)
}

/// The actions, each with the options of the identity it makes.
fn with_identities(command: &AlterCommand) -> Vec<(&AlterTableOperation, GivenOptions)> {
    use AlterTableOperation as A;
    let mut options = command.identities.iter();
    let makes_one = |operation: &AlterTableOperation| match operation {
        A::AddColumn { column_def, .. } => column_def.options.iter().any(|option| is_identity(&option.option)),
        A::AlterColumn { op, .. } => matches!(op, AlterColumnOperation::AddGenerated { .. }),
        _ => false,
    };
    let pair = |operation| {
        let given = if makes_one(operation) { options.next() } else { None };
        (operation, given.cloned().unwrap_or_default())
    };
    command.alter.operations.iter().map(pair).collect()
}

/// When an action has its turn: what goes first makes room for what comes.
fn pass(operation: &AlterTableOperation) -> u8 {
    use AlterColumnOperation as C;
    use AlterTableOperation as A;
    match operation {
        A::DropColumn { .. } | A::DropConstraint { .. } => 0,
        A::AlterColumn { op: C::DropDefault | C::DropNotNull, .. } => 0,
        A::AlterColumn { op: C::SetDataType { .. }, .. } => 1,
        A::AddColumn { .. } => 2,
        A::AlterColumn { op: C::AddGenerated { .. }, .. } => 6,
        A::AlterColumn { .. } => 4,
        A::AddConstraint { constraint: TableConstraint::PrimaryKey(_), .. } => 5,
        A::AddConstraint { .. } => 6,
        _ => 7,
    }
}

impl Alteration<'_> {
    fn apply(&mut self, operation: &AlterTableOperation, identity: &GivenOptions) -> SqlResult<()> {
        use AlterColumnOperation as C;
        use AlterTableOperation as A;
        match operation {
            A::AddColumn { column_def, if_not_exists, column_position: None, .. } => {
                self.add_column(column_def, *if_not_exists, identity)
            }
            A::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                column_names.iter().try_for_each(|name| self.drop_column(name, *if_exists, *drop_behavior))
            }
            A::AlterColumn { column_name, op } => match op {
                C::SetDefault { value } => self.set_default(column_name, Some(value)),
                C::DropDefault => self.set_default(column_name, None),
                C::SetNotNull => self.set_not_null(column_name),
                C::DropNotNull => self.drop_not_null(column_name),
                C::SetDataType { data_type, using, .. } => self.alter_type(column_name, data_type, using.as_ref()),
                C::AddGenerated { generated_as, .. } => self.add_identity(column_name, *generated_as, identity),
            },
            A::AddConstraint { constraint, not_valid } => self.add_constraint(constraint, *not_valid),
            A::ValidateConstraint { name } => self.validate(&fold(name)),
            A::DropConstraint { name, if_exists, drop_behavior } => {
                self.drop_constraint(&fold(name), *if_exists, *drop_behavior)
            }
            A::SetOptionsParens { options } => {
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
            // What is read as no action at all is given to the parser as this.
            A::OwnerTo { new_owner: Owner::CurrentUser } => Ok(()),
            A::OwnerTo { .. } => {
                Err(SqlError::not_supported("OWNER TO beside other actions").with_hint("Change the owner on its own."))
            }
            A::ReplicaIdentity { identity: ReplicaIdentity::Default } => Ok(()),
            A::ReplicaIdentity { .. } => self.ignore("REPLICA IDENTITY: rows are not replicated from here"),
            A::DisableTrigger { name } | A::EnableTrigger { name } if is_every_trigger(&fold(name)) => Ok(()),
            A::DisableTrigger { name } | A::EnableTrigger { name } => {
                let message = format!("trigger \"{}\" for table \"{}\" does not exist", fold(name), self.after.name);
                Err(SqlError::new(ErrorKind::UndefinedObject, message))
            }
            A::DisableRowLevelSecurity | A::NoForceRowLevelSecurity => Ok(()),
            A::EnableRowLevelSecurity | A::ForceRowLevelSecurity => {
                Err(SqlError::not_supported(format!("ALTER TABLE ... {operation}"))
                    .with_hint("Grant roles SELECT on a view of the rows that they may see, and nothing on the table."))
            }
            other => Err(SqlError::not_supported(format!("ALTER TABLE ... {other}"))),
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
