#!/bin/bash
# Measures hookline's webhooks beside a bare loop of libcurl and HMAC, and beside a hundred bad receivers, all on this
# machine's loopback. Builds hookline (Release) and the measuring programs in build-bench/; installs nothing. Asserts no
# timings.
#
#   tests/bench/webhook/run.sh drain [ROUNDS]      a backlog to one receiver: webhooks/s, CPU each, beside the bare loop
#   tests/bench/webhook/run.sh latency [ROUNDS]    the same, the receiver answers after 100 ms
#   tests/bench/webhook/run.sh delay [ROUNDS]      how late webhooks of a healthy receiver are, alone, beside the bad
#   tests/bench/webhook/run.sh kinds               CPU of an attempt at each kind of bad receiver
#   tests/bench/webhook/run.sh concurrency         64, 256 and 1024 at once: CPU and memory
#   tests/bench/webhook/run.sh bare [ROUNDS]       the bare loop with curl_multi_poll and with an epoll
#   tests/bench/webhook/run.sh profile             the functions in which the delivery thread spends its time (callgrind)
#   tests/bench/webhook/run.sh all                 all of these but profile, in about ten minutes
#
# Variables: LOAD_CORE (0: app, callers, receivers), PROXY_CORE (1: hookline, and the bare loop), HOOKLINE_BIN (another
# hookline: an older one, say), HOOKLINE_WEBHOOK_… (as hookline's own).
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/bench/common.sh

source=$PWD/tests/bench/webhook build=$PWD/build-bench work=$PWD/build-bench/bench-webhook
load_core=${LOAD_CORE:-0} proxy_core=${PROXY_CORE:-1}
binary=${HOOKLINE_BIN:-$build/hookline}
port=18180 app=18186 receiver=18187 bad=18200
pid= bad_pid=
started=()                                               # further settings, of one start

main() {
    local what=${1-}
    [ $# -eq 0 ] || shift
    case $what in
    drain | latency | delay | kinds | concurrency | bare | profile | all) prepare ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    trap stop_all EXIT
    printf '%s, %s cores, load %s; %s\n' "$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)" "$(nproc)" \
        "$(cut -d' ' -f1-3 /proc/loadavg)" "$binary"
    if [ "$what" != all ]; then
        "measure_$what" "$@"
        return
    fi
    for what in drain latency delay kinds concurrency bare; do
        "measure_$what"
    done
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/bench/webhook/run.sh
}

fail() {
    echo "run.sh: $1" >&2
    exit 1
}

prepare() {
    taskset -c "$load_core,$proxy_core" true || fail "two cores are needed; set LOAD_CORE and PROXY_CORE"
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DHOOKLINE_BENCH=ON >/dev/null
    ninja -C "$build" --quiet hookline bench_webhook bench_bad | sed '/no work to do/d;/Entering directory/d'
    rm -rf "$work"
    mkdir -p "$work"
    cd "$work"
    ulimit -n "$(ulimit -H -n)"
}

heading() {
    printf '\n== %s\n' "$1"
}

# start [TOOL…]: hookline with an empty data directory, on its core; returns when it listens.
start() {
    rm -rf data
    ! connects "$port" || fail "port $port is in use"
    env HOOKLINE_LISTEN="127.0.0.1:$port" HOOKLINE_ADMIN_LISTEN="127.0.0.1:$((port + 10))" \
        HOOKLINE_APP_URL="http://127.0.0.1:$app" HOOKLINE_WORKERS=1 HOOKLINE_DATA_DIR="$work/data" \
        HOOKLINE_SHUTDOWN_DELAY=0s HOOKLINE_LOG_LEVEL=error HOOKLINE_AUTH=none \
        HOOKLINE_WEBHOOK_ALLOW=127.0.0.0/8 "${started[@]}" taskset -c "$proxy_core" "$@" "$binary" >hookline.log 2>&1 &
    pid=$!
    listens "$port" "$pid" 300 && return
    cat hookline.log >&2
    fail "hookline does not listen"
}

stop() {
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || true
    pid=
}

start_bad() {
    taskset -c "$load_core" "$build/bench_bad" "$bad" 100 &
    bad_pid=$!
}

stop_bad() {
    kill -KILL "$bad_pid" 2>/dev/null || true
    wait "$bad_pid" 2>/dev/null || true
    bad_pid=
}

stop_all() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    [ -z "$bad_pid" ] || kill -KILL "$bad_pid" 2>/dev/null || true
}

# on_load_core WHAT [OPTION…]: a measurement; the bare loop in it goes to hookline's core by itself.
on_load_core() {
    taskset -c "$load_core" "$build/bench_webhook" "$1" -l "$app" -w "$receiver" -b "$bad" -p "$proxy_core" "${@:2}"
}

measure_drain() {
    heading "A backlog of 10,000 to one receiver; ${1:-7} rounds"
    start
    on_load_core drain -r "${1:-7}" "hookline:$port:$pid"
    stop
}

measure_latency() {
    heading "The same, 4,000, the receiver answers after 100 ms; ${1:-3} rounds"
    start
    on_load_core drain -r "${1:-3}" -n 4000 -d 100 "hookline:$port:$pid"
    stop
}

measure_delay() {
    heading "From the app's answer to the receiver, 200 webhooks a second; bad ones get 500 a second"
    start_bad
    start
    on_load_core delay -r "${1:-3}" "hookline:$port:$pid"
    stop
    stop_bad
}

measure_kinds() {
    heading "CPU of the delivery thread for one attempt, at most 2 s, at each kind of bad receiver"
    started=(HOOKLINE_WEBHOOK_ATTEMPTS=1 HOOKLINE_WEBHOOK_TIMEOUT=2s)
    start_bad
    start
    on_load_core kinds "hookline:$port:$pid"
    stop
    stop_bad
    started=()
}

# A fixed number of places for each receiver: the one that is there has them all.
measure_concurrency() {
    local n
    heading "A backlog of 20 times N, N places for the one receiver, which answers after 200 ms"
    for n in 64 256 1024; do
        started=(HOOKLINE_WEBHOOK_CONCURRENCY=$n HOOKLINE_WEBHOOK_PER_HOST=$n)
        start
        on_load_core drain -r 3 -c $n -n $((n * 20)) -d 200 "$n:$port:$pid"
        stop
    done
    started=()
}

measure_bare() {
    heading "The bare loop; ${1:-7} rounds: the receiver answers at once; then after 200 ms"
    on_load_core bare -r "${1:-7}"
    on_load_core bare -r 3 -n 6000 -d 200
}

# What a delivery costs is the difference of two runs of one length and another.
measure_profile() {
    local n few=1000 many=5000
    command -v valgrind >/dev/null || fail "missing: valgrind. On Debian: apt-get install valgrind"
    heading "User instructions of a delivery, by function"
    for n in $few $many; do
        start valgrind --quiet --tool=callgrind --separate-threads=yes --callgrind-out-file="callgrind.$n"
        on_load_core drain -r 1 -n $n "hookline:$port:$pid" >/dev/null
        stop
    done
    for n in $few $many; do
        callgrind_annotate --threshold=100 --auto=no --show-percs=no "$(sender_of callgrind.$n)" |
            sed -n 's/^ *\([0-9,]*\)  [^ ]*:\([^ ]*\).*\[\(.*\)\]$/\1 \2 \3/p' | tr -d , >"functions.$n"
    done
    awk -v each=$((many - few)) '
        { n = FNR == NR ? -$1 : $1; name = $2 ~ /^0x/ ? "(without a name)" : $2
          sub(".*/", "", $3); sum[name "  " $3] += n; object[$3] += n; all += n }
        END { for (f in sum) if (sum[f] >= 150 * each) printf "%8.0f  %s\n", sum[f] / each, f
              for (o in object) if (object[o] >= each) printf "%8.0f  all of %s\n", object[o] / each, o
              printf "%8.0f  all\n", all / each }' functions.$few functions.$many | sort -rn
}

# Of the files that callgrind leaves for each thread, the one whose thread sent webhooks.
sender_of() {
    grep -l 'hl_courier_turn' "$1"-* | head -n 1
}

main "$@"
