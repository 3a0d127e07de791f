//! The one contract between SQL and stores: [`TableStore`], with the rules of entity group transactions.
//!
//! Reads come out as Arrow columns ([`TableReader::scan`]), as whole entities one after another ([`walk`], [`sift`]) or as one entity
//! ([`TableReader::get`], [`TableReader::get_at_once`]); writes go in as
//! [`Batch`]es, or many rows as columns ([`NewEntities`], [`KnownEntities`]), which can only be built when they are legal entity group transactions. What a store may do better than
//! the service is a promise ([`Promises`]) that callers ask for, never a backend's name.

mod apply;
mod batch;
mod columns;
mod commit;
mod division;
mod edm_column;
mod entity_window;
mod known_entities;
mod layer;
mod new_entities;
pub mod payload;
pub mod predicate;
mod read_only;
mod scan;
mod scan_plan;
mod schema;
mod seeded_hash;
mod segments;
mod sift;
mod sighting;
mod staged;
mod store;
mod walk;
mod window;
mod write_group;

pub use batch::{Batch, BatchBuilder, BatchError, IfMatch, Operation, pack};
pub use columns::{
    ColumnSources, ColumnType, DeriveError, DerivedColumn, EntityColumns, RowETag, ScanColumn, ScanColumns,
    TextNumbers, Unfit, dictionary_texts, dictionary_type, first_rows, text_for_each_row, texts_of_rows,
};
pub use commit::{Stamps, check_disjoint};
pub use edm_column::EdmColumn;
pub use entity_window::EntityWindow;
pub use known_entities::{KnownChange, KnownEntities};
pub use layer::StoreLayer;
pub use new_entities::NewEntities;
pub use predicate::Predicate;
pub use read_only::ReadOnlyStore;
pub use scan::{Direction, KeyRange, ScanRequest, ScanStats, ScanStream};
pub use scan_plan::{RemotePlan, ScanPlan};
pub use schema::{ObservedProperty, ObservedSchema, TypeSet};
pub use seeded_hash::SeededHash;
pub use segments::{Renewal, SegmentFigures, SegmentState};
pub use sift::sift;
pub use sighting::{Counted, Sighting, SightingSource, Sightings};
pub use staged::{SealedRows, StagedRows};
pub use store::{
    AtOnce, CommitError, GroupError, Parallelism, Promises, Rejection, RequestFigures, SnapshotScope, StoreError,
    StoreFigures, TableReader, TableSize, TableStore, Written,
};
pub use walk::{EntityProperties, EntityView, EntityWalk, Visit, walk};
pub use window::{Refusals, WindowOutcome};
pub use write_group::{Counting, Emptied, WriteGroup};
