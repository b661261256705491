#!/bin/bash
# Measures hookline beside HAProxy and nginx, all of them on this machine's loopback, one core each. Builds hookline
# (Release) and the measuring programs in build-bench/, where all files stay; installs nothing. Asserts no timings.
#
#   tests/bench/proxy/run.sh calls [ROUNDS]       small calls: calls/s, CPU time, latency; medians over rounds (11)
#   tests/bench/proxy/run.sh unix [ROUNDS]        the same with the app on a unix: socket
#   tests/bench/proxy/run.sh instructions         user instructions of a warm call (callgrind)
#   tests/bench/proxy/run.sh profile [chunked]    the functions of hookline in which they are spent
#   tests/bench/proxy/run.sh syscalls             system calls of a warm call (strace)
#   tests/bench/proxy/run.sh flood [RATE]         calls with a good token while bad ones come, RATE a second (2000)
#   tests/bench/proxy/run.sh sse [STREAMS]        memory of an idle event stream (2000)
#   tests/bench/proxy/run.sh follow [FOLLOWERS]   kept event streams: memory, CPU and latency of followers (1000)
#   tests/bench/proxy/run.sh start                time from fork to listening, memory when idle
#   tests/bench/proxy/run.sh bodies [ROUNDS]      large bodies: GiB/s, CPU time, growth of memory (5)
#   tests/bench/proxy/run.sh all                  all of these but profile, in under four minutes
#
# Variables: LOAD_CORE (0: app and callers) and PROXY_CORE (1: the one that is measured).
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/bench/common.sh

source=$PWD/tests/bench/proxy build=$PWD/build-bench work=$PWD/build-bench/bench-proxy
load_core=${LOAD_CORE:-0} proxy_core=${PROXY_CORE:-1}
app=18086                                                # 127.0.0.1:18086, and app.sock
declare -A port=([hookline]=18080 [haproxy]=18081 [nginx]=18082     # in front of the former
    [hookline-jwt]=18088                                            # the same, callers with tokens
    [hookline-follow]=18089                                         # the same, callers follow runs
    [hookline-unix]=18083 [haproxy-unix]=18084 [nginx-unix]=18085)  # of the latter
declare -A pid=()
token=                                                   # what calls of a contender carry, if it asks for one
followers=1000                                           # that hookline-follow takes

main() {
    local what=${1-}
    [ $# -eq 0 ] || shift
    case $what in
    calls | unix | flood | sse | start | bodies) prepare haproxy nginx ;;
    instructions | profile) prepare haproxy nginx valgrind ;;
    syscalls) prepare haproxy nginx strace ;;
    follow) prepare ;;
    all) prepare haproxy nginx valgrind strace ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    trap stop_all EXIT
    print_machine
    if [ "$what" != all ]; then
        "measure_$what" "$@"
        return
    fi
    for what in calls unix instructions syscalls flood sse follow start bodies; do
        "measure_$what"
    done
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/bench/proxy/run.sh
}

fail() {
    echo "run.sh: $1" >&2
    exit 1
}

# prepare PACKAGE…: they are there (each brings a program of its name), hookline is built, the directory is empty.
prepare() {
    local missing=()
    PATH=$PATH:/usr/sbin:/sbin
    for package in "$@"; do
        command -v "$package" >/dev/null || missing+=("${package/nginx/nginx-light}")
    done
    [ ${#missing[@]} -eq 0 ] || fail "missing: ${missing[*]}. On Debian: apt-get install ${missing[*]}"
    taskset -c "$load_core,$proxy_core" true || fail "two cores are needed; set LOAD_CORE and PROXY_CORE"
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DHOOKLINE_BENCH=ON >/dev/null
    ninja -C "$build" --quiet | sed '/no work to do/d;/Entering directory/d'
    rm -rf "$work"
    mkdir -p "$work"
    cd "$work"
    ulimit -n "$(ulimit -H -n)"
}

print_machine() {
    printf '%s, %s cores, Linux %s, load %s\n' "$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)" \
        "$(nproc)" "$(uname -r)" "$(cut -d' ' -f1-3 /proc/loadavg)"
    printf 'hookline %s' "$(git -C "$source" describe --always --dirty 2>/dev/null || echo '?')"
    ! command -v haproxy >/dev/null || printf ', HAProxy %s' "$(haproxy -v | sed -n 's/^HAProxy version \([0-9.]*\).*/\1/p')"
    ! command -v nginx >/dev/null || printf ', nginx %s' "$(nginx -v 2>&1 | sed 's/.*\///')"
    echo
}

heading() {
    printf '\n== %s\n' "$1"
}

# command_of NAME: how a contender is started, in the arrays `settings` (its environment) and `command`.
command_of() {
    local name=$1 url=http://127.0.0.1:$app
    [ "$name" = "${name%-unix}" ] || url=unix:$work/app.sock
    [ "$name" = "${name%-jwt}" ] || make_tokens
    settings=(HOOKLINE_LISTEN="127.0.0.1:${port[$name]}" HOOKLINE_ADMIN_LISTEN="127.0.0.1:$((port[$name] + 10))"
        HOOKLINE_APP_URL="$url" HOOKLINE_WORKERS=1 HOOKLINE_DATA_DIR="$work/$name.data" HOOKLINE_SHUTDOWN_DELAY=0s
        HOOKLINE_LOG_LEVEL=error HOOKLINE_AUTH=none)
    [ "$name" = "${name%-jwt}" ] ||
        settings+=(HOOKLINE_AUTH=jwt HOOKLINE_JWT_SECRET="$secret" HOOKLINE_JWT_JWKS_FILE="$work/jwks.json")
    [ "$name" = "${name%-follow}" ] || settings+=(HOOKLINE_MAX_FOLLOWERS="$followers"
        HOOKLINE_SSE_HEARTBEAT=0 HOOKLINE_ASYNC_CONCURRENCY=$((followers / 25 + 10)))
    case $name in
    hookline*) command=("$build/hookline") ;;
    haproxy) command=(haproxy -db -f "$source/haproxy.cfg") ;;
    nginx) command=(nginx -e stderr -p "$work/" -c "$source/nginx.conf") ;;
    esac
}

# A good token, `token`; the beginning of bad ones, `bad`, that name a key whose other half nobody has: the generator of
# P-256.
make_tokens() {
    make_token
    bad=$(printf '{"alg":"ES256","typ":"JWT","kid":"g"}' | base64url).$claims
    printf '{"keys":[{"kty":"EC","crv":"P-256","kid":"g","x":"%s","y":"%s"}]}' \
        axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU >"$work/jwks.json"
}

# start NAME [TOOL…]: a contender, run by that tool, on its core; returns when it listens.
start() {
    local name=$1 settings command
    shift
    command_of "$name"
    ! connects "${port[$name]}" || fail "port ${port[$name]} is in use"
    env "${settings[@]}" taskset -c "$proxy_core" "$@" "${command[@]}" >"$name.log" 2>&1 &
    pid[$name]=$!
    listens "${port[$name]}" "${pid[$name]}" 300 && return
    cat "$name.log" >&2
    fail "$name does not listen"
}

# stop NAME: and wait for its end. The caller has closed its connections.
stop() {
    kill -TERM "${pid[$1]}" 2>/dev/null || true
    wait "${pid[$1]}" || true
    unset "pid[$1]"
    token=
}

stop_all() {
    [ ${#pid[@]} -eq 0 ] || kill -KILL "${pid[@]}" 2>/dev/null || true
}

# on_load_core PROGRAM [ARGUMENT…]: of ours.
on_load_core() {
    taskset -c "$load_core" "$build/bench_$1" -l "$app" "${@:2}"
}

# compare PROGRAM [OPTION…]: hookline and the others, which take turns.
compare() {
    local name all=()
    for name in hookline haproxy nginx; do
        start $name
        all+=("$name:${port[$name]}:${pid[$name]}")
    done
    on_load_core "$@" "${all[@]}"
    for name in hookline haproxy nginx; do
        stop $name
    done
}

measure_calls() {
    heading "Small calls: POST of 200 bytes, answer of 300, 64 connections; ${1:-11} rounds"
    compare load -r "${1:-11}"
}

# HAProxy and nginx serve both kinds of app in one process, on two ports.
measure_unix() {
    local name
    heading "The same, app on a unix: socket (hookline-tcp: on TCP); ${1:-11} rounds"
    for name in hookline hookline-unix haproxy nginx; do
        start $name
    done
    on_load_core load -r "${1:-11}" -u app.sock "hookline:${port[hookline-unix]}:${pid[hookline-unix]}" \
        "hookline-tcp:${port[hookline]}:${pid[hookline]}" \
        "haproxy:${port[haproxy-unix]}:${pid[haproxy]}" "nginx:${port[nginx-unix]}:${pid[nginx]}"
    for name in hookline hookline-unix haproxy nginx; do
        stop $name
    done
}

# What a call costs is the difference of two runs of one length and another: neither start nor end counts.
few=2000 many=8000

# count_instructions NAME [-k]: leaves callgrind.NAME.$few and .$many.
count_instructions() {
    local calls
    for calls in $few $many; do
        start "$1" valgrind --quiet --tool=callgrind --callgrind-out-file="callgrind.$1.$calls"
        on_load_core load -n "$calls" ${token:+-t "$token"} "${@:2}" "${port[$1]}"
        stop "$1"
    done
}

instructions_per_call() {
    echo $((($(sed -n 's/^totals: //p' "callgrind.$1.$many") - $(sed -n 's/^totals: //p' "callgrind.$1.$few")) / (many - few)))
}

measure_instructions() {
    local name
    heading "User instructions of a warm call (callgrind)"
    printf '%-14s %14s %14s\n' '' 'with a length' 'chunked answer'
    for name in hookline hookline-jwt haproxy nginx; do
        start $name # a first start makes a data directory, which must not count in one of two
        stop $name
        count_instructions $name
        printf '%-14s %14s' $name "$(instructions_per_call $name)"
        count_instructions $name -k
        printf ' %14s\n' "$(instructions_per_call $name)"
    done
}

measure_profile() {
    local calls
    heading "User instructions of a warm call of hookline, by function${1:+, $1 answer}"
    start hookline
    stop hookline
    count_instructions hookline ${1:+-k}
    for calls in $few $many; do
        callgrind_annotate --threshold=100 --auto=no --show-percs=no "callgrind.hookline.$calls" |
            sed -n 's/^ *\([0-9,]*\)  [^ ]*:\([^ ]*\).*/\1 \2/p' | tr -d , >"functions.$calls"
    done
    awk -v calls=$((many - few)) '
        FNR == NR { sum[$2] -= $1; next } { sum[$2] += $1 }
        END { for (f in sum) if (sum[f] >= 30 * calls) printf "%8.0f  %s\n", sum[f] / calls, f }' \
        functions.$few functions.$many | sort -rn
}

# count_syscalls NAME CALLS: prints "number name" of each system call. -D: strace is no parent but a child of what it
# watches, so that this can be ended and waited for as ever.
count_syscalls() {
    start "$1" strace -D -f -c -o "strace.$1"
    on_load_core load -n "$2" "${port[$1]}"
    stop "$1"
    until grep -q total "strace.$1" 2>/dev/null; do
        sleep 0.05
    done
    awk '$4 ~ /^[0-9]+$/ { print $4, $NF }' "strace.$1"
    rm "strace.$1"
}

measure_syscalls() {
    local name
    heading "System calls of a warm call (strace), those made in more than one of a hundred"
    for name in hookline haproxy nginx; do
        count_syscalls $name $few >syscalls.few
        count_syscalls $name $many >syscalls.many
        awk -v name=$name -v calls=$((many - few)) '
            FNR == NR { sum[$2] -= $1; next } { sum[$2] += $1 }
            END {
                printf "%-14s %5.2f ", name, sum["total"] / calls
                delete sum["total"]
                for (s in sum) if (sum[s] > 0.01 * calls) printf "  %s %.2f", s, sum[s] / calls
                print ""
            }' syscalls.few syscalls.many
    done
}

# The bad ones are sent by a program of its own on the callers' core; everything that looks at tokens is on the other.
measure_flood() {
    local rate=${1:-2000}
    heading "Calls with a good token on 16 connections; then while $rate bad ones come in a second"
    start hookline-jwt
    on_load_core load -c 16 -r 5 -t "$token" "hookline-jwt:${port[hookline-jwt]}:${pid[hookline-jwt]}"
    taskset -c "$load_core" "$build/bench_flood" "${port[hookline-jwt]}" "$rate" 5 "$bad" &
    on_load_core load -c 16 -r 5 -t "$token" "hookline-jwt:${port[hookline-jwt]}:${pid[hookline-jwt]}"
    wait $!
    stop hookline-jwt
}

measure_sse() {
    heading "Own memory (RssAnon) of idle event streams, one event received on each"
    compare sse -n "${1:-2000}"
}

measure_follow() {
    followers=${1:-1000}
    heading "$followers followers of kept event streams, 100 a run; beside them plain ones"
    start hookline-follow
    on_load_core follow -n "$followers" "hookline:${port[hookline-follow]}:${pid[hookline-follow]}"
    stop hookline-follow
}

measure_start() {
    local name settings command
    heading "From fork to the first connection, and own memory (RssAnon) when idle; medians of 5"
    printf '%-14s %9s %9s\n' '' ms 'idle MiB'
    for name in hookline haproxy nginx; do
        command_of $name
        for _ in {1..5}; do
            rm -rf "$name.data"
            env "${settings[@]}" taskset -c "$proxy_core" "$build/bench_start" "${port[$name]}" "${command[@]}" 2>"$name.log"
        done >"$name.starts"
        printf '%-14s %9s %9.1f\n' $name "$(sort -n $name.starts | sed -n '3s/ .*//p')" \
            "$(sort -n -k 2 $name.starts | awk 'NR == 3 { print $2 / 1024 }')"
    done
}

measure_bodies() {
    heading "Bodies of 256 MiB on 4 connections; ${1:-5} rounds each way"
    compare bodies -r "${1:-5}"
}

main "$@"
