//! Reading tables: a relation as a DataFusion table whose filters become key ranges.
//!
//! ```text
//!     provider   filters -> KeyPlan -> EntityScanExec
//!     direct     a scan without a plan around it
//!     exec       the plan node: order, limit and run-time filters that reach it
//!     estimate   how many rows to expect
//!     order      what order a scan's rows have
//!     run        groups of ranges, one after the other, as record batches
//!     residual   what is left to filter, conjunct by conjunct
//!     early_filter   the same, before values are read that take long to read
//!     sieve      run-time filters, evaluated on rows while that pays
//!     members    a set of integers that lie close together
//!     pushdown   filters -> a hint for the store
//!     overlay    the transaction's own writes, merged in
//!     newest     rows that the statement looks at again, instead of the table
//!     layout     stored columns -> the relation's columns
//!     misfit     which row it is whose stored value is not of its column's type
//!     width      how many rows make a batch
//!     values     one stored entity -> a row of values
//! ```

mod direct;
mod early_filter;
mod estimate;
mod exec;
mod layout;
mod members;
mod misfit;
mod newest;
mod order;
mod overlay;
mod provider;
mod pushdown;
mod residual;
mod run;
mod sieve;
mod values;
mod width;

pub(super) use direct::DirectScan;
pub(super) use estimate::selectivity;
pub(super) use exec::EntityScanExec;
pub(super) use layout::relation_rows;
pub(super) use provider::RelationProvider;
pub(super) use width::batch_rows;
