//! What a store reports about its segments: parts of a table that it keeps a second time in a form that is faster to
//! read.

use crate::model::{EdmDateTime, EntityKey};

/// One of them, or one that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentFigures {
    /// Of the first and the last entity in it; `None` when there is none.
    pub keys: Option<(EntityKey, EntityKey)>,
    pub entities: u64,
    /// What it takes on the disk; `None` until it is complete.
    pub bytes: Option<u64>,
    /// The number of the commit as of which it has the entities.
    pub commit: u64,
    /// How many entities in its place were written since, at most; `None` until somebody has counted.
    pub dirty: Option<u64>,
    pub built_at: Option<EdmDateTime>,
    pub state: SegmentState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentState {
    /// Nothing was written in its place.
    Clean,
    /// What was written in its place is laid over it.
    Dirty,
    /// So much was written in its place that the entities themselves are read.
    Overwritten,
    /// It is not what was written: the entities themselves are read.
    Damaged,
    /// It is being written, of what had none.
    Building,
    /// It is being written, for the place of one before.
    Renewing,
    /// It is complete, and about to be put in force.
    Installing,
    /// It is in force; what it holds of the writes that were noted for the one before is being removed.
    Trimming,
}

impl SegmentState {
    pub fn name(self) -> &'static str {
        match self {
            SegmentState::Clean => "clean",
            SegmentState::Dirty => "dirty",
            SegmentState::Overwritten => "overwritten",
            SegmentState::Damaged => "damaged",
            SegmentState::Building => "building",
            SegmentState::Renewing => "renewing",
            SegmentState::Installing => "installing",
            SegmentState::Trimming => "trimming",
        }
    }
}

/// Which segments of a table are to be made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// What the store would make by and by.
    Due,
    /// All, anew.
    All,
}
