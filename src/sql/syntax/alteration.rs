//! ALTER TABLE as data: its actions.

use sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, DropBehavior, GeneratedAs, Owner, RenameTableNameKind,
    ReplicaIdentity,
};
use tablegate_bind::{Identifier, ParsedExpression, QualifiedName};

use super::definition::{ColumnDefinition, TableConstraint, TableOption};
use super::source::SourceText;
use crate::syntax::{GivenOptions, TakenActions, TypeName, fold};

#[derive(Debug, Clone)]
pub(crate) struct AlterCommand {
    pub name: QualifiedName,
    pub if_exists: bool,
    pub actions: Vec<AlterAction>,
    /// What the first action is called.
    pub first_words: String,
    /// Actions that sqlparser does not read.
    pub taken: TakenActions,
    /// ALTER VIEW: it must be one.
    pub of_view: bool,
    /// The text that it is a part of.
    pub source: SourceText,
}

#[derive(Debug, Clone)]
pub(crate) enum AlterAction {
    AddColumn {
        column: ColumnDefinition,
        if_not_exists: bool,
    },
    DropColumns {
        names: Vec<Identifier>,
        if_exists: bool,
        cascade: bool,
    },
    AlterColumn {
        name: Identifier,
        change: ColumnChange,
    },
    AddConstraint {
        constraint: TableConstraint,
        not_valid: bool,
    },
    ValidateConstraint(String),
    DropConstraint {
        name: String,
        if_exists: bool,
        cascade: bool,
    },
    RenameTable(QualifiedName),
    RenameColumn {
        from: Identifier,
        to: String,
    },
    RenameConstraint {
        from: String,
        to: String,
    },
    SetOptions(Vec<TableOption>),
    Owner,
    /// A replica identity that is not the usual one.
    ReplicaIdentity,
    /// ENABLE or DISABLE of a trigger.
    Trigger(String),
    /// One that asks for row level security, as it is written.
    RowLevelSecurity(String),
    /// Nothing is to be done, or no other state than there is.
    Nothing,
    /// What is not done here, as it is written.
    Other(String),
}

#[derive(Debug, Clone)]
pub(crate) enum ColumnChange {
    /// None for DROP DEFAULT.
    Default(Option<Box<ParsedExpression>>),
    SetNotNull,
    DropNotNull,
    Type {
        data_type: TypeName,
        using: Option<Box<ParsedExpression>>,
    },
    AddIdentity {
        always: bool,
        options: Box<GivenOptions>,
    },
}

impl AlterCommand {
    /// Without what is read apart.
    pub(super) fn of(alter: ast::AlterTable) -> Self {
        let first = alter.operations.first().map(ToString::to_string).unwrap_or_default();
        Self {
            name: alter.name.into(),
            if_exists: alter.if_exists,
            actions: alter.operations.into_iter().map(AlterAction::of).collect(),
            first_words: first.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
            taken: TakenActions::default(),
            of_view: false,
            source: SourceText::default(),
        }
    }

    /// Gives each new identity its options, which are in the order of the text.
    pub(super) fn set_identities(&mut self, options: Vec<GivenOptions>) {
        let mut given = options.into_iter();
        for action in &mut self.actions {
            match action {
                AlterAction::AddColumn { column, .. } => column.set_identity(&mut given),
                AlterAction::AlterColumn { change: ColumnChange::AddIdentity { options, .. }, .. } => {
                    **options = given.next().unwrap_or_default();
                }
                _ => {}
            }
        }
    }

    /// The tables that new foreign keys refer to.
    pub(crate) fn foreign_tables(&self) -> impl Iterator<Item = &QualifiedName> {
        self.actions.iter().flat_map(|action| match action {
            AlterAction::AddConstraint { constraint, .. } => constraint.foreign_table().into_iter().collect(),
            AlterAction::AddColumn { column, .. } => column.foreign_tables().collect(),
            _ => Vec::new(),
        })
    }
}

impl AlterAction {
    fn of(operation: AlterTableOperation) -> Self {
        use AlterTableOperation as A;
        let cascades = |behavior: Option<DropBehavior>| behavior == Some(DropBehavior::Cascade);
        match operation {
            A::AddColumn { column_def, if_not_exists, column_position: None, .. } => {
                Self::AddColumn { column: ColumnDefinition::of(column_def), if_not_exists }
            }
            A::DropColumn { column_names, if_exists, drop_behavior, .. } => Self::DropColumns {
                names: column_names.into_iter().map(Identifier::from).collect(),
                if_exists,
                cascade: cascades(drop_behavior),
            },
            A::AlterColumn { column_name, op } => {
                Self::AlterColumn { name: column_name.into(), change: ColumnChange::of(op) }
            }
            A::AddConstraint { constraint, not_valid } => {
                Self::AddConstraint { constraint: TableConstraint::of(constraint), not_valid }
            }
            A::ValidateConstraint { name } => Self::ValidateConstraint(fold(&name)),
            A::DropConstraint { name, if_exists, drop_behavior } => {
                Self::DropConstraint { name: fold(&name), if_exists, cascade: cascades(drop_behavior) }
            }
            A::RenameTable { table_name: RenameTableNameKind::To(name) } => Self::RenameTable(name.into()),
            A::RenameColumn { old_column_name, new_column_name } => {
                Self::RenameColumn { from: old_column_name.into(), to: fold(&new_column_name) }
            }
            A::RenameConstraint { old_name, new_name } => {
                Self::RenameConstraint { from: fold(&old_name), to: fold(&new_name) }
            }
            A::SetOptionsParens { options } => Self::SetOptions(options.into_iter().map(TableOption::of).collect()),
            // What is read as no action at all is given to the parser as this.
            A::OwnerTo { new_owner: Owner::CurrentUser } => Self::Nothing,
            A::OwnerTo { .. } => Self::Owner,
            A::ReplicaIdentity { identity: ReplicaIdentity::Default } => Self::Nothing,
            A::ReplicaIdentity { .. } => Self::ReplicaIdentity,
            A::DisableTrigger { name } | A::EnableTrigger { name } => Self::Trigger(fold(&name)),
            A::DisableRowLevelSecurity | A::NoForceRowLevelSecurity => Self::Nothing,
            A::EnableRowLevelSecurity | A::ForceRowLevelSecurity => Self::RowLevelSecurity(operation.to_string()),
            other => Self::Other(other.to_string()),
        }
    }

    /// Whether it drops columns or a constraint with what depends on them.
    pub(crate) fn drops_with_cascade(&self) -> bool {
        matches!(self, Self::DropColumns { cascade: true, .. } | Self::DropConstraint { cascade: true, .. })
    }

    /// Whether it is about columns, so that those of a found table must be declared first.
    pub(crate) fn is_about_columns(&self) -> bool {
        matches!(
            self,
            Self::AddColumn { .. }
                | Self::DropColumns { .. }
                | Self::AlterColumn { .. }
                | Self::RenameColumn { .. }
                | Self::AddConstraint { .. }
        )
    }
}

impl ColumnChange {
    fn of(operation: AlterColumnOperation) -> Self {
        use AlterColumnOperation as C;
        match operation {
            C::SetDefault { value } => Self::Default(Some(Box::new(value.into()))),
            C::DropDefault => Self::Default(None),
            C::SetNotNull => Self::SetNotNull,
            C::DropNotNull => Self::DropNotNull,
            C::SetDataType { data_type, using, .. } => {
                Self::Type { data_type: data_type.into(), using: using.map(|using| Box::new(using.into())) }
            }
            C::AddGenerated { generated_as, .. } => {
                Self::AddIdentity { always: generated_as == Some(GeneratedAs::Always), options: Box::default() }
            }
        }
    }
}
