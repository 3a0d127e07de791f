//! CREATE TABLE as data: what its columns, constraints and options say, in the words of PostgreSQL's grammar.

use sqlparser::ast::{
    self, ConstraintCharacteristics, ConstraintReferenceMatchKind, CreateTableOptions, DeferrableInitial, GeneratedAs,
    NullsDistinctOption, SqlOption, Value,
};
use tablegate_bind::{Identifier, ParsedExpression, QualifiedName};
use tablegate_types::constraint::{Deferral, ReferentialAction};

use super::dialect::like::LikeClause;
use super::source::SourceText;
use crate::syntax::{GivenOptions, TypeName, fold};

#[derive(Debug, Clone)]
pub(crate) struct CreateTableCommand {
    pub name: QualifiedName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnDefinition>,
    pub constraints: Vec<TableConstraint>,
    pub options: TableOptions,
    pub on_commit: Option<OnCommit>,
    /// The kind of table that it is to be, where that is one that is not made here.
    pub other_kind: Option<&'static str>,
    /// Tables whose columns it gets too.
    pub likes: Vec<LikeClause>,
    /// The text that it is a part of.
    pub source: SourceText,
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnCommit {
    #[default]
    PreserveRows,
    DeleteRows,
    Drop,
}

#[derive(Debug, Clone)]
pub(crate) struct ColumnDefinition {
    pub name: Identifier,
    pub data_type: TypeName,
    pub options: Vec<ColumnOption>,
}

/// What stands behind the type of a column.
#[derive(Debug, Clone)]
pub(crate) enum ColumnOption {
    Null,
    NotNull,
    Collation(QualifiedName),
    Default(ParsedExpression),
    /// GENERATED ALWAYS AS (..) STORED.
    Generated(ParsedExpression),
    Identity {
        always: bool,
        options: Box<GivenOptions>,
    },
    /// A constraint on this column.
    Constraint(TableConstraint),
    /// What no column has here, as it is written.
    Other(String),
}

#[derive(Debug, Clone)]
pub(crate) struct TableConstraint {
    pub name: Option<Identifier>,
    pub kind: ConstraintKind,
}

#[derive(Debug, Clone)]
pub(crate) enum ConstraintKind {
    PrimaryKey(KeyColumns),
    Unique {
        columns: KeyColumns,
        nulls_not_distinct: bool,
        deferral: Deferral,
    },
    Check(Box<ParsedExpression>),
    ForeignKey(ForeignKey),
    /// A key, whose columns are those of an index.
    UsingIndex {
        index: Identifier,
        is_primary: bool,
        deferral: Deferral,
    },
    /// What no table has here, as it is written.
    Other(String),
}

/// The columns of a key, or the text of the first expression among them.
pub(crate) type KeyColumns = Result<Vec<Identifier>, String>;

#[derive(Debug, Clone)]
pub(crate) struct ForeignKey {
    pub columns: Vec<Identifier>,
    pub table: QualifiedName,
    /// None for the primary key of the table.
    pub referenced: Vec<Identifier>,
    pub on_update: ReferentialAction,
    pub on_delete: ReferentialAction,
    pub matching: Matching,
    pub deferral: Deferral,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matching {
    Simple,
    Full,
    Partial,
}

/// What stands behind the columns of a table.
#[derive(Debug, Clone)]
pub(crate) enum TableOptions {
    With(Vec<TableOption>),
    /// In another form, as it is written.
    Other(String),
}

/// One of WITH (..), or of ALTER TABLE ... SET (..).
#[derive(Debug, Clone)]
pub(crate) enum TableOption {
    Given {
        name: String,
        /// What a literal says, or a name.
        value: String,
        /// The value as it is written.
        written: String,
    },
    /// In another form, as it is written.
    Other(String),
}

impl CreateTableCommand {
    /// Without its query, its LIKE and the options of its identities, which are read apart.
    pub(super) fn of(create: ast::CreateTable) -> Self {
        Self {
            other_kind: other_kind(&create),
            name: create.name.into(),
            temporary: create.temporary,
            if_not_exists: create.if_not_exists,
            columns: create.columns.into_iter().map(ColumnDefinition::of).collect(),
            constraints: create.constraints.into_iter().map(TableConstraint::of).collect(),
            options: TableOptions::of(create.table_options),
            on_commit: create.on_commit.map(|on_commit| match on_commit {
                ast::OnCommit::PreserveRows => OnCommit::PreserveRows,
                ast::OnCommit::DeleteRows => OnCommit::DeleteRows,
                ast::OnCommit::Drop => OnCommit::Drop,
            }),
            likes: Vec::new(),
            source: SourceText::default(),
        }
    }

    /// Gives each identity its options, which are in the order of the columns.
    pub(super) fn set_identities(&mut self, options: Vec<GivenOptions>) {
        let mut options = options.into_iter();
        self.columns.iter_mut().for_each(|column| column.set_identity(&mut options));
    }

    /// The tables that its foreign keys refer to.
    pub(crate) fn foreign_tables(&self) -> impl Iterator<Item = &QualifiedName> {
        let of_columns = self.columns.iter().flat_map(ColumnDefinition::foreign_tables);
        self.constraints.iter().filter_map(TableConstraint::foreign_table).chain(of_columns)
    }
}

fn other_kind(create: &ast::CreateTable) -> Option<&'static str> {
    let kinds = [
        (create.external || create.location.is_some() || create.file_format.is_some(), "CREATE EXTERNAL TABLE"),
        (create.or_replace, "CREATE OR REPLACE TABLE"),
        (create.like.is_some(), "CREATE TABLE LIKE"),
        (create.inherits.is_some(), "table inheritance"),
        (create.partition_of.is_some() || create.partition_by.is_some(), "declarative partitioning"),
    ];
    kinds.into_iter().find(|(is_it, _)| *is_it).map(|(_, kind)| kind)
}

impl ColumnDefinition {
    pub(super) fn of(column: ast::ColumnDef) -> Self {
        let own: Identifier = column.name.into();
        let options = column.options.into_iter().map(|option| ColumnOption::of(option, &own)).collect();
        Self { data_type: column.data_type.into(), options, name: own }
    }

    /// Gives its identity the next of these options, if it has one.
    pub(super) fn set_identity(&mut self, given: &mut impl Iterator<Item = GivenOptions>) {
        for option in &mut self.options {
            if let ColumnOption::Identity { options, .. } = option {
                **options = given.next().unwrap_or_default();
                return;
            }
        }
    }

    pub(crate) fn constraints(&self) -> impl Iterator<Item = &TableConstraint> {
        self.options.iter().filter_map(|option| match option {
            ColumnOption::Constraint(constraint) => Some(constraint),
            _ => None,
        })
    }

    pub(crate) fn foreign_tables(&self) -> impl Iterator<Item = &QualifiedName> {
        self.constraints().filter_map(TableConstraint::foreign_table)
    }
}

impl ColumnOption {
    fn of(option: ast::ColumnOptionDef, own: &Identifier) -> Self {
        use ast::ColumnOption as O;
        let name = option.name.map(Identifier::from);
        let listed = || Ok(vec![own.clone()]);
        let constraint = |given: Option<ast::Ident>, kind| {
            Self::Constraint(TableConstraint { name: name.or(given.map(Identifier::from)), kind })
        };
        match option.option {
            O::Null => Self::Null,
            O::NotNull => Self::NotNull,
            O::Collation(name) => Self::Collation(name.into()),
            O::Default(expression) => Self::Default(expression.into()),
            O::Generated { generation_expr: Some(expression), .. } => Self::Generated(expression.into()),
            O::Generated { generated_as, generation_expr: None, .. } => {
                Self::Identity { always: generated_as == GeneratedAs::Always, options: Box::default() }
            }
            O::PrimaryKey(key) => constraint(key.name, ConstraintKind::PrimaryKey(listed())),
            O::Unique(unique) => constraint(unique.name.clone(), ConstraintKind::unique(&unique, listed())),
            O::Check(check) => constraint(check.name, ConstraintKind::Check(Box::new((*check.expr).into()))),
            O::ForeignKey(key) => {
                let kind = ConstraintKind::foreign_key(&key, vec![own.clone()]);
                constraint(key.name, kind)
            }
            other => Self::Other(other.to_string()),
        }
    }
}

impl TableConstraint {
    pub(super) fn of(constraint: ast::TableConstraint) -> Self {
        use ast::TableConstraint as T;
        let named = |name: Option<ast::Ident>, kind| Self { name: name.map(Identifier::from), kind };
        let using_index = |of: ast::ConstraintUsingIndex, is_primary| {
            let deferral = deferral(of.characteristics.as_ref());
            named(of.name, ConstraintKind::UsingIndex { index: of.index_name.into(), is_primary, deferral })
        };
        match constraint {
            T::PrimaryKey(key) => named(key.name, ConstraintKind::PrimaryKey(key_columns(&key.columns))),
            T::Unique(unique) => {
                let kind = ConstraintKind::unique(&unique, key_columns(&unique.columns));
                named(unique.name, kind)
            }
            T::Check(check) => named(check.name, ConstraintKind::Check(Box::new((*check.expr).into()))),
            T::ForeignKey(key) => {
                let kind = ConstraintKind::foreign_key(&key, key.columns.iter().map(Identifier::from).collect());
                named(key.name, kind)
            }
            T::PrimaryKeyUsingIndex(key) => using_index(key, true),
            T::UniqueUsingIndex(unique) => using_index(unique, false),
            other => named(None, ConstraintKind::Other(other.to_string())),
        }
    }

    pub(crate) fn is_primary_key(&self) -> bool {
        matches!(self.kind, ConstraintKind::PrimaryKey(_) | ConstraintKind::UsingIndex { is_primary: true, .. })
    }

    pub(crate) fn foreign_table(&self) -> Option<&QualifiedName> {
        match &self.kind {
            ConstraintKind::ForeignKey(key) => Some(&key.table),
            _ => None,
        }
    }
}

impl ConstraintKind {
    fn unique(unique: &ast::UniqueConstraint, columns: KeyColumns) -> Self {
        Self::Unique {
            columns,
            nulls_not_distinct: unique.nulls_distinct == NullsDistinctOption::NotDistinct,
            deferral: deferral(unique.characteristics.as_ref()),
        }
    }

    fn foreign_key(key: &ast::ForeignKeyConstraint, columns: Vec<Identifier>) -> Self {
        Self::ForeignKey(ForeignKey {
            columns,
            table: (&key.foreign_table).into(),
            referenced: key.referred_columns.iter().map(Identifier::from).collect(),
            on_update: action(key.on_update),
            on_delete: action(key.on_delete),
            matching: match key.match_kind {
                None | Some(ConstraintReferenceMatchKind::Simple) => Matching::Simple,
                Some(ConstraintReferenceMatchKind::Full) => Matching::Full,
                Some(ConstraintReferenceMatchKind::Partial) => Matching::Partial,
            },
            deferral: deferral(key.characteristics.as_ref()),
        })
    }
}

fn key_columns(listed: &[ast::IndexColumn]) -> KeyColumns {
    let column = |item: &ast::IndexColumn| match &item.column.expr {
        ast::Expr::Identifier(ident) => Ok(ident.into()),
        other => Err(other.to_string()),
    };
    listed.iter().map(column).collect()
}

fn action(given: Option<ast::ReferentialAction>) -> ReferentialAction {
    match given {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferentialAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

fn deferral(characteristics: Option<&ConstraintCharacteristics>) -> Deferral {
    match characteristics {
        Some(ConstraintCharacteristics { initially: Some(DeferrableInitial::Deferred), .. }) => {
            Deferral::InitiallyDeferred
        }
        Some(ConstraintCharacteristics { deferrable: Some(true), .. }) => Deferral::InitiallyImmediate,
        _ => Deferral::NotDeferrable,
    }
}

impl TableOptions {
    pub(super) fn of(options: CreateTableOptions) -> Self {
        match options {
            CreateTableOptions::None => Self::With(Vec::new()),
            CreateTableOptions::With(list) => Self::With(list.into_iter().map(TableOption::of).collect()),
            other => Self::Other(other.to_string()),
        }
    }
}

impl TableOption {
    pub(super) fn of(option: SqlOption) -> Self {
        match option {
            SqlOption::KeyValue { key, value } => {
                Self::Given { name: fold(&key), value: value_of(&value), written: value.to_string() }
            }
            other => Self::Other(other.to_string()),
        }
    }
}

fn value_of(value: &ast::Expr) -> String {
    match value {
        ast::Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.clone(),
            other => other.to_string(),
        },
        ast::Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}
