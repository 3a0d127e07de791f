//! No code: this crate depends on every dependency of the workspace.
//!
//! Cargo compiles a dependency once for each set of features that is asked of it. A member's tests alone would ask for fewer
//! features than the whole workspace does, and compile most of the dependencies a second time. As a dev-dependency of each
//! member this crate asks for the same features everywhere.
