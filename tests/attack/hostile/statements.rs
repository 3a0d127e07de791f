//! The hostile statements, as data.

use super::way::Way;

pub(super) struct Hostile {
    pub name: &'static str,
    pub way: Way,
    /// What it may end with besides an answer and the limits of the server.
    pub also: &'static [&'static str],
    /// There is a way to do it within the memory, so it must be done where there is time for it.
    pub must_work: bool,
    /// What it may take beyond what all others may.
    pub beyond: Option<Beyond>,
}

/// Memory that is no query's, and why.
pub(super) struct Beyond {
    pub mib: u64,
    pub why: &'static str,
}

const fn may(name: &'static str, way: Way) -> Hostile {
    Hostile { name, way, also: &[], must_work: false, beyond: None }
}

const fn must(name: &'static str, way: Way) -> Hostile {
    Hostile { must_work: true, ..may(name, way) }
}

const fn also(name: &'static str, also: &'static [&'static str], way: Way) -> Hostile {
    Hostile { also, ..may(name, way) }
}

const fn beyond(name: &'static str, mib: u64, why: &'static str, way: Way) -> Hostile {
    Hostile { beyond: Some(Beyond { mib, why }), ..may(name, way) }
}

const DEEP: &str = "Each thread that plans it goes down some 30 MiB of its stack, in a build that is not optimized.";
const TOGETHER: &str = "What partial groups give is put together by the number of rows before it is grouped again, however long its lists are.";
const ONCE: &str =
    "To find the texts that are there twice, keys of all that are kept are made beside them, and gone a moment later.";
const SPILLED: &str =
    "Groups that are put on disk are sorted beside themselves first, which the engine does not count.";

const SORTED: &str =
    "Rows that are put on disk are put in order beside those that are kept, which the engine does not count.";
const ON_THEIR_WAY: &str = "Of each client three batches of 8 MiB of texts are on their way from the query into the transaction, and 32 MiB of rows, which come in no order, wait to be sorted for the table that is empty: nobody counts these.";
const COMMITTED: &str = "What is committed is in memory once more until it is in files, whatever queries may take.";

use Way::{Deaf, Each, Halves, Line, Lines, Long, Parameter, Parameters, Prepare, Say};

const MILLION: usize = 1_000_000;

pub(super) const HOSTILE: &[Hostile] = &[
    // Texts.
    may("50 MB of semicolons", Long("", ";", 50 * MILLION, "")),
    may("50 MB of blanks", Long("SELECT", " ", 50 * MILLION, "1")),
    may("a comment of 50 MB", Long("SELECT 1 /*", "x", 50 * MILLION, "*/")),
    may("a list of 6,000,000 numbers", Long("SELECT 1 IN (", "1234567,", 6 * MILLION, "1)")),
    may("a list of 60,000 texts", Long("SELECT count(*) FROM big WHERE t IN (", "'xyzxyz',", 60_000, "'')")),
    may("an array of 2,000,000 numbers", Long("SELECT ARRAY[", "12345,", 2 * MILLION, "1]")),
    may("VALUES of 1,000,000 rows", Long("SELECT count(*) FROM (VALUES (0)", ",(1)", MILLION, ") v")),
    also("INSERT of 500,000 rows", &["23505"], Long("INSERT INTO sink VALUES (0, '')", ",(1, 'x')", 500_000, "")),
    may("a text of 60 MB", Long("SELECT length('", "x", 60 * MILLION, "')")),
    may("a jsonb of 40 MB", Long("SELECT jsonb_array_length('[", "1,", 20 * MILLION, "1]'::jsonb)")),
    may("an array of 50 MB as text", Long("SELECT array_length('{", "1,", 25 * MILLION, "1}'::int[], 1)")),
    beyond("UNION ALL of 900", 96, DEEP, Long("SELECT 1", " UNION ALL SELECT 1", 900, "")),
    may("UNION ALL of 200,000", Long("SELECT 1", " UNION ALL SELECT 1", 200_000, "")),
    may("OR of 9,000", Long("SELECT count(*) FROM big WHERE id = 0", " OR id = 5", 9_000, "")),
    may("500,000 columns", Long("SELECT 1", ", 1", 500_000, "")),
    may("arrays in arrays", Long("SELECT ", "ARRAY[", 30, "1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]")),
    may("casts of casts", Long("SELECT 1", "::int", 100_000, "")),
    may("300 statements in one text", Long("", "SELECT max(t) FROM big;", 300, "")),
    // Values that functions make.
    may("repeat of 1 GB", Say(&["SELECT length(repeat('x', 1000000000))"])),
    may("repeat of 50 MB in each row", Say(&["SELECT max(repeat(t, 250000)) FROM big"])),
    may("lpad to 900 MB", Say(&["SELECT length(lpad('', 900000000, 'xy'))"])),
    may("replace to 10 GB", Say(&["SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 10000)))"])),
    may("translate and reverse of 30 MB", Say(&["SELECT length(reverse(translate(repeat('ab', 15000000), 'a', 'é')))"])),
    may("regexp_replace to 10 GB", Say(&["SELECT length(regexp_replace(repeat('x', 1000000), 'x', repeat('y', 10000), 'g'))"])),
    may("format of 400 MB", Say(&["SELECT length(format('%s%s%s%s', v, v, v, v)) FROM (SELECT repeat('x', 100000000) v) s"])),
    may("concat of 300 MB", Say(&["SELECT length(concat(v, v, v)) FROM (SELECT repeat('x', 100000000) v) s"])),
    may("|| of each row with 1 MB", Say(&["SELECT max(t || repeat('x', 1000000)) FROM big"])),
    may("to_char with a template of 30 MB", Say(&["SELECT length(to_char(now(), repeat('Day', 10000000)))"])),
    may("string_to_array of 20,000,000", Say(&["SELECT cardinality(string_to_array(repeat('a,', 20000000), ','))"])),
    may(
        "regexp_split_to_table of 10,000,000",
        Say(&["SELECT count(*) FROM regexp_split_to_table(repeat('a,', 10000000), ',')"]),
    ),
    may("regexp_matches of 10,000,000", Say(&["SELECT count(*) FROM regexp_matches(repeat('a', 10000000), 'a', 'g')"])),
    also("a pattern that repeats a repetition", &["2201B"], Say(&["SELECT repeat('x', 5000) ~ '(((x{1,200}){1,200}){1,200})y'"])),
    may("hex and base64 of 100 MB", Say(&["SELECT length(encode(convert_to(repeat('x', 100000000), 'UTF8'), 'hex'))"])),
    may("array_fill of 100,000,000", Say(&["SELECT cardinality(array_fill(1, ARRAY[100000000]))"])),
    also("a numeric of 100,000 digits", &["22003"], Say(&["SELECT length((10::numeric ^ 100000)::text)"])),
    may(
        "json of json of json",
        Say(&["WITH RECURSIVE r(j) AS (VALUES ('[1]'::jsonb) UNION ALL SELECT jsonb_build_array(j, j, j, j) FROM r)
               SELECT length(j::text) FROM r"]),
    ),
    // Recursion.
    may(
        "recursion of t || t",
        Say(&["WITH RECURSIVE r(t) AS (VALUES (repeat('x', 1000)) UNION ALL SELECT t || t FROM r) SELECT length(t) FROM r"]),
    ),
    may(
        "recursion without end",
        Say(&["WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"]),
    ),
    may(
        "recursion without end, each row once",
        Say(&["WITH RECURSIVE r(n) AS (VALUES (1::bigint) UNION SELECT n + 1 FROM r) SELECT count(*) FROM r"]),
    ),
    may(
        "recursion that doubles its rows",
        Say(&["WITH RECURSIVE r(n, t) AS (SELECT 1, t FROM big UNION ALL SELECT n + 1, r.t FROM r, (VALUES (1), (2)) v)
               SELECT count(t) FROM r"]),
    ),
    may(
        "WITH queries that double",
        Say(&["WITH a AS (SELECT 1 x), b AS (SELECT a.x FROM a, a c), c AS (SELECT b.x FROM b, b d), d AS (SELECT c.x FROM c, c e),
               e AS (SELECT d.x FROM d, d f), f AS (SELECT e.x FROM e, e g), g AS (SELECT f.x FROM f, f h),
               h AS (SELECT g.x FROM g, g i), i AS (SELECT h.x FROM h, h j), j AS (SELECT i.x FROM i, i k),
               k AS (SELECT j.x FROM j, j l), l AS (SELECT k.x FROM k, k m), m AS (SELECT l.x FROM l, l n)
               SELECT count(*) FROM m a, m b"]),
    ),
    // Aggregates that keep what they see.
    may("array_agg of 10^10", Say(&["SELECT cardinality(array_agg(a)) FROM generate_series(1, 9000000) a, generate_series(1, 1000) b"])),
    may("a series of 10^10", Say(&["SELECT count(*) FROM generate_series(1, 10000000000)"])),
    may("string_agg of 10^9 texts", Say(&["SELECT length(string_agg(a.t, ',')) FROM big a, big b"])),
    beyond("string_agg of each text once", 48, ONCE, Say(&["SELECT length(string_agg(DISTINCT a.t || b.id, ',')) FROM big a, big b"])),
    may("jsonb_agg of rows", Say(&["SELECT length(jsonb_agg(a)::text) FROM big a, generate_series(1, 1000) b"])),
    may("json_object_agg of rows", Say(&["SELECT length(json_object_agg(a.id || '-' || b, a.t)::text) FROM big a, generate_series(1, 1000) b"])),
    may("ARRAY of a query", Say(&["SELECT cardinality(ARRAY(SELECT a.t FROM big a, generate_series(1, 1000) b))"])),
    beyond("arrays of arrays of a query", 96, TOGETHER, Say(&["SELECT array_agg(x) FROM (SELECT array_agg(a.t) x FROM big a, generate_series(1, 1000) b GROUP BY a.g) s"])),
    must("count(DISTINCT) of 3,000,000", Say(&["SELECT count(DISTINCT a) FROM generate_series(1, 3000000) a"])),
    may("count(DISTINCT) of 10^9 texts", Say(&["SELECT count(DISTINCT a.t || b.t) FROM big a, big b"])),
    must("count(DISTINCT) in 10,000 groups", Say(&["SELECT max(c) FROM (SELECT count(DISTINCT a) c FROM generate_series(1, 1000000) a GROUP BY a % 10000) s"])),
    must("several DISTINCT in 1,000 groups", Say(&["SELECT max(c), max(d) FROM (SELECT count(DISTINCT a) c, count(DISTINCT a / 3) d, sum(a) FROM generate_series(1, 300000) a GROUP BY a % 1000) s"])),
    may("sum(DISTINCT) and others", Say(&["SELECT sum(DISTINCT a), avg(DISTINCT a::numeric), count(DISTINCT a::text) FROM generate_series(1, 3000000) a"])),
    must(
        "percentile_cont over 10,000 groups",
        Say(&["SELECT max(p) FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) p FROM generate_series(1, 2000000) a GROUP BY a % 10000) s"]),
    ),
    may("percentile_disc of texts", Say(&["SELECT length(percentile_disc(0.5) WITHIN GROUP (ORDER BY a.t)) FROM big a, generate_series(1, 1000) b"])),
    must("percentile_disc and mode of 500,000", Say(&["SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY a / 3) FROM generate_series(1, 500000) a"])),
    may("mode of 10^9", Say(&["SELECT mode() WITHIN GROUP (ORDER BY a) FROM generate_series(1, 9000000) a, generate_series(1, 100) b"])),
    // Grouping.
    may("CUBE of six columns", Say(&["SELECT count(*) FROM (SELECT a.t, b.t, count(*) FROM big a, generate_series(1, 20) b(t) GROUP BY CUBE (a.id, a.g, a.d, a.t, b.t, a.id + b.t)) s"])),
    may("ROLLUP of wide texts", Say(&["SELECT count(*) FROM (SELECT count(*) FROM big a, generate_series(1, 50) b(n) GROUP BY ROLLUP (a.t, b.n, a.t || b.n)) s"])),
    must("groups of 1,000,000 numbers", Say(&["SELECT count(*) FROM (SELECT a FROM generate_series(1, 1000000) a GROUP BY a) s"])),
    beyond("DISTINCT of wide rows", 48, SPILLED, Say(&["SELECT count(*) FROM (SELECT DISTINCT a.t || b.n, a.* FROM big a, generate_series(1, 100) b(n)) s"])),
    may("EXCEPT and INTERSECT", Say(&["SELECT count(*) FROM (SELECT a.t || n FROM big a, generate_series(1, 50) n EXCEPT SELECT a.t || n FROM big a, generate_series(2, 51) n) s"])),
    // Joins and sorts.
    may("a cross join of wide rows", Say(&["SELECT max(a.t || b.t || c.t) FROM big a, big b, big c"])),
    may("a cross join that is sent", Say(&["SELECT a.*, b.* FROM big a, big b"])),
    beyond("a join of few keys, sorted", 64, SORTED, Say(&["SELECT a.t, b.t FROM big a JOIN big b ON a.g = b.g ORDER BY a.t || b.t OFFSET 1000000000"])),
    may("a join with a range", Say(&["SELECT count(*) FROM big a JOIN big b ON a.id < b.id AND a.d > b.g"])),
    may("FULL JOIN of expressions", Say(&["SELECT count(*) FROM big a FULL JOIN big b ON a.t || 'x' = b.t || 'y'"])),
    must("a sort of 2,000,000 rows", Say(&["SELECT max(n) FROM (SELECT a n FROM generate_series(1, 2000000) a ORDER BY -a OFFSET 10) s"])),
    may("a sort of 10^10 rows", Say(&["SELECT a, b FROM generate_series(1, 9000000) a, generate_series(1, 1000) b ORDER BY b, a DESC OFFSET 1000000000"])),
    may("a window over one partition", Say(&["SELECT max(s) FROM (SELECT sum(a) OVER () s FROM generate_series(1, 9000000) a) s"])),
    may("windows in two orders", Say(&["SELECT max(s) FROM (SELECT row_number() OVER (ORDER BY a.t) + rank() OVER (ORDER BY a.t DESC, n) s FROM big a, generate_series(1, 100) n) s"])),
    may("a sub-query in each row", Say(&["SELECT count((SELECT max(b.t) FROM big b WHERE b.g < a.g)) FROM big a"])),
    may("EXPLAIN ANALYZE", Say(&["EXPLAIN ANALYZE SELECT array_agg(a.t || b.t) FROM big a, big b"])),
    // What a session keeps.
    may(
        "a cursor WITH HOLD",
        Say(&["BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT a.t, n FROM big a, generate_series(1, 100) n", "COMMIT",
              "FETCH 10 FROM c", "CLOSE c"]),
    ),
    may(
        "a cursor that scrolls",
        Say(&["BEGIN", "DECLARE c SCROLL CURSOR FOR SELECT a.t, n FROM big a, generate_series(1, 100) n", "FETCH LAST FROM c",
              "FETCH FIRST FROM c", "COMMIT"]),
    ),
    may(
        "2,000 cursors",
        Each(&["BEGIN"], "DECLARE c{i} SCROLL CURSOR WITH HOLD FOR SELECT t FROM big LIMIT 1000; FETCH LAST FROM c{i}", 2_000),
    ),
    may("20,000 prepared statements", Each(&[], "PREPARE p{i} AS SELECT a.t || b.t || '{i}' FROM big a JOIN big b ON a.g = b.id WHERE a.id IN (1, 2, {i})", 20_000)),
    may("prepared statements of 1 MB", Each(&[], "PREPARE p{i} AS SELECT length(repeat('x', 1000000)), {i}, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", 5_000)),
    may("5,000 statements of the extended protocol", Prepare("SELECT a.t, b.t, {i} FROM big a JOIN big b USING (g) WHERE a.id = $1 ORDER BY b.d", 5_000)),
    may("20,000 settings", Each(&[], "SET my.v{i} = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", 20_000)),
    may("20,000 savepoints", Each(&["BEGIN"], "SAVEPOINT s{i}", 20_000)),
    may("20,000 channels", Each(&[], "LISTEN c{i}", 20_000)),
    may("500 temporary tables", Each(&[], "CREATE TEMP TABLE t{i} (id int PRIMARY KEY, t text)", 500)),
    also("advisory locks", &["40P01"], Say(&["SELECT count(pg_advisory_lock(a)) FROM generate_series(1, 5000000) a"])),
    may("advisory locks of a transaction, each many times", Say(&["BEGIN", "SELECT count(pg_advisory_xact_lock_shared(a % 7)) FROM generate_series(1, 50000000) a", "ROLLBACK"])),
    may("notifications of 10 GB", Say(&["LISTEN c", "BEGIN", "SELECT count(pg_notify('c', repeat('x', 7000) || a)) FROM generate_series(1, 1000000) a", "ROLLBACK"])),
    // Values and lines that come.
    may("a parameter of 60 MB", Parameter("SELECT length($1::text)", "", "x", 60 * MILLION, "")),
    may("a jsonb parameter of 40 MB", Parameter("SELECT jsonb_array_length($1::text::jsonb)", "[", "{\"a\":[1]},", 4 * MILLION, "1]")),
    may("an array parameter of 40 MB", Parameter("SELECT cardinality($1::text::int[])", "{", "1,", 20 * MILLION, "1}")),
    may("60,000 parameters", Parameters(60_000, 700)),
    also("COPY of a line without end", &["22P04", "54000"], Line("COPY sink FROM STDIN", 1 << 30)),
    also("COPY of a CSV field without end", &["22P04", "54000"], Line("COPY sink FROM STDIN (FORMAT csv, DELIMITER E'\\t')", 1 << 30)),
    also("COPY of a line of 30 MB", &["22001"], Line("COPY sink FROM STDIN", 30 << 20)),
    also("COPY of 300,000 lines in a block", &["0A000", "23505"], Lines("COPY sink FROM STDIN", "{n}{i}\txxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 300_000)),
    also("a transaction of 10,000,000 short rows", &["23505"], Say(&["SET egt.mode = observe", "BEGIN", "INSERT INTO sink SELECT -a - {n}0000000, 'y' FROM generate_series(1, 10000000) a", "ROLLBACK"])),
    // The first one to commit fills an empty table, and its rows may be more than a transaction may hold.
    Hostile {
        also: &["40001"],
        ..beyond(
            "a transaction of 100,000 rows, committed",
            224,
            COMMITTED,
            Say(&["SET egt.mode = observe", "BEGIN", "INSERT INTO sink SELECT -a - {n}000000, repeat('y', 1000) FROM generate_series(1, 100000) a", "COMMIT"]),
        )
    },
    Hostile {
        also: &["23505"],
        ..beyond("a transaction of 900,000 rows of 1 KB", 224, ON_THEIR_WAY, Say(&["SET egt.mode = observe", "BEGIN", "INSERT INTO sink SELECT -a - {n}000000, repeat('y', 1000) FROM generate_series(1, 900000) a", "ROLLBACK"]))
    },
    also("a change of each row", &["40001", "40P01"], Say(&["SET egt.mode = observe", "BEGIN", "UPDATE big SET t = t || 'x' RETURNING t", "ROLLBACK"])),
    may("FOR UPDATE of a cross join", Say(&["BEGIN", "SELECT a.t, b.t FROM big a, big b FOR SHARE", "ROLLBACK"])),
    may("messages that do not end", Halves(20, 4 << 20)),
    may("clients that do not read", Deaf(15, "SELECT a.t, b.t FROM big a, big b")),
];
