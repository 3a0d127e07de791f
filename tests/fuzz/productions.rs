//! What of the grammar can be within itself or follow itself, and the forms that values have as texts.

/// A form that is written again and again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Production {
    pub name: &'static str,
    before: &'static str,
    open: &'static str,
    core: &'static str,
    close: &'static str,
    after: &'static str,
}

impl Production {
    /// The text with the form so many times in it.
    pub(super) fn text(&self, times: usize) -> String {
        let Self { before, open, core, close, after, .. } = self;
        // A number of its own for each where one is asked for.
        let numbered = |part: &str| match part.contains('#') {
            true => (0..times).map(|n| part.replace('#', &n.to_string())).collect(),
            false => part.repeat(times),
        };
        [*before, &numbered(open), core, &numbered(close), after].concat()
    }

    /// How many times it fits into so many bytes.
    pub(super) fn times_in(&self, bytes: usize) -> usize {
        bytes / (self.open.len() + self.close.len()).max(1)
    }
}

/// Something around itself.
const fn nest(
    name: &'static str,
    before: &'static str,
    [open, core, close]: [&'static str; 3],
    after: &'static str,
) -> Production {
    Production { name, before, open, core, close, after }
}

/// Something behind itself.
const fn chain(name: &'static str, before: &'static str, link: &'static str, after: &'static str) -> Production {
    Production { name, before, open: link, core: "", close: "", after }
}

/// Statements. The table `t (id int, a int, b text, j jsonb)` is there, and a view `v` of it.
pub(super) const STATEMENTS: &[Production] = &[
    chain("cast", "SELECT 1", "::int", ""),
    chain("casts of two types", "SELECT a", "::int8::text", " FROM t"),
    nest("CAST", "SELECT ", ["CAST(", "1", " AS int)"], ""),
    nest("call", "SELECT ", ["abs(", "a", ")"], " FROM t"),
    nest("coalesce", "SELECT ", ["coalesce(b, ", "'x'", ")"], " FROM t"),
    nest("parentheses", "SELECT ", ["(", "1", ")"], ""),
    nest("parentheses with operators", "SELECT ", ["(1 + ", "1", ")"], ""),
    nest("disjunctions on the left", "SELECT FROM t WHERE ", ["(", "a = 1", " OR b = 'x')"], ""),
    chain("minus", "SELECT ", "- ", "1"),
    chain("NOT", "SELECT ", "NOT ", "true"),
    nest("NOT of parentheses", "SELECT ", ["NOT (", "true", ")"], ""),
    nest("NOT of a mistake", "SELECT ", ["NOT (", "1 1", ")"], ""),
    chain("+", "SELECT a", " + 1", " FROM t"),
    chain("+ of numerics", "SELECT 1.5", " + 1.25", ""),
    chain("*", "SELECT 1", " * 1", ""),
    chain("^", "SELECT 1", " ^ 1", ""),
    chain("||", "SELECT b", " || 'x'", " FROM t"),
    chain("= and <>", "SELECT true", " = true <> false", ""),
    chain("~", "SELECT b", " ~ 'x' = true", " FROM t"),
    chain("&", "SELECT a", " & 3 | 4 << 1", " FROM t"),
    chain("AND", "SELECT FROM t WHERE a > 0", " AND a <> #", ""),
    chain("OR of one column", "SELECT FROM t WHERE a = 0", " OR a = #", ""),
    chain("OR of AND", "SELECT FROM t WHERE a = 0", " OR a = # AND b = 'x#'", ""),
    chain("IN", "SELECT FROM t WHERE a IN (1", ", #", ")"),
    chain("IN of rows", "SELECT FROM t WHERE (id, a) IN ((1, 2)", ", (#, #)", ")"),
    nest("IN within IN", "SELECT ", ["(true IN (false, ", "true", "))"], ""),
    chain("IS NULL", "SELECT a", " IS NULL", " FROM t"),
    chain("IS DISTINCT FROM", "SELECT 1", " IS DISTINCT FROM 1", ""),
    chain("BETWEEN", "SELECT true", " BETWEEN true AND false", ""),
    nest("BETWEEN SYMMETRIC", "SELECT ", ["(", "1", " BETWEEN SYMMETRIC 1 AND 2)::int"], ""),
    chain("LIKE", "SELECT b", " LIKE 'x' ESCAPE '#'", " FROM t"),
    chain("AT TIME ZONE", "SELECT now()", " AT TIME ZONE 'UTC'", ""),
    chain("COLLATE", "SELECT b", " COLLATE \"C\"", " FROM t"),
    chain("->", "SELECT j", " -> 'a'", " FROM t"),
    chain("->>", "SELECT (j", " -> 'a' ->> 'b')::jsonb", " FROM t"),
    chain("subscripts of jsonb", "SELECT j", "['a']", " FROM t"),
    chain("subscripts of arrays", "SELECT (ARRAY[1])", "[1]", ""),
    chain("fields", "SELECT (t)", ".a", " FROM t"),
    chain("names", "SELECT t", ".a", " FROM t"),
    nest("ARRAY", "SELECT ", ["ARRAY[", "1", "]"], ""),
    nest("ROW", "SELECT ", ["ROW(1, ", "1", ")"], ""),
    nest("= ANY", "SELECT ", ["(1 = ANY (ARRAY[", "1", "]))::int"], ""),
    nest("CASE in CASE", "SELECT ", ["CASE WHEN a = 1 THEN 1 ELSE ", "2", " END"], " FROM t"),
    nest("CASE of CASE", "SELECT ", ["CASE ", "a", " WHEN 1 THEN 1 WHEN 2 THEN 3 END"], " FROM t"),
    chain("WHEN", "SELECT CASE a", " WHEN # THEN 'x#'", " END FROM t"),
    chain("INTERVAL", "SELECT now()", " + INTERVAL '1' DAY", ""),
    chain("INTERVAL again", "SELECT ", "INTERVAL ", "'1 day'"),
    nest("EXTRACT", "SELECT ", ["EXTRACT(year FROM now() + ", "'1 day'", "::interval)"], ""),
    nest("SUBSTRING", "SELECT ", ["SUBSTRING(", "b", " FROM 1 FOR 2)"], " FROM t"),
    nest("aggregates", "SELECT ", ["sum(", "a", ")"], " FROM t"),
    nest("FILTER", "SELECT ", ["count(*) FILTER (WHERE a > ", "1", ")"], " FROM t"),
    nest("windows", "SELECT ", ["row_number() OVER (ORDER BY ", "a", ")"], " FROM t"),
    nest("scalar sub-query", "SELECT ", ["(SELECT ", "1", ")"], ""),
    nest("EXISTS", "SELECT ", ["EXISTS (SELECT FROM t WHERE ", "true", ")"], ""),
    nest("IN of a query", "SELECT FROM t WHERE ", ["a IN (SELECT a FROM t WHERE ", "true", ")"], ""),
    nest("query in FROM", "SELECT * FROM ", ["(SELECT * FROM ", "t", ") AS q"], ""),
    nest("LATERAL", "SELECT FROM t", [", LATERAL (SELECT t.a FROM t AS t#", "", ") AS q#"], ""),
    nest("parentheses in FROM", "SELECT * FROM ", ["(", "t", ")"], ""),
    nest("joins in parentheses", "SELECT FROM ", ["(t AS x# CROSS JOIN ", "t", ")"], ""),
    chain("JOIN", "SELECT FROM t", " JOIN t AS t# ON t.id = t#.id", ""),
    chain("NATURAL JOIN", "SELECT FROM t", " NATURAL JOIN t AS t#", ""),
    chain("LEFT JOIN of a view", "SELECT FROM t", " LEFT JOIN v AS v# USING (id)", ""),
    chain("list in FROM", "SELECT FROM t", ", t AS t#", ""),
    chain("select list", "SELECT a", ", a AS a#", " FROM t"),
    chain("GROUP BY", "SELECT FROM t GROUP BY a", ", a + #", ""),
    chain("ORDER BY", "SELECT FROM t ORDER BY a", ", a + #", ""),
    nest("grouping sets", "SELECT FROM t GROUP BY ", ["GROUPING SETS (", "(a)", ")"], ""),
    chain("UNION ALL", "SELECT 1", " UNION ALL SELECT 1", ""),
    chain("UNION ALL of tables", "SELECT a FROM t", " UNION ALL SELECT a + 1 FROM t WHERE a = #", ""),
    chain("EXCEPT", "SELECT 1", " EXCEPT SELECT #", ""),
    nest("INTERSECT", "", ["(SELECT 1 INTERSECT ", "SELECT 1", ")"], ""),
    chain("VALUES", "VALUES (1, 'x')", ", (#, 'x#')", ""),
    chain("INSERT", "INSERT INTO t VALUES (-1, 1)", ", (-1, #)", ""),
    chain("SET of UPDATE", "UPDATE t SET a = 1", ", b = 'x#'", " WHERE id = 0"),
    chain("WITH", "WITH w AS (SELECT 1 AS x)", ", w# AS (SELECT x FROM w)", " SELECT FROM w"),
    nest("WITH in WITH", "", ["WITH w AS (", "SELECT 1", ") SELECT * FROM w"], ""),
    chain("EXPLAIN", "", "EXPLAIN ", "SELECT 1"),
    chain("PREPARE", "", "PREPARE p AS ", "SELECT 1"),
    chain("DECLARE", "", "DECLARE c CURSOR FOR ", "SELECT 1"),
    chain("statements", "", "SELECT 1;", ""),
    chain("empty statements", "", ";", ""),
    chain("types of several dimensions", "SELECT NULL::int", "[]", ""),
    nest("types within types", "SELECT NULL::", ["ARRAY<", "int", ">"], ""),
    nest("CHECK", "CREATE TABLE n (a int PRIMARY KEY CHECK (", ["(a > 0 AND ", "true", ")"], "))"),
    chain("CHECK of OR", "CREATE TABLE n (a int PRIMARY KEY CHECK (a > 0", " OR a = #", "))"),
    nest("DEFAULT", "CREATE TABLE n (a int PRIMARY KEY DEFAULT ", ["(1 + ", "1", ")"], ")"),
    chain("columns", "CREATE TABLE n (a int PRIMARY KEY", ", c# int", ")"),
    nest("view", "CREATE VIEW n AS SELECT ", ["(1 + ", "1", ")"], " AS x"),
    chain("GRANT", "GRANT SELECT", ", SELECT", " ON t TO u"),
    chain("COMMENT", "COMMENT ON TABLE t IS ", "'x' ", ""),
    chain("SET", "SET search_path = public", ", public", ""),
    nest("comments", "SELECT 1 ", ["/* ", "x", " */"], ""),
    nest("DO", "", ["DO $a#$ ", "SELECT 1", " $a#$"], ""),
    nest("JSON functions", "SELECT ", ["jsonb_build_array(1, ", "2", ")"], ""),
    nest("rows compared", "SELECT FROM t WHERE ", ["(1, (", "1", ")) = (1, 1)"], ""),
];

/// Types, and the texts of their values.
pub(super) const VALUES: &[(&str, Production)] = &[
    ("json", nest("json arrays", "", ["[", "1", "]"], "")),
    ("json", nest("json objects", "", ["{\"a\": ", "1", "}"], "")),
    ("jsonb", nest("jsonb arrays", "", ["[", "1", "]"], "")),
    ("jsonb", nest("jsonb objects", "", ["{\"b\": 1, \"a\": ", "1", "}"], "")),
    ("jsonb", chain("jsonb not closed", "", "[{\"a\": ", "")),
    ("jsonb", chain("jsonb items", "[1", ", {\"a\": #}", "]")),
    ("jsonb", chain("digits in jsonb", "1", "0", "")),
    ("int[]", nest("arrays in arrays", "", ["{", "1", "}"], "")),
    ("text[]", chain("items", "{x", ", \"y\"", "}")),
    ("text[]", chain("backslashes", "{", "\\", "}")),
    ("numeric", chain("digits", "1", "7", "")),
    ("numeric", chain("digits behind the point", "0.", "1", "")),
    ("float8", chain("digits of a float", "1", "3", "")),
    ("int", chain("digits of an integer", "1", "1", "")),
    ("interval", chain("interval", "", "1 day ", "")),
    ("timestamptz", chain("timestamp", "2020-01-01", " 00:00", "")),
    ("bytea", chain("bytea", "\\x", "00", "")),
    ("uuid", chain("uuid", "", "a0", "")),
    ("bool", chain("blanks", "", " ", "true")),
    ("int2vector", chain("vector", "1", " 2", "")),
    ("name", chain("name", "", "é", "")),
    ("bit varying", chain("bits", "", "01", "")),
    ("regclass", chain("name of a table", "t", ".t", "")),
];

/// Calls of a text that says what is to be done.
pub(super) const PATTERNS: &[(&str, Production)] = &[
    ("SELECT 'x' ~ ?", nest("regular expression", "", ["(", "x", ")"], "")),
    ("SELECT 'x' ~ ?", chain("branches", "x", "|y", "")),
    ("SELECT 'x' ~ ?", nest("repetitions", "", ["(", "x", "){2}"], "")),
    ("SELECT 'x' ~ ?", chain("brackets", "", "[[:alpha:]]", "")),
    ("SELECT 'x' LIKE ?", chain("LIKE pattern", "", "%_", "")),
    ("SELECT repeat('x', 1000) LIKE ?", chain("LIKE pattern that looks back", "", "%x", "y")),
    ("SELECT 'x' SIMILAR TO ?", nest("SIMILAR TO", "", ["(", "x", ")"], "")),
    ("SELECT regexp_replace('x', 'x', ?)", chain("replacement", "", "\\1", "")),
    ("SELECT to_char(now(), ?)", chain("format of dates", "", "YYYY", "")),
    ("SELECT to_char(1, ?)", chain("format of numbers", "", "9", "")),
    ("SELECT to_char(1.5, ?)", chain("format of digits behind the point", "9.", "9", "")),
    ("SELECT to_char(1.5, ?)", chain("format with an exponent", "9.", "9", "EEEE")),
    ("SELECT to_char(1.5::float8, ?)", chain("format of a float", "9.", "9", "EEEE")),
    ("SELECT to_date('2020', ?)", chain("format to read dates", "", "YYYY ", "")),
    ("SELECT format(?, 1)", chain("format", "", "%1$s", "")),
    ("SELECT jsonb_pretty(?::jsonb)", nest("jsonb_pretty", "", ["[", "1", "]"], "")),
    ("SELECT jsonb_strip_nulls(?::jsonb)", nest("jsonb_strip_nulls", "", ["{\"a\": ", "1", "}"], "")),
    ("SELECT j @> j FROM (SELECT ?::jsonb AS j) AS q", nest("@>", "", ["[", "1", "]"], "")),
    ("SELECT j < j FROM (SELECT ?::jsonb AS j) AS q", nest("order of jsonb", "", ["[", "1", "]"], "")),
    ("SELECT ?::jsonb #> '{0,0,0}'", nest("#>", "", ["[", "1", "]"], "")),
    ("SELECT jsonb_set(?, '{0,0,0}', '1')", nest("jsonb_set", "", ["[", "1", "]"], "")),
    ("SELECT ?::jsonb || '[1]'", nest("|| of jsonb", "", ["[", "1", "]"], "")),
    ("SELECT jsonb_agg(j) FROM (SELECT ?::jsonb AS j) AS q", nest("jsonb_agg", "", ["[", "1", "]"], "")),
];
