//! The contract of [`tablegate::store::table::TableStore`], run against every store.
//!
//! Each module holds the tests of one concern, written against the trait alone; a store joins with a type that
//! implements [`harness::Backend`] in `backends.rs` and a module at the end of this file. A store is done when it
//! passes.

mod backends;
mod clearing;
mod commits;
mod concurrency;
mod durability;
mod groups;
mod harness;
mod known_entities;
mod model;
mod new_entities;
mod observed;
mod predicates;
mod projections;
mod ranges;
mod scans;
mod segments;
mod sizes;
mod staged;
mod tables;
mod values;
mod walks;
mod windows;

/// One test per listed function: each gets a new, empty store of this backend. The compiler reports a function that is
/// missing here as never used.
macro_rules! tests {
    ($backend:ty: $($module:ident { $($test:ident,)+ })+) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let backend = <$backend as $crate::store_contract::harness::Backend>::create($crate::store_contract::harness::system_clock()).await;
                $crate::store_contract::$module::$test($crate::store_contract::harness::Backend::store(&backend)).await;
            })+
        })+
    };
}

/// What every store must do.
macro_rules! contract {
    ($backend:ty) => {
        tests! { $backend:
            tables {
                a_table_is_created_once_whatever_its_case,
                tables_are_listed_by_name_ignoring_case,
                what_is_not_there_is_missing,
                a_dropped_table_takes_its_data_with_it,
                a_recreated_table_has_its_new_spelling,
            }
            walks {
                a_walk_shows_entities_whole_in_key_order,
                a_walk_goes_on_behind_where_it_stopped,
                a_walk_stays_in_its_ranges,
                sifting_leaves_out_nothing_that_is_looked_for,
                a_missing_table_is_not_walked_through,
            }
            commits {
                insert_of_a_new_key_is_stored,
                insert_of_an_existing_key_is_rejected,
                operations_on_a_missing_entity_are_rejected,
                operations_with_a_stale_etag_are_rejected,
                operations_with_the_current_etag_are_applied,
                operations_on_any_version_are_applied,
                an_etag_of_a_deleted_entity_is_stale_for_its_successor,
                merge_keeps_what_it_does_not_write,
                merge_changes_the_type_of_what_it_writes,
                merge_keeps_the_100_ns_of_what_it_does_not_write,
                replace_leaves_exactly_the_given_properties,
                upserts_create_and_overwrite,
                delete_removes_the_entity_only,
                a_batch_is_all_or_nothing,
                the_first_failing_operation_is_named,
                a_batch_mixes_all_operations,
                a_batch_of_a_hundred_reports_in_order,
                a_batch_of_new_keys_meets_the_one_that_is_there,
                a_commit_into_a_missing_table_is_refused,
            }
            new_entities {
                new_entities_come_to_what_their_batches_come_to,
                a_new_entity_that_is_there_refuses_its_transaction_alone,
                new_entities_of_a_missing_table_are_refused,
                new_entities_and_batches_meet_each_other,
            }
            known_entities {
                known_entities_are_legal_batches,
            }
            windows {
                a_refused_batch_leaves_the_others_as_they_are,
                a_window_of_refused_batches_writes_nothing,
                a_key_may_occur_in_several_batches_of_a_window,
                a_window_spans_tables_and_partitions,
                an_empty_window_is_nothing,
                a_window_whose_caller_leaves_has_whole_batches,
                a_window_comes_to_what_its_batches_come_to_alone,
            }
            values {
                an_entity_of_a_mebibyte_is_kept,
                the_most_properties_are_kept_in_order,
                property_names_differ_by_case,
                entities_of_many_shapes_live_together,
            }
            scans {
                order_is_utf8_bytes_in_both_directions,
                an_empty_table_yields_nothing,
                no_range_reads_nothing,
                a_limit_reads_no_more_entities_than_it_returns,
                batches_hold_at_most_the_asked_for_rows,
                long_values_do_not_make_huge_batches,
                nothing_is_read_before_the_first_poll,
                a_dropped_scan_stops_reading,
                a_point_reads_one_entity,
                a_row_range_reads_exactly_its_rows,
            }
            ranges {
                points,
                row_spans_of_one_partition,
                prefixes,
                prefixes_that_end_in_the_greatest_characters,
                partition_ranges_with_all_rows,
                partition_ranges_with_row_spans,
                lists_of_ranges,
                ranges_without_room,
            }
            projections {
                batches_have_the_asked_for_schema,
                system_columns_are_those_of_get,
                no_columns_still_count_rows,
                absent_properties_are_null,
                one_key_is_read_at_once,
                a_property_can_be_asked_for_twice,
                values_widen_without_loss,
                edm_type_of_names_the_stored_type,
                a_value_that_does_not_fit_ends_the_scan_with_its_key,
                a_value_that_does_not_fit_matters_only_when_read,
            }
            predicates {
                no_comparison_loses_what_it_is_true_of,
                no_list_loses_what_it_is_true_of,
                no_combination_loses_what_it_is_true_of,
                times_of_writing_are_compared,
            }
            observed {
                every_name_and_type_is_recorded_in_order,
                wide_integers_are_recorded,
                merges_and_replaces_are_recorded,
                analyze_drops_what_is_gone,
                analyze_of_a_missing_table_is_refused,
            }
            concurrency {
                one_of_many_conditional_writers_wins,
                one_of_many_inserts_wins,
                retried_increments_are_never_lost,
                an_acknowledged_commit_is_seen_by_later_readers,
                a_commit_whose_caller_leaves_is_whole,
                readers_see_batches_whole,
            }
            model {
                random_operations_agree_with_a_sorted_map,
            }
        }
    };
}

/// What a store in this process promises besides: one moment for all that a reader sees, groups, and its own clock. Also
/// what the service does and the emulator does not: it minds the case of table names, loses the sign of -0.0, stops at keys
/// of 512 characters, and prints zeros at the end of an ETag's time.
macro_rules! local_contract {
    ($backend:ty) => {
        mod local {
            tests! { $backend:
                tables {
                    a_reader_keeps_a_table_that_is_dropped,
                    names_reach_a_table_in_any_case,
                }
                commits {
                    every_write_changes_etag_and_timestamp,
                    a_merge_beyond_the_limits_is_rejected,
                }
                scans {
                    a_reader_is_a_snapshot,
                    a_scan_in_progress_does_not_see_later_writes,
                    a_reader_is_a_snapshot_of_all_tables,
                }
                values {
                    every_type_keeps_every_bit,
                    the_longest_values_are_kept,
                    the_longest_keys_are_kept,
                }
                projections {
                    mixed_types_show_as_text,
                }
                observed {
                    a_reader_never_meets_an_unrecorded_property,
                }
                sizes {
                    an_estimate_is_what_a_scan_finds,
                    what_is_rejected_is_not_counted,
                    bytes_follow_what_is_stored,
                    a_group_counts_in_each_of_its_tables,
                    a_recreated_table_begins_with_nothing,
                    analyze_counts_the_same,
                }
                new_entities {
                    a_group_of_new_entities_is_all_or_nothing,
                    batches_go_with_the_windows_of_their_group,
                    readers_see_a_group_of_new_entities_whole,
                }
                known_entities {
                    known_entities_come_to_what_their_batches_come_to,
                    a_known_entity_that_changed_refuses_all,
                    versions_that_no_store_gives_are_refused,
                    new_and_known_entities_are_written_together,
                    all_of_a_table_is_removed,
                    a_table_is_refilled,
                    a_known_entity_does_not_grow_beyond_the_limits,
                }
                clearing {
                    a_table_that_nobody_wrote_to_is_cleared,
                    a_table_that_was_written_to_is_not_cleared,
                }
                windows {
                    readers_see_a_window_at_once,
                    timestamps_rise_within_a_window,
                }
                groups {
                    a_group_spans_tables_and_partitions,
                    a_rejected_group_writes_nothing,
                    a_group_with_a_missing_table_writes_nothing,
                    a_key_occurs_once_in_a_group,
                    the_same_key_in_two_tables_is_two_keys,
                    batches_of_one_partition_can_share_a_group,
                    an_empty_group_is_nothing,
                    readers_see_a_group_whole,
                }
            }

            #[tokio::test]
            async fn timestamps_rise_when_the_clock_does_not() {
                crate::store_contract::commits::timestamps_rise_when_the_clock_does_not::<$backend>().await;
            }
        }
    };
}

/// What a store that outlives the process must do besides: its backend is [`harness::Durable`].
macro_rules! durable_contract {
    ($backend:ty: $($test:ident,)+) => {
        mod durability {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::store_contract::durability::$test::<$backend>().await;
            })+

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_window_is_there_after_reopening() {
                crate::store_contract::windows::a_window_is_there_after_reopening::<$backend>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn new_entities_are_there_after_reopening() {
                crate::store_contract::new_entities::new_entities_are_there_after_reopening::<$backend>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_cleared_table_is_empty_after_reopening() {
                crate::store_contract::clearing::a_cleared_table_is_empty_after_reopening::<$backend>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn known_entities_are_changed_after_reopening() {
                crate::store_contract::known_entities::known_entities_are_changed_after_reopening::<$backend>().await;
            }
        }
    };
    ($backend:ty) => {
        durable_contract! { $backend:
            data_is_the_same_after_reopening,
            tables_are_the_same_after_reopening,
            observed_schemas_are_the_same_after_reopening,
            preconditions_hold_after_reopening,
            timestamps_rise_over_reopening,
            counts_are_the_same_after_reopening,
        }
    };
}

/// What a store does besides that writes rows ahead of their commit.
macro_rules! staged_contract {
    ($backend:ty) => {
        mod ahead {
            tests! { $backend:
                staged {
                    staged_rows_are_in_their_table_at_once,
                    staged_rows_are_forgotten_where_their_table_is_another_one,
                    staged_rows_are_inserted_where_their_table_has_others,
                    readers_see_staged_rows_whole,
                    sealed_rows_are_committed_with_a_group,
                    sealed_rows_are_left_out_where_their_group_is_refused,
                }
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn staged_rows_are_there_after_reopening() {
                crate::store_contract::staged::staged_rows_are_there_after_reopening::<$backend>().await;
            }
        }
    };
}

mod memory {
    contract!(crate::store_contract::backends::Memory);
    local_contract!(crate::store_contract::backends::Memory);

    mod oracle {
        tests! { crate::store_contract::backends::Memory:
            predicates {
                what_is_not_true_is_left_out,
            }
        }
    }
}

mod embedded {
    contract!(crate::store_contract::backends::Embedded);
    local_contract!(crate::store_contract::backends::Embedded);
    durable_contract!(crate::store_contract::backends::Embedded);
    staged_contract!(crate::store_contract::backends::Embedded);
}

mod columns {
    contract!(crate::store_contract::backends::Columns);
    local_contract!(crate::store_contract::backends::Columns);
    durable_contract!(crate::store_contract::backends::Columns);
    staged_contract!(crate::store_contract::backends::Columns);
}

mod azure {
    contract!(crate::store_contract::backends::Azure);
}

mod our_door {
    contract!(crate::store_contract::backends::OurDoor);
}
