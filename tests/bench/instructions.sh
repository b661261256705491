#!/bin/bash
# Counts the user instructions that a call costs hookline, all threads and libraries, under callgrind: of 1,800 calls what
# 300 have not, so that neither start nor end counts. Unlike times they do not change with what else the machine does, or
# how fast it is; with another compiler or other libraries they do: the bounds are for Debian 12. Builds hookline (Release)
# in build-bench/, where all files stay; installs nothing.
#
#   tests/bench/instructions.sh [KIND…]            prints a table; all kinds take under a minute
#   tests/bench/instructions.sh --check [KIND…]    fails where a kind costs more than instructions.txt allows, and names
#                                                  it; of what costs too much the least of three counts is taken, for
#                                                  how many share a commit is not the same each time
#
# Kinds, with one worker, 200 bytes in and 300 out on 16 kept connections: `sync`; `token`: with a token of 400 bytes;
# `async`: with SQLite; `async-256`: of 256 callers, most of which wait for a place; `memory`: asynchronous, with the store in
# memory; `webhook`: synchronous, with a signed webhook; `kept`: not a call but an event of 100 bytes of one of 16 kept
# streams that nobody follows.
#
# Callgrind's files stay in build-bench/instructions/KIND. Variables: HOOKLINE_BIN (another hookline: an older one, say),
# BUILD (another directory than build-bench), JOBS (kinds at once; default: the processors, for callgrind uses one), PORT
# (the first of those that are used: three a kind).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/common.sh

bounds=$PWD/tests/bench/instructions.txt build=$PWD/${BUILD:-build-bench}
work=$build/instructions
binary=${HOOKLINE_BIN:-$build/hookline}
few=300 many=1800
checks=false
tries=1
pid=
kinds=(sync token async async-256 memory webhook kept)

main() {
    [ "${1-}" != --check ] || { checks=true tries=3; shift; }
    case ${1-} in
    -h | --help) usage; exit 0 ;;
    esac
    if $checks && ! { [ "$(uname -m)" = x86_64 ] && grep -qw avx2 /proc/cpuinfo; }; then
        echo "not checked: the bounds are for x86-64 with AVX2"
        exit 0
    fi
    [ $# -eq 0 ] || kinds=("$@")
    trap end_all EXIT
    trap 'exit 130' INT TERM HUP
    prepare
    measure_all
    report
}

# Some at a time, each in a directory and on ports of its own. A kind's row is there when it has been counted to the end.
measure_all() {
    local kind running=0
    port=${PORT:-$((18280 + RANDOM % 3000))}
    for kind in "${kinds[@]}"; do
        [ "$running" -lt "${JOBS:-$(nproc)}" ] || { wait -n || true; running=$((running - 1)); }
        [ -n "${PORT-}" ] || port=$(free_ports "$port")
        (measure_apart "$kind") >"$work/$kind.out" 2>&1 &
        running=$((running + 1)) port=$((port + 3))
    done
    wait
}

measure_apart() {
    trap stop_all EXIT
    trap 'exit 130' TERM
    app=$((port + 1))
    mkdir "$work/$1" && cd "$work/$1"
    settings_of "$1"
    measure "$1" >row.new
    mv row.new row
}

report() {
    local kind row status=0
    printf '%-12s %12s %12s\n' '' instructions allowed
    for kind in "${kinds[@]}"; do
        row=$(cat "$work/$kind/row" 2>/dev/null) || { cat "$work/$kind.out" >&2; status=1; continue; }
        echo "$row"
        [ "$checks" = false ] || [[ $row != *'too many' ]] || status=1
    done
    return $status
}

# What runs still, with the hookline that it has started.
end_all() {
    local left
    left=$(jobs -p)
    [ -z "$left" ] || kill $left 2>/dev/null || true
    wait
}

# free_ports FROM: the first of three ports on which nobody listens.
free_ports() {
    local first=$1
    while connects $first || connects $((first + 1)) || connects $((first + 2)); do first=$((first + 3)); done
    echo $first
}

# measure KIND: prints its row.
measure() {
    local i n each least= allowed
    allowed=$(sed -n "s/^$1 *\([0-9]*\)$/\1/p" "$bounds")
    for ((i = 0; i < tries; i++)); do
        for n in $few $many; do
            count "$n" || fail "$1: not all of $n calls were answered"
        done
        each=$((($(total $many) - $(total $few)) / (many - few)))
        [ -n "$least" ] && [ "$least" -le "$each" ] || least=$each
        [ "$least" -gt "$allowed" ] || break
    done
    printf '%-12s %12d %12d%s\n' "$1" "$least" "$allowed" "$([ "$least" -le "$allowed" ] || echo '  too many')"
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/bench/instructions.sh
}

fail() {
    echo "instructions.sh: $1" >&2
    exit 1
}

prepare() {
    local kind targets=(bench_load bench_follow)
    [ -n "${HOOKLINE_BIN-}" ] || targets+=(hookline)
    for kind in "${kinds[@]}"; do
        grep -q "^$kind " "$bounds" || fail "no such kind: $kind"
    done
    command -v valgrind >/dev/null || fail "missing: valgrind. On Debian: apt-get install valgrind"
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DHOOKLINE_BENCH=ON >/dev/null
    ninja -C "$build" --quiet "${targets[@]}" | sed '/no work to do/d;/Entering directory/d'
    rm -rf "$work"
    mkdir -p "$work"
}

# settings_of KIND: hookline's, in `settings`; in `load` what calls it, up to how often.
settings_of() {
    settings=(HOOKLINE_AUTH=none)
    load=(-c 16)
    case $1 in
    token)
        make_token
        settings=(HOOKLINE_AUTH=jwt HOOKLINE_JWT_SECRET="$secret")
        load+=(-t "$token")
        ;;
    async) load+=(-q async=true) ;;
    async-256) load=(-c 256 -q async=true) ;;
    memory)
        settings+=(HOOKLINE_STORE=memory)
        load+=(-q async=true)
        ;;
    webhook)
        settings+=(HOOKLINE_WEBHOOK_ALLOW=127.0.0.0/8 HOOKLINE_WEBHOOK_SECRET="$(head -c 24 /dev/urandom | base64 -w0)")
        load+=(-s 2 -q "webhookEndpoint=http://127.0.0.1:$app/")
        ;;
    kept)
        load=(bench_follow -e)
        return
        ;;
    esac
    load=(bench_load "${load[@]}" -n)
}

# count CALLS: leaves callgrind.CALLS. A start that makes the data directory comes first, and is not counted.
count() {
    local status=0
    rm -rf data
    start
    stop
    start valgrind --quiet --tool=callgrind --callgrind-out-file="callgrind.$1"
    "$build/${load[0]}" -l "$app" "${load[@]:1}" "$1" "$port" || status=1
    stop
    return $status
}

# start [TOOL…]: returns when hookline listens.
start() {
    ! connects "$port" || fail "port $port is in use"
    env -u HOOKLINE_BIN HOOKLINE_LISTEN="127.0.0.1:$port" HOOKLINE_ADMIN_LISTEN="127.0.0.1:$((port + 2))" \
        HOOKLINE_APP_URL="http://127.0.0.1:$app" HOOKLINE_WORKERS=1 HOOKLINE_DATA_DIR="$PWD/data" \
        HOOKLINE_SHUTDOWN_DELAY=0s HOOKLINE_LOG_LEVEL=error "${settings[@]}" "$@" "$binary" >hookline.log 2>&1 &
    pid=$!
    listens "$port" "$pid" 600 && return
    cat hookline.log >&2
    fail "hookline does not listen"
}

stop() {
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || true
    pid=
}

stop_all() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
}

total() {
    sed -n 's/^totals: //p' "callgrind.$1"
}

main "$@"
