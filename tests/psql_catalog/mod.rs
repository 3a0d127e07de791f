//! psql's own queries against the system catalogue: every one is answered, and the important ones with the right rows.

mod drivers;
mod harness;
mod psql;
