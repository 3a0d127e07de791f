#!/usr/bin/env bash
# Puts the drivers that tests/clients drives into $TABLEGATE_CLIENTS (~/.cache/tablegate-clients), outside the checkout, and
# PostgreSQL 15, whose answers others are compared with, where Debian puts it.
# What is there already is not installed again.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
place="${TABLEGATE_CLIENTS:-$HOME/.cache/tablegate-clients}"
mkdir -p "$place"

# Debian's packages, by the file or command that shows that one is there.
missing=()
command -v psql >/dev/null || missing+=(postgresql-client)
command -v pg_dump >/dev/null || missing+=(postgresql-client)
is_postgresql_15() { "$1/postgres" --version 2>/dev/null | grep -q '(PostgreSQL) 15\.'; }
is_postgresql_15 "${PG_BIN:-/usr/lib/postgresql/15/bin}" || is_postgresql_15 /usr/pgsql-15/bin || is_postgresql_15 /usr/local/bin ||
    is_postgresql_15 /usr/bin || missing+=(postgresql-15)
command -v python3 >/dev/null || missing+=(python3)
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v javac >/dev/null || missing+=(default-jdk-headless)
[ -e /usr/share/java/postgresql.jar ] || missing+=(libpostgresql-jdbc-java)
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "install these packages first: ${missing[*]}" >&2
        exit 1
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# A stamp holds what was installed: another version of a driver, or of the Java check, is installed anew.
wanted="$(cat "$here/install.sh" "$here/python/requirements.txt" "$here/node/package.json" "$here/java/Check.java" | sha256sum)"
if [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
rm -f "$place/installed"
[ -x "$place/python/bin/pip" ] || python3 -m venv "$place/python"
"$place/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/python/requirements.txt"
mkdir -p "$place/node"
cp "$here/node/package.json" "$place/node/"
npm install --prefix "$place/node" --no-package-lock --no-audit --no-fund --silent
mkdir -p "$place/java"
javac -cp /usr/share/java/postgresql.jar -d "$place/java" "$here/java/Check.java"
echo "$wanted" >"$place/installed"
