# Starts and stops the servers that the scripts compare. To be sourced.
#
# Sets POSTGRES and TABLEGATE_PSQL (psql command lines as arrays), POSTGRES_PORT and TABLEGATE_PORT. All servers listen
# on 127.0.0.1 on free ports and end with stop_servers. Azurite, the emulator of the Table service, is where
# tests/azurite/install.sh puts it.

PG_BIN=${PG_BIN:-/usr/lib/postgresql/15/bin}
AZURITE_ACCOUNT=bench AZURITE_KEY=a2V5IG9mIGEgYmVuY2htYXJr
postgres_pid='' tablegate_pid='' azurite_pid='' postgres_folder=''

as_ordinary_user() { # PostgreSQL refuses to run as root; that user may not read the current folder
    if [ "$(id -u)" = 0 ]; then (cd / && runuser -u nobody -- "$@"); else "$@"; fi
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_postgres() { # start_postgres FOLDER
    postgres_folder=$1
    mkdir -p "$postgres_folder"
    [ "$(id -u)" = 0 ] && chown nobody "$postgres_folder"
    as_ordinary_user "$PG_BIN/initdb" -D "$postgres_folder/data" -U bench -A trust -E UTF8 --locale=C >/dev/null
    POSTGRES_PORT=$(free_port)
    as_ordinary_user "$PG_BIN/pg_ctl" -D "$postgres_folder/data" -l "$postgres_folder/log" -w \
        -o "-p $POSTGRES_PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$postgres_folder" start >/dev/null
    postgres_pid=$(head -1 "$postgres_folder/data/postmaster.pid")
    POSTGRES=(psql -X -h 127.0.0.1 -p "$POSTGRES_PORT" -U bench postgres)
}

start_azurite() { # start_azurite FOLDER; sets CONNECTION_STRING
    local place=${TABLEGATE_AZURITE:-$HOME/.cache/tablegate-azurite} port
    port=$(free_port)
    mkdir -p "$1"
    if [ ! -e "$place/installed" ]; then
        echo "no Azurite in $place: run tests/azurite/install.sh" >&2
        return 1
    fi
    AZURITE_ACCOUNTS="$AZURITE_ACCOUNT:$AZURITE_KEY" node --require "$(dirname "${BASH_SOURCE[0]}")/azurite_index.js" \
        "$place/node_modules/azurite/dist/src/table/main.js" \
        --silent --inMemoryPersistence --disableTelemetry --skipApiVersionCheck --tableKeepAliveTimeout 600 \
        --tableHost 127.0.0.1 --tablePort "$port" >"$1/log" 2>&1 &
    azurite_pid=$!
    CONNECTION_STRING="AccountName=$AZURITE_ACCOUNT;AccountKey=$AZURITE_KEY;TableEndpoint=http://127.0.0.1:$port/$AZURITE_ACCOUNT"
    for _ in $(seq 100); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        kill -0 "$azurite_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$1/log" >&2
    return 1
}

start_tablegate() { # start_tablegate FOLDER FLAGS...: rows are in FOLDER, or in the account of CONNECTION_STRING if it is set
    local folder=$1 place=(--data "$1")
    shift
    local binary=${TABLEGATE:-${CARGO_TARGET_DIR:-target}/release/tablegate}
    [ -z "${CONNECTION_STRING:-}" ] || place=(--connection-string env:CONNECTION_STRING)
    TABLEGATE_PORT=$(free_port)
    CONNECTION_STRING=${CONNECTION_STRING:-} \
        "$binary" serve --listen "127.0.0.1:$TABLEGATE_PORT" "${place[@]}" "$@" >"$folder.log" 2>&1 &
    tablegate_pid=$!
    TABLEGATE_PSQL=(psql -X -h 127.0.0.1 -p "$TABLEGATE_PORT" -U bench tablegate)
    for _ in $(seq 100); do
        "${TABLEGATE_PSQL[@]}" -q -c 'SELECT 1' >/dev/null 2>&1 && return
        kill -0 "$tablegate_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$folder.log" >&2
    return 1
}

seconds_since() { # seconds_since EPOCHREALTIME
    awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }'
}

tablegate_memory_mb() {
    awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$tablegate_pid/status"
}

stop_servers() {
    [ -n "$tablegate_pid" ] && kill "$tablegate_pid" 2>/dev/null && wait "$tablegate_pid" 2>/dev/null
    [ -n "$postgres_pid" ] && as_ordinary_user "$PG_BIN/pg_ctl" -D "$postgres_folder/data" -m immediate stop >/dev/null
    [ -n "$azurite_pid" ] && kill "$azurite_pid" 2>/dev/null && wait "$azurite_pid" 2>/dev/null
    tablegate_pid='' postgres_pid='' azurite_pid=''
}
