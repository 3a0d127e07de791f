#!/usr/bin/env bash
# Point SELECTs and transactions of 100 rows a second, by pgbench, on tablegate and on PostgreSQL 15 side by side.
#
#   benches/pgbench.sh [SECONDS] [CLIENTS]
#
# Prints one line for each: transactions a second of both, and the ratio.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/servers.sh"
seconds=${1:-10} clients=${2:-8}

work=$(mktemp -d)
trap 'stop_servers; rm -rf "$work"' EXIT
chmod 755 "$work"
start_postgres "$work/postgres"
start_tablegate "$work/tablegate" --no-sample

cat >"$work/schema.sql" <<'SQL'
CREATE TABLE accounts (branch int, id int, balance int, note text, PRIMARY KEY (branch, id));
CREATE TABLE entries (batch text, id int, amount int, note text, PRIMARY KEY (batch, id));
SQL
python3 - "$work" <<'PY'
import sys
rows = [f"{i % 10},{i},{i * 7 % 1000},note {i}" for i in range(100_000)]
open(sys.argv[1] + "/accounts.csv", "w").write("\n".join(rows) + "\n")
lines = [r"\set batch random(1, 2000000000)", "BEGIN;"]
lines += [f"INSERT INTO entries VALUES (:batch || '-' || :client_id, {i}, {i * 3}, 'entry number {i}');" for i in range(100)]
open(sys.argv[1] + "/egt.sql", "w").write("\n".join(lines + ["COMMIT;"]) + "\n")
values = ", ".join(f"(:batch || '-' || :client_id, {i}, {i * 3}, 'entry number {i}')" for i in range(100))
open(sys.argv[1] + "/egt-one.sql", "w").write(f"{lines[0]}\nINSERT INTO entries VALUES {values};\n")
open(sys.argv[1] + "/point.sql", "w").write(
    "\\set id random(0, 99999)\n\\set branch :id % 10\n"
    "SELECT balance, note FROM accounts WHERE branch = :branch AND id = :id;\n")
PY
for psql in POSTGRES TABLEGATE_PSQL; do
    declare -n command=$psql
    "${command[@]}" -q -v ON_ERROR_STOP=1 -f "$work/schema.sql" 2>/dev/null
    "${command[@]}" -q -v ON_ERROR_STOP=1 -c "\\copy accounts FROM '$work/accounts.csv' WITH (FORMAT csv)" 2>/dev/null
done

tps() { # tps PORT DATABASE SCRIPT MODE
    pgbench -n -h 127.0.0.1 -p "$1" -U bench -c "$clients" -j 2 -T "$seconds" -M "$4" -f "$work/$3" "$2" 2>/dev/null |
        awk '/^tps/ {printf "%.0f", $3}'
}
compare() { # compare LABEL SCRIPT MODE
    local ours theirs
    theirs=$(tps "$POSTGRES_PORT" postgres "$2" "$3")
    ours=$(tps "$TABLEGATE_PORT" tablegate "$2" "$3")
    printf '%-44s tablegate %8s/s   PostgreSQL %8s/s   ratio %s\n' "$1" "$ours" "$theirs" \
        "$(echo "scale=3; ${ours:-0} / ${theirs:-1}" | bc)"
}
compare 'point SELECT, simple protocol' point.sql simple
compare 'point SELECT, prepared' point.sql prepared
compare '100-row transaction, 100 INSERTs' egt.sql simple
compare '100-row transaction, one INSERT' egt-one.sql simple
