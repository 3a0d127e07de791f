#!/usr/bin/env bash
# Loads TPC-H into tablegate and into PostgreSQL 15, runs the 22 queries on both, compares the answers and the times.
#
#   examples/tpch/run.sh [SCALE]
#
# SCALE is 0.1 unless given: about a hundred megabytes of text. TABLEGATE names the server's binary and TPCH the
# generator's (default: targets of `cargo build --release --example tpch` and `cargo build --release`).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
queries=$here/../../sql/tpch
scale=${1:-0.1}
generator=${TPCH:-${CARGO_TARGET_DIR:-target}/release/examples/tpch}
. "$here/../../benches/servers.sh"

work=$(mktemp -d)
trap 'stop_servers; rm -rf "$work"' EXIT
chmod 755 "$work"
"$generator" "$scale" "$work"

start_postgres "$work/postgres"
start_tablegate "$work/tablegate" --no-sample --egt-mode observe # which records the foreign keys

load() { # load LABEL PSQL...
    local label=$1 table started
    shift
    started=$EPOCHREALTIME
    "$@" -q -v ON_ERROR_STOP=1 -f "$queries/schema.sql" 2>/dev/null
    for table in region nation part supplier partsupp customer orders lineitem; do
        "$@" -q -v ON_ERROR_STOP=1 -c "\\copy $table FROM '$work/$table.tbl' WITH (DELIMITER '|')" 2>"$work/notices" || {
            cat "$work/notices" >&2
            return 1
        }
    done
    "$@" -q -c ANALYZE
    printf '%-10s loaded at scale %s in %.1f s\n' "$label" "$scale" "$(seconds_since "$started")"
}
load PostgreSQL "${POSTGRES[@]}"
load tablegate "${TABLEGATE_PSQL[@]}"

ask() { # ask QUERY-FILE ANSWER-FILE PSQL...: the seconds it took
    local query=$1 answer=$2 started
    shift 2
    started=$EPOCHREALTIME
    "$@" -q -A -t -v ON_ERROR_STOP=1 -v "scale=$scale" -f "$query" >"$answer" 2>&1 || true
    seconds_since "$started"
}

# tablegate shows no more than 20 digits behind the point, also of a quotient that is 0.
without_zeros() { perl -pe 's/\.(\d{16,})(?=\||$)/my $digits = $1 =~ s,0+$,,r; $digits eq "" ? "" : ".$digits"/ge' "$1"; }

different=0
printf '%-6s %-10s %12s %12s\n' query answers PostgreSQL tablegate
for query in "$queries"/queries/q*.sql; do
    name=$(basename "$query" .sql)
    reference=$(ask "$query" "$work/$name.expected" "${POSTGRES[@]}")
    own=$(ask "$query" "$work/$name.answer" "${TABLEGATE_PSQL[@]}")
    verdict=equal
    without_zeros "$work/$name.expected" >"$work/$name.wanted"
    without_zeros "$work/$name.answer" >"$work/$name.got"
    if ! cmp -s "$work/$name.wanted" "$work/$name.got"; then
        verdict=DIFFERENT
        different=$((different + 1))
        diff "$work/$name.wanted" "$work/$name.got" | head -5 >"$work/$name.diff" || true
    fi
    printf '%-6s %-10s %10.2f s %10.2f s\n' "$name" "$verdict" "$reference" "$own"
    [ "$verdict" = equal ] || cat "$work/$name.diff"
done
echo "tablegate's resident memory: $(tablegate_memory_mb) MB"
[ "$different" = 0 ]
