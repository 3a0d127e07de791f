#!/usr/bin/env bash
# Loads nycflights13 into tablegate and into PostgreSQL 15, runs the same queries on both and compares the answers.
#
#   examples/nycflights/run.sh [--azurite] DATA_FOLDER
#
# With --azurite tablegate keeps the rows in Azurite, the emulator of the Table service (tests/azurite/install.sh puts it
# in place), instead of its embedded store. benches/azurite_index.js gives it the index that so many rows need.
# DATA_FOLDER holds airlines.csv airports.csv planes.csv weather.csv and flights.csv (or flights.csv.zip).
# TABLEGATE names the binary (default: target of `cargo build --release`).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
on_azurite=no
if [ "${1:-}" = --azurite ]; then
    on_azurite=yes
    shift
fi
data=$(cd "${1:?usage: run.sh [--azurite] DATA_FOLDER}" && pwd)
. "$here/../../benches/servers.sh"

work=$(mktemp -d)
trap 'stop_servers; rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$data"/*.csv "$work" 2>/dev/null || true
[ -e "$work/flights.csv" ] || unzip -q -o "$data/flights.csv.zip" -d "$work"

start_postgres "$work/postgres"
flags=(--no-sample)
if [ $on_azurite = yes ]; then
    start_azurite "$work/azurite"
    # It does one thing at a time: more requests would only wait in it, until they are given up.
    flags+=(--account-requests 8)
fi
start_tablegate "$work/tablegate" "${flags[@]}"

load() { # load LABEL PSQL...
    local label=$1 table started
    shift
    "$@" -q -v ON_ERROR_STOP=1 -f "$here/schema.sql" 2>/dev/null
    for table in airlines airports planes weather flights; do
        started=$EPOCHREALTIME
        "$@" -q -v ON_ERROR_STOP=1 -c "\\copy $table FROM '$work/$table.csv' WITH (FORMAT csv, HEADER, NULL 'NA')" 2>"$work/notices" || {
            cat "$work/notices" >&2
            return 1
        }
        printf '%-12s %-10s loaded in %6.2f s\n' "$label" "$table" "$(seconds_since "$started")"
    done
}
load PostgreSQL "${POSTGRES[@]}"
load tablegate "${TABLEGATE_PSQL[@]}"

"${POSTGRES[@]}" -q -f "$here/queries.sql" >"$work/expected"
"${TABLEGATE_PSQL[@]}" -q -f "$here/queries.sql" >"$work/answers" 2>&1
if ! diff "$work/expected" "$work/answers"; then
    echo "the answers differ" >&2
    exit 1
fi
echo "all $(grep -c '^--' "$work/expected") queries give the same answers ($(wc -l <"$work/expected") lines)"

expect_scope() { # expect_scope SCOPE QUERY
    local plan
    plan=$("${TABLEGATE_PSQL[@]}" -q -t -A -c "EXPLAIN $2")
    if ! grep -q "Scope: $1\$" <<<"$plan"; then
        printf 'expected scope %s:\n%s\n' "$1" "$plan" >&2
        exit 1
    fi
    echo "scope $1: $2"
}
point="SELECT * FROM flights WHERE origin = 'EWR' AND time_hour = '2013-01-01T10:00:00Z' AND carrier = 'UA' AND flight = 1545"
expect_scope point "$point"
if [ $on_azurite = yes ]; then
    plan=$("${TABLEGATE_PSQL[@]}" -q -t -A -c "EXPLAIN ANALYZE $point")
    if ! grep -q "Requests: 1\$" <<<"$plan"; then
        printf 'expected one request:\n%s\n' "$plan" >&2
        exit 1
    fi
    echo "one request: EXPLAIN ANALYZE $point"
fi
expect_scope "row range" "SELECT * FROM flights WHERE origin = 'EWR' AND time_hour >= '2013-07-04T04:00:00Z' AND time_hour < '2013-07-05T04:00:00Z'"

echo "resident memory before SELECT * FROM flights: $(tablegate_memory_mb) MB"
"${TABLEGATE_PSQL[@]}" -q -t -A -v FETCH_COUNT=0 -c "SELECT * FROM flights" >"$work/all" &
query=$!
peak=0
while kill -0 $query 2>/dev/null; do
    now=$(tablegate_memory_mb)
    [ "$now" -gt "$peak" ] && peak=$now
    sleep 0.05
done
wait $query
echo "peak resident memory during SELECT * FROM flights: $peak MB, $(wc -l <"$work/all") rows"
