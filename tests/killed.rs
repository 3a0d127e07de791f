//! What kills processes, and fills disks: whatever was acknowledged is there afterwards.
//!
//! The processes that are killed are this program too, in another role. So it has a `main` of its own, and each test and
//! each role is listed here; the compiler reports one that is missing as never used. It takes the arguments that every
//! program of tests takes.

mod crash;
mod crash_observe;
mod full_disk;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Functions, and their paths as their names.
macro_rules! roles {
    ($($role:path,)+) => {
        &[$((stringify!($role), $role)),+]
    };
}

macro_rules! tests {
    ($($test:path,)+) => {
        vec![$(Trial::test(stringify!($test), || {
            support::child::run($test());
            Ok(())
        })),+]
    };
}

/// What this program does where another one starts it for that.
const ROLES: &[(&str, fn())] = roles! {
    crash::alterations::alterations,
    crash::changes::changes,
    crash::loads::copies,
    crash::loads::fills,
    crash::loads::loads,
    crash::requests::requesters,
    crash::sequences::counters,
    crash::writers::writers,
    crash_observe::writers,
    full_disk::refused_before_writing,
    full_disk::full_within_a_load,
    full_disk::full_within_changes,
    full_disk::repaired_in_place,
};

fn main() -> ExitCode {
    if let Some(wanted) = support::child::role() {
        let (_, run) = ROLES.iter().find(|(role, _)| *role == wanted).expect("the role is listed");
        run();
        return ExitCode::SUCCESS;
    }
    let tests = tests! {
        crash::acknowledged_batches_survive_a_kill_whole,
        crash::alterations::a_kill_leaves_the_old_table_or_the_new_one,
        crash::changes::a_kill_leaves_changed_rows_whole,
        crash::loaders::a_kill_leaves_all_of_a_copy_in_a_block_or_nothing,
        crash::loaders::a_kill_leaves_all_of_a_frame_of_pandas_or_nothing,
        crash::loaders::a_kill_leaves_all_of_a_restored_dump_or_nothing,
        crash::loaders::a_kill_leaves_all_of_a_short_copy_or_nothing,
        crash::loaders::a_kill_leaves_all_of_a_table_that_a_block_copies_into_or_nothing,
        crash::loaders::a_kill_leaves_all_tables_that_a_block_fills_or_none,
        crash::loaders::a_kill_leaves_whole_transactions_of_a_long_copy,
        crash::loaders::a_kill_leaves_whole_transactions_of_an_insert_of_a_query,
        crash::loads::a_kill_leaves_all_of_a_copy_into_an_empty_table_or_nothing,
        crash::loads::a_kill_leaves_all_of_a_copy_or_nothing,
        crash::loads::a_kill_leaves_all_of_a_loaded_table_or_nothing,
        crash::power_loss::a_store_that_does_not_sync_is_found_out,
        crash::power_loss::acknowledged_batches_survive_a_loss_of_power_whole,
        crash::power_loss::columns_are_those_of_the_rows_after_a_loss_of_power,
        crash::requests::acknowledged_requests_survive_a_kill_and_no_batch_in_part,
        crash::segments::columns_are_those_of_the_rows_after_a_kill,
        crash::sequences::no_value_is_given_out_twice_across_kills,
        crash_observe::transactions_and_their_violations_survive_together,
        full_disk::a_failed_write_is_repaired_in_place,
        full_disk::a_disk_that_fills_up_within_a_load_keeps_what_it_says,
        full_disk::a_disk_that_fills_up_within_changes_keeps_what_it_says,
        full_disk::a_full_disk_is_refused_before_writing,
    };
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
