//! The numbers of types that rules name.

/// The number of an object of the catalogue; 0 for none.
pub type Oid = u32;

pub const BOOL: Oid = 16;
pub const CHAR: Oid = 18;
pub const NAME: Oid = 19;
pub const INT8: Oid = 20;
pub const INT2: Oid = 21;
pub const INT2_VECTOR: Oid = 22;
pub const INT4: Oid = 23;
pub const TEXT: Oid = 25;
pub const OID: Oid = 26;
pub const OID_VECTOR: Oid = 30;
pub const FLOAT4: Oid = 700;
pub const FLOAT8: Oid = 701;
pub const UNKNOWN: Oid = 705;
pub const INT2_ARRAY: Oid = 1005;
pub const TEXT_ARRAY: Oid = 1009;
pub const OID_ARRAY: Oid = 1028;
pub const BPCHAR: Oid = 1042;
pub const VARCHAR: Oid = 1043;
pub const DATE: Oid = 1082;
pub const TIME: Oid = 1083;
pub const TIMESTAMP: Oid = 1114;
pub const TIMESTAMPTZ: Oid = 1184;
pub const INTERVAL: Oid = 1186;
pub const NUMERIC_ARRAY: Oid = 1231;
pub const TIMETZ: Oid = 1266;
pub const MONEY: Oid = 790;
pub const MACADDR: Oid = 829;
pub const MACADDR8: Oid = 774;
pub const TSVECTOR: Oid = 3614;
pub const TSQUERY: Oid = 3615;
pub const BIT: Oid = 1560;
pub const VARBIT: Oid = 1562;
pub const XML: Oid = 142;
pub const NUMERIC: Oid = 1700;
pub const REGCLASS: Oid = 2205;
pub const RECORD: Oid = 2249;
pub const VOID: Oid = 2278;
pub const ANY: Oid = 2276;
pub const ANY_ARRAY: Oid = 2277;
pub const ANY_ELEMENT: Oid = 2283;
pub const RECORD_ARRAY: Oid = 2287;
pub const ANY_NON_ARRAY: Oid = 2776;
pub const ANY_ENUM: Oid = 3500;
pub const JSONB: Oid = 3802;
pub const ANY_RANGE: Oid = 3831;
pub const ANY_MULTIRANGE: Oid = 4537;
pub const ANY_COMPATIBLE_MULTIRANGE: Oid = 4538;
pub const ANY_COMPATIBLE: Oid = 5077;
pub const ANY_COMPATIBLE_ARRAY: Oid = 5078;
pub const ANY_COMPATIBLE_NON_ARRAY: Oid = 5079;
pub const ANY_COMPATIBLE_RANGE: Oid = 5080;

/// The schema `pg_catalog`.
pub const PG_CATALOG: Oid = 11;
/// The collation of a database.
pub const DEFAULT_COLLATION: Oid = 100;
