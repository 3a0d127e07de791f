# Starts and stops the servers that the scripts compare. To be sourced.
#
# Sets POSTGRES and TABLEGATE_PSQL (psql command lines as arrays), POSTGRES_PORT and TABLEGATE_PORT. All servers listen
# on 127.0.0.1 on free ports and end with stop_servers.

PG_BIN=${PG_BIN:-/usr/lib/postgresql/15/bin}
postgres_pid='' tablegate_pid='' postgres_folder=''

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

start_tablegate() { # start_tablegate FOLDER FLAGS...
    local folder=$1
    shift
    local binary=${TABLEGATE:-${CARGO_TARGET_DIR:-target}/release/tablegate}
    TABLEGATE_PORT=$(free_port)
    "$binary" serve --listen "127.0.0.1:$TABLEGATE_PORT" --data "$folder" "$@" >"$folder.log" 2>&1 &
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

tablegate_memory_mb() {
    awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$tablegate_pid/status"
}

stop_servers() {
    [ -n "$tablegate_pid" ] && kill "$tablegate_pid" 2>/dev/null && wait "$tablegate_pid" 2>/dev/null
    [ -n "$postgres_pid" ] && as_ordinary_user "$PG_BIN/pg_ctl" -D "$postgres_folder/data" -m immediate stop >/dev/null
    tablegate_pid='' postgres_pid=''
}
