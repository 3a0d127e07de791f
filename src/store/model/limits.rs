//! Every limit of the Table service's data model, each with its source.
//!
//! One home: constructors check against these numbers, refusals quote them, documentation links here.
//! Sources: the service documentation "Understanding the Table service data model" and "Performing entity group
//! transactions" unless a line says otherwise.

/// Shortest table name, in characters.
pub const TABLE_NAME_MIN_CHARS: usize = 3;
/// Longest table name, in characters.
pub const TABLE_NAME_MAX_CHARS: usize = 63;
/// Longest property name, in characters.
pub const PROPERTY_NAME_MAX_CHARS: usize = 255;

/// Longest key that is accepted, in characters: the data-model page says "1,024 characters".
pub const KEY_MAX_CHARS: usize = 1024;
/// Longest key that every page of the documentation agrees on, in UTF-16 code units: "1 KiB" of UTF-16. The emulator
/// stops here too. Keys between the two limits are accepted with a warning.
pub const KEY_SAFE_UTF16_UNITS: usize = 512;

/// Most properties of one entity besides PartitionKey, RowKey and Timestamp: 255 - 3.
pub const CUSTOM_PROPERTIES_MAX: usize = 252;
/// Largest entity, in bytes of names and values as [`crate::model::Entity::stored_size`] counts them: 1 MiB.
pub const ENTITY_MAX_BYTES: usize = 1024 * 1024;
/// Longest `Edm.String`, in UTF-16 code units: 64 KiB of UTF-16.
pub const STRING_MAX_UTF16_UNITS: usize = 32 * 1024;
/// Longest `Edm.Binary`, in bytes: 64 KiB.
pub const BINARY_MAX_BYTES: usize = 64 * 1024;

/// Most operations in one entity group transaction.
pub const EGT_MAX_OPERATIONS: usize = 100;
/// The payload of an entity group transaction must be smaller than this, in bytes of the `$batch` body: 4 MiB.
pub const EGT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// Largest integer magnitude that `Edm.Double` holds exactly: 2^53 (IEEE 754 binary64).
pub const DOUBLE_EXACT_INTEGER_MAX: u64 = 1 << 53;

/// Most comparisons in one `$filter` ("Querying tables and entities": "no more than 15 discrete comparisons").
pub const FILTER_COMPARISONS_MAX: usize = 15;
