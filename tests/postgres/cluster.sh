#!/bin/bash
# A PostgreSQL server for tests, with a cluster of its own that is gone when they are: in a new directory below $TMPDIR or /tmp,
# on a free port of 127.0.0.1 and a unix socket in that directory, as a user without rights, with fsync on.
#
#   tests/postgres/cluster.sh [--for-others] [NAME=VALUE…]    with these settings in its postgresql.conf
#
# --for-others: keeps a copy of the cluster as it was new. HOOKLINE_TEST_CLUSTER names the directory of such a server: a
# copy takes a tenth of what initdb takes. Clusters that were copied pass for one server (system_identifier).
#
# The first line of its output is "URL DIRECTORY", when the server takes connections. The URL's role owns its database,
# and that is all; `postgres` is the superuser, with the same password. Through the socket none is asked for.
# The server's log is DIRECTORY/log. Then it obeys lines of its input, and answers each with "ok" or what went wrong:
#
#   start     waits until it takes connections again
#   stop      an orderly end: sessions are broken off, everything is written
#   kill      all its processes at once, as when the machine's memory runs out
#   pause     all its processes stand still; resume lets them go on
#   keep      its state is kept, between an orderly end and a new start
#   lose      all its processes at once; it takes connections again with the state that was kept, on a timeline of its
#             own, as a standby does that is promoted and lacks what was committed since
#
# At the end of its input everything is ended and removed. So whoever starts it keeps its input open for as long as the
# server is wanted, and needs to do nothing at its own end, however that comes. It runs in a session of its own: what
# kills the tests by their group does not keep it from that.
set -euo pipefail

[ "${1-}" = --in-its-session ] || exec setsid --wait "$0" --in-its-session "$@"
shift

# Below the ports that outgoing connections get, and below those that the integration tests draw.
first_port=10000 last_port=11999
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
binaries='' directory='' port='' server='' runner=() reservation='' hold='' is_for_others=''
[ "${1-}" != --for-others ] || { is_for_others=1 && shift; }

main() {
    trap remove EXIT
    trap 'exit 1' HUP INT TERM PIPE
    find_binaries
    make_directory
    make_cluster "$@"
    start_somewhere
    make_role
    echo "postgresql://hookline:$password@127.0.0.1:$port/hookline $directory"
    obey 2>>"$directory/error"
}

obey() {
    local order problem
    while read -r order; do
        if problem=$(check "$order") && "do_$order"; then
            echo ok
        else
            echo "${problem:-$order failed: $(tail -n 3 "$directory/error" "$directory/log" | tr '\n' ' ')}"
        fi
    done
}

fail() {
    echo "tests/postgres/cluster.sh: $1" >&2
    exit 1
}

# The newest that is installed.
find_binaries() {
    local all
    all=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V)
    binaries=${all##*$'\n'}
    [ -x "$binaries/initdb" ] || fail "there is no server: install postgresql-15"
}

# The server refuses to be root's.
make_directory() {
    directory=$(mktemp -d "${TMPDIR:-/tmp}/hookline-postgres-XXXXXX")
    [ "$(id -u)" = 0 ] || return 0
    local user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    chown "$user:" "$directory"
    runner=(--reuid="$user" --regid="$(id -g "$user")" --init-groups)
}

# as COMMAND…: as the server's user; nothing of our surroundings decides what it does. It goes when we do.
as() {
    cd "$directory" && exec setpriv "${runner[@]}" --pdeathsig QUIT \
        env -i PATH="$binaries:/usr/bin:/bin" LC_ALL=C.UTF-8 TZ=UTC "$@"
}

make_cluster() {
    local setting
    new_cluster
    [ -z "$is_for_others" ] || cp -a "$directory/data" "$directory/new"
    {
        printf '%s\n' "listen_addresses = '127.0.0.1'" "unix_socket_directories = '$directory'" "fsync = on" \
            "max_connections = 200" "shared_buffers = '32MB'" "max_wal_size = '256MB'" \
            "dynamic_shared_memory_type = mmap" "restore_command = 'false'" "log_min_messages = warning" "log_line_prefix = '%m [%p] %a '"
        for setting in "$@"; do
            printf "%s = '%s'\n" "${setting%%=*}" "${setting#*=}"
        done
    } >>"$directory/data/postgresql.conf"
    echo "host all all samenet scram-sha-256" >>"$directory/data/pg_hba.conf" # listen_addresses may be set
}

new_cluster() {
    local new=${HOOKLINE_TEST_CLUSTER:-/dev/null}/new
    [ ! -d "$new" ] || { cp -a "$new" "$directory/data" && return; }
    printf '%s\n' "$password" >"$directory/password"
    [ ${#runner[@]} -eq 0 ] || chown --reference="$directory" "$directory/password"
    (as initdb --pgdata=data --username=postgres --pwfile=password --auth-local=trust --auth-host=scram-sha-256 \
        --encoding=UTF8 --locale=C.UTF-8 --no-sync) >"$directory/initdb" 2>&1 ||
        fail "initdb: $(cat "$directory/initdb")"
}

start_somewhere() {
    local tries
    for ((tries = 0; tries < 50; tries++)); do
        port=$((first_port + SRANDOM % (last_port - first_port + 1)))
        reserve_port || continue
        : >"$directory/log"
        ! do_start || return 0
        grep -q 'Address already in use' "$directory/log" || break
    done
    fail "the server does not start: $(cat "$directory/log")"
}

# No other cluster gets the port while this one's server is stopped.
reserve_port() {
    local file="${TMPDIR:-/tmp}/hookline-postgres-port-$port"
    [ -z "$reservation" ] || release_port
    exec {hold}>>"$file"
    reservation=$file
    flock --nonblock "$hold" && return 0
    reservation=''
    exec {hold}>&-
    return 1
}

release_port() {
    rm -f "$reservation"
    exec {hold}>&-
    reservation=''
}

make_role() {
    (as psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --host="$directory" --port="$port" postgres postgres) \
        < <(role) >"$directory/role" 2>&1 || fail "the role: $(cat "$directory/role")"
}

# The password as SCRAM keeps it (RFC 5802), made in one round and not in 4,096: each connection makes them anew, which
# took a test 10 ms.
role() {
    cat <<SQL
CREATE FUNCTION pg_temp.hmac(key bytea, text bytea) RETURNS bytea LANGUAGE sql AS \$\$
    SELECT sha256(string_agg(set_byte(' ', 0, k # 92), '' ORDER BY i)
        || sha256(string_agg(set_byte(' ', 0, k # 54), '' ORDER BY i) || text))
    FROM generate_series(0, 63) i, LATERAL (SELECT CASE WHEN i < length(key) THEN get_byte(key, i) ELSE 0 END) x(k) \$\$;
SELECT format('SCRAM-SHA-256\$1:%s\$%s:%s', encode(salt, 'base64'),
    encode(sha256(pg_temp.hmac(salted, 'Client Key')), 'base64'), encode(pg_temp.hmac(salted, 'Server Key'), 'base64')) AS kept
FROM (SELECT uuid_send(gen_random_uuid())) s(salt), LATERAL (SELECT pg_temp.hmac('$password', salt || '\x00000001')) p(salted) \gset
ALTER ROLE postgres PASSWORD :'kept';
CREATE ROLE hookline LOGIN PASSWORD :'kept';
CREATE DATABASE hookline OWNER hookline;
SQL
}

# check ORDER: says what is wrong with it.
check() {
    case $1 in
    start) [ -z "$server" ] || { echo "it runs already" && return 1; } ;;
    stop | kill | pause | resume | keep | lose) [ -n "$server" ] || { echo "it does not run" && return 1; } ;;
    *) echo "an order is start, stop, kill, pause, resume, keep or lose" && return 1 ;;
    esac
}

do_start() {
    as postgres -D data -p "$port" >>"$directory/log" 2>&1 </dev/null &
    server=$!
    until (as pg_isready --quiet --host="$directory" --port="$port"); do
        kill -0 "$server" 2>/dev/null || { server='' && return 1; }
        sleep 0.02
    done
}

do_stop() {
    end_by INT
}

# A process that stands still ends by SIGKILL alone.
end_by() {
    signal_all CONT
    kill -"$1" "$server" || true
    await_end
}

do_kill() {
    signal_all KILL
    await_end
}

do_pause() {
    signal_all STOP
}

do_resume() {
    signal_all CONT
}

do_keep() {
    do_stop
    rm -rf "$directory/kept"
    cp -a "$directory/data" "$directory/kept"
    do_start
}

do_lose() {
    do_kill
    free_memory
    rm -rf "$directory/data"
    cp -a "$directory/kept" "$directory/data"
    (as touch data/recovery.signal)
    do_start
}

# The first process forks the others: once it has the signal there are no more of them.
signal_all() {
    kill -"$1" "$server" || true
    processes | xargs -r kill -"$1" || true
}

# Whatever stands in the cluster's directory; a session of the server is in a process group of its own.
processes() {
    find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$directory/data" -printf '%h\n' 2>/dev/null | sed 's:^/proc/::'
}

await_end() {
    wait "$server" || true
    server=''
    while [ -n "$(processes)" ]; do
        sleep 0.01
    done
}

remove() {
    local status=$?
    trap '' HUP INT TERM PIPE
    exec 2>/dev/null
    [ -z "$server" ] || end_by QUIT
    [ -z "$directory" ] || { free_memory && rm -rf "$directory"; }
    [ -z "$reservation" ] || release_port
    exit "$status"
}

# One that was killed has left its segment of shared memory, which it names.
free_memory() {
    local segment
    segment=$(sed -n '7s/.* //p' "$directory/data/postmaster.pid") || true
    [ -z "$segment" ] || ipcrm -m "$segment" || true
}

main "$@"
