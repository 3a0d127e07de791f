#!/usr/bin/env bash
# A walk through the sample tables with psql. Start the server first: cargo run --release
# Usage: examples/psql-walkthrough.sh [host] [port]
set -euo pipefail

ask() {
    echo
    echo "-- $1"
    echo "$2"
    psql -X -h "${HOST}" -p "${PORT}" -d tablegate -U "${USER:-tablegate}" -c "$2"
}

HOST="${1:-127.0.0.1}"
PORT="${2:-5433}"

ask "One partition: a department with its employees and its own entity." \
    "SELECT * FROM employees WHERE \"PartitionKey\" = 'Finance'"
ask "One entity, by its two keys." \
    "EXPLAIN SELECT FirstName, Salary FROM employees WHERE PartitionKey = 'Sales' AND RowKey = '00007'"
ask "A range of keys within a partition." \
    "SELECT \"RowKey\", FirstName, LastName FROM employees WHERE PartitionKey = 'Engineering' AND RowKey BETWEEN '00012' AND '00014'"
ask "Departments are entities of another kind in the same table." \
    "SELECT DepartmentName, EmployeeCount FROM employees WHERE RowKey = 'Department' ORDER BY 1"
ask "Declared tables have relational keys; PartitionKey and RowKey are there by name." \
    "SELECT faa, name, \"PartitionKey\", \"RowKey\" FROM airports WHERE faa IN ('JFK', 'EWR', 'LGA')"
ask "Joins and grouping work as everywhere." \
    "SELECT manufacturer, count(*) AS planes, round(avg(seats)) AS seats FROM planes GROUP BY manufacturer ORDER BY 2 DESC LIMIT 5"

echo
echo "-- A transaction is one entity group transaction: the second partition is refused."
psql -X -h "${HOST}" -p "${PORT}" -d tablegate -U "${USER:-tablegate}" <<'SQL' || true
BEGIN;
UPDATE employees SET "Age" = "Age" + 1 WHERE "PartitionKey" = 'Sales' AND "RowKey" = '00006';
UPDATE employees SET "Age" = "Age" + 1 WHERE "PartitionKey" = 'Support' AND "RowKey" = '00019';
ROLLBACK;
SQL
