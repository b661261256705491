#!/bin/bash
# Measures hookline beside HAProxy and nginx, all of them on this machine's loopback, one core each. Builds hookline
# (Release) and the measuring programs in build-bench/, where all files stay; installs nothing. Asserts no timings.
#
#   tests/bench/proxy/run.sh calls [ROUNDS]       small calls: calls/s, CPU time, latency; medians over rounds (11)
#   tests/bench/proxy/run.sh paced [RATE]         the same at RATE calls a second (5000)
#   tests/bench/proxy/run.sh unix [ROUNDS]        the same with the app on a unix: socket
#   tests/bench/proxy/run.sh instructions         user instructions of a warm call (callgrind)
#   tests/bench/proxy/run.sh profile [chunked]    the functions of hookline in which they are spent
#   tests/bench/proxy/run.sh syscalls             system calls of a warm call (strace)
#   tests/bench/proxy/run.sh flood [RATE]         calls with a good token while bad ones come, RATE a second (2000)
#   tests/bench/proxy/run.sh sse [STREAMS]        memory of an idle event stream (2000)
#   tests/bench/proxy/run.sh idle [CONNECTIONS]   memory of an idle kept connection (2000)
#   tests/bench/proxy/run.sh accepts [RATE]       calls while asynchronous ones are accepted, RATE a second (1000)
#   tests/bench/proxy/run.sh queue [RUNS]         CPU of an asynchronous run, alone and among RUNS that wait (10000)
#   tests/bench/proxy/run.sh webhooks [RATE]      calls with a webhook at RATE a second (4500): what waits, how old it gets
#   tests/bench/proxy/run.sh kept                 memory that large answers take which become webhooks
#   tests/bench/proxy/run.sh follow [FOLLOWERS]   kept event streams: memory, CPU and latency of followers (1000)
#   tests/bench/proxy/run.sh start                time from fork to listening, memory when idle
#   tests/bench/proxy/run.sh bodies [ROUNDS]      large bodies: GiB/s, CPU time, growth of memory (5)
#   tests/bench/proxy/run.sh tls [ROUNDS]         TLS: handshakes, calls, bodies, memory; an app that speaks it (7)
#   tests/bench/proxy/run.sh all                  all of these but profile, in about six minutes
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
receiver=18068                                           # of webhooks
tls_app=18067                                            # 127.0.0.1:18067, with TLS
port+=([hookline-tls]=18060 [haproxy-tls]=18062 [nginx-tls]=18064  # callers speak TLS
    [hookline-kept]=18066
    [hookline-app]=18061 [haproxy-app]=18063 [nginx-app]=18065)    # the app does
declare -A pid=()
token=                                                   # what calls of a contender carry, if it asks for one
followers=1000                                           # that hookline-follow takes

main() {
    local what=${1-}
    [ $# -eq 0 ] || shift
    case $what in
    calls | paced | unix | flood | sse | idle | start | bodies) prepare haproxy nginx ;;
    instructions | profile) prepare haproxy nginx valgrind ;;
    syscalls) prepare haproxy nginx strace ;;
    tls) prepare haproxy nginx openssl ;;
    accepts | queue | kept | follow) prepare ;;
    webhooks) prepare curl ;;
    all) prepare haproxy nginx valgrind strace openssl curl ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    trap stop_all EXIT
    print_machine
    if [ "$what" != all ]; then
        "measure_$what" "$@"
        return
    fi
    for what in calls paced unix instructions syscalls flood sse idle accepts queue webhooks kept follow start bodies tls; do
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
    [ "$name" = "${name%-kept}" ] || settings+=(HOOKLINE_WEBHOOK_ALLOW=127.0.0.0/8
        HOOKLINE_WEBHOOK_SECRET="$(head -c 24 /dev/urandom | base64 -w0)")
    [ "$name" = "${name%-tls}" ] || settings+=(HOOKLINE_TLS_CERT_FILE="$work/tls.crt" HOOKLINE_TLS_KEY_FILE="$work/tls.key")
    [ "$name" = "${name%-app}" ] ||
        settings+=(HOOKLINE_APP_URL="https://127.0.0.1:$tls_app" HOOKLINE_APP_CA_FILE="$work/tls.crt")
    case $name in
    hookline*) command=("$build/hookline") ;;
    haproxy-tls) command=(haproxy -db -f "$source/haproxy_tls.cfg") ;;
    nginx-tls) command=(nginx -e stderr -p "$work/" -c "$work/nginx_tls.conf") ;;
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

measure_paced() {
    heading "The same at ${1:-5000} calls a second; 11 rounds"
    compare load -p "${1:-5000}"
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

measure_idle() {
    heading "Own memory (RssAnon) of idle kept connections, one call made on each"
    compare sse -k -n "${1:-2000}"
}

# The one and the other take turns: ratios are medians of the rounds'.
measure_accepts() {
    local rate=${1:-1000} round
    heading "Calls on 16 connections; and while $rate asynchronous ones are accepted in a second, and run; 9 rounds"
    start hookline
    for round in {1..9}; do
        calls_alone
        taskset -c "$load_core" "$build/bench_flood" "${port[hookline]}" "$rate" 2 '?async=true' >>flood.log &
        calls_alone
        wait $!
    done >accepts.log
    stop hookline
    sort -u flood.log
    printf '%-14s %9s %9s\n' '' 'p50 us' 'p99 us'
    awk 'NR % 2' accepts.log | columns_median alone
    awk 'NR % 2 == 0' accepts.log | columns_median beside
    paste - - <accepts.log | awk '{ print $3 / $1, $4 / $2 }' | columns_median ratio
}

# Prints p50 and p99 of one round.
calls_alone() {
    on_load_core load -c 16 -r 1 "hookline:${port[hookline]}:${pid[hookline]}" | awk 'NR == 2 { print $5, $6 }'
}

# columns_median NAME: of two columns, one value a line.
columns_median() {
    cat >columns
    printf '%-14s %9s %9s\n' "$1" "$(cut -d' ' -f1 columns | sort -n | sed -n 5p)" "$(cut -d' ' -f2 columns | sort -n | sed -n 5p)"
}

# cpu_ms PID: of all its threads, user and system.
cpu_ms() {
    sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ print ($12 + $13) * 1000 / hz }'
}

# While nobody listens as the app, what is accepted waits.
measure_queue() {
    local runs=${1:-10000} at=() round
    heading "CPU of an asynchronous run from 16 callers, accepted to ended: alone, and among $runs that wait"
    printf '%-14s %12s %12s %8s\n' '' 'alone us' 'waiting us' ratio
    start hookline
    for round in 1 2 3; do
        at=("$(cpu_ms "${pid[hookline]}")")
        on_load_core load -c 16 -n "$runs" -q async=true "${port[hookline]}"
        at+=("$(cpu_ms "${pid[hookline]}")")
        taskset -c "$load_core" "$build/bench_load" -l $((app + 3)) -c 16 -n "$runs" -s 0 -q async=true "${port[hookline]}"
        on_load_core load -c 16 -n "$runs" -s 2 -q async=true "${port[hookline]}"
        at+=("$(cpu_ms "${pid[hookline]}")")
        echo "${at[@]} $runs" | awk '{ a = ($2 - $1) / $4; w = ($3 - $2) / $4 / 2
            printf "%-14s %12.1f %12.1f %8.2f\n", "hookline", a * 1000, w * 1000, w / a }'
    done
    stop hookline
}

# The app receives them itself. What waits is looked at twice a second: it grows, or it does not; of the oldest, ms.
measure_webhooks() {
    local rate=${1:-4500} caller waiting=() oldest=()
    heading "Calls with a webhook, $rate a second"
    start hookline-kept
    on_load_core load -p "$rate" -r 15 -q "webhookEndpoint=http://127.0.0.1:$app/" \
        "hookline:${port[hookline-kept]}:${pid[hookline-kept]}" &
    caller=$!
    while sleep 0.5 && kill -0 $caller 2>/dev/null; do
        metrics >metrics
        waiting+=("$(awk '$1 == "hookline_deliveries_pending" { print $2 }' metrics)")
        oldest+=("$(awk '$1 == "hookline_delivery_age_seconds" { print $2 * 1000 }' metrics)")
    done
    wait $caller
    stop hookline-kept
    echo "waiting: ${waiting[*]}"
    echo "the oldest for so many ms: ${oldest[*]}"
}

metrics() {
    curl -s "http://127.0.0.1:$((port[hookline-kept] + 10))/metrics"
}

measure_kept() {
    heading "Own memory (RssAnon) while large answers become webhooks"
    start hookline-kept
    on_load_core kept -w $receiver "hookline:${port[hookline-kept]}:${pid[hookline-kept]}"
    stop hookline-kept
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

# The others serve callers with TLS and an app with it in one process, on two ports.
measure_tls() {
    local name all=()
    heading "TLS 1.2 (ECDHE-ECDSA-AES128-GCM-SHA256, X25519, P-256); ${1:-7} rounds"
    [ -x "$build/bench_tls" ] || fail "missing: libssl-dev. On Debian: apt-get install libssl-dev"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=app.test \
        -addext subjectAltName=DNS:app.test,IP:127.0.0.1 -keyout tls.key -out tls.crt 2>/dev/null
    cat tls.crt tls.key >tls.both
    cp "$source/nginx_tls.conf" . # nginx looks for certificates beside its settings
    for name in hookline-tls haproxy-tls nginx-tls; do
        start $name
        all+=("$name:${port[$name]}:${pid[$name]}")
    done
    on_load_core tls -r "${1:-7}" listener "${all[@]}"
    for name in hookline-tls haproxy-tls nginx-tls; do
        stop $name
    done
    heading "An app that speaks TLS (-app): own memory (RssAnon) and CPU of a stream whose connection to the app is new"
    for name in hookline hookline-app haproxy haproxy-tls nginx nginx-tls; do
        start $name
    done
    on_load_core tls -s $tls_app -C tls.crt -K tls.key app "hookline:${port[hookline]}:${pid[hookline]}" \
        "hookline-app:${port[hookline-app]}:${pid[hookline-app]}" "haproxy:${port[haproxy]}:${pid[haproxy]}" \
        "haproxy-app:${port[haproxy-app]}:${pid[haproxy-tls]}" "nginx:${port[nginx]}:${pid[nginx]}" \
        "nginx-app:${port[nginx-app]}:${pid[nginx-tls]}"
    for name in hookline hookline-app haproxy haproxy-tls nginx nginx-tls; do
        stop $name
    done
}

main "$@"
