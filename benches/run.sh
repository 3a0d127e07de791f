#!/usr/bin/env bash
# The benchmark: tablegate beside PostgreSQL 15 and DuckDB, everything started here, on loopback.
#
#   benches/run.sh [--quick] [--only NAME] [--write]
#
# TABLEGATE names the server's binary (default: the one of `cargo build --release`). Python packages go to
# $BENCH_TOOLS (~/.cache/tablegate-bench), outside the checkout.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
place="${BENCH_TOOLS:-$HOME/.cache/tablegate-bench}"
mkdir -p "$place"
if ! cmp -s "$here/requirements.txt" "$place/installed"; then
    rm -f "$place/installed"
    [ -x "$place/python/bin/pip" ] || python3 -m venv "$place/python"
    "$place/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$place/installed"
fi
PATH="$place/python/bin:$PATH" exec python3 "$here/tablegate_bench" "$@"
