#!/bin/bash
# Measures function-style Python apps beside uvicorn with FastAPI and gunicorn with Flask, all of them on this machine's
# loopback in Debian's Python, one process each on one core. Builds in build-bench/, where all files stay; installs
# nothing. Asserts no timings.
#
#   tests/bench/runtime/run.sh calls [ROUNDS]    small calls: CPU time, latency; medians over rounds (11)
#   tests/bench/runtime/run.sh events [EVENTS]   from yield to the caller (500)
#   tests/bench/runtime/run.sh all               both, in about three minutes
#
# Variables: LOAD_CORE (0: the callers), SERVER_CORE (1: the one that is measured), PYTHON (/usr/bin/python3).
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/bench/common.sh

source=$PWD/tests/bench/runtime build=$PWD/build-bench work=$PWD/build-bench/bench-runtime
load_core=${LOAD_CORE:-0} server_core=${SERVER_CORE:-1} python=${PYTHON:-/usr/bin/python3}
declare -A port=([hookline]=18180 [fastapi]=18181 [flask]=18182 [pure]=18183) pid=() worker=() core=([pure]=python)

main() {
    local what=${1-}
    [ $# -eq 0 ] || shift
    case $what in
    calls | events | all) ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    prepare
    trap stop_all EXIT
    print_machine
    for name in hookline pure fastapi flask; do
        start $name
    done
    if [ "$what" = all ]; then
        measure_calls
        measure_events
    else
        "measure_$what" "$@"
    fi
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/bench/runtime/run.sh
}

fail() {
    echo "run.sh: $1" >&2
    exit 1
}

prepare() {
    "$python" -c 'import fastapi, flask, gunicorn, httptools, uvicorn, uvloop' 2>/dev/null ||
        fail "missing. On Debian: apt-get install python3-fastapi python3-uvicorn python3-uvloop python3-httptools" \
            "python3-flask gunicorn"
    taskset -c "$load_core,$server_core" true || fail "two cores are needed; set LOAD_CORE and SERVER_CORE"
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DHOOKLINE_BENCH=ON >/dev/null
    ninja -C "$build" --quiet hookline_python bench_calls bench_events | sed '/no work to do/d;/Entering directory/d'
    rm -rf "$work"
    mkdir -p "$work"
    cd "$work"
}

print_machine() {
    printf '%s, %s cores, Linux %s, load %s\n' "$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)" \
        "$(nproc)" "$(uname -r)" "$(cut -d' ' -f1-3 /proc/loadavg)"
    "$python" -c 'import sys, fastapi, uvicorn, flask, gunicorn
print(f"Python {sys.version.split()[0]}, FastAPI {fastapi.__version__}, uvicorn {uvicorn.__version__}, "
      f"Flask {flask.__version__}, gunicorn {gunicorn.__version__}")' 2>/dev/null
}

# start NAME: one process of it, on its core; returns when it listens.
start() {
    local name=$1 command
    case $name in
    hookline | pure) command=("$python" -m hookline_runtime "$source/functions.py" --port "${port[$name]}") ;;
    fastapi) command=("$python" -m uvicorn --loop uvloop --http httptools --log-level error --no-access-log
        --port "${port[$name]}" fastapi_app:app) ;;
    flask) command=("$python" -m gunicorn --workers 1 --threads 1 --worker-class gthread --keep-alive 75
        --log-level error --bind "127.0.0.1:${port[$name]}" flask_app:app) ;;
    esac
    ! connects "${port[$name]}" || fail "port ${port[$name]} is in use"
    env PYTHONPATH="$build/python:$source" PYTHONDONTWRITEBYTECODE=1 HOOKLINE_LOG_LEVEL=error \
        HOOKLINE_FUNCTION_CORE="${core[$name]-auto}" \
        taskset -c "$server_core" "${command[@]}" >"$name.log" 2>&1 &
    pid[$name]=$!
    for _ in {1..300}; do
        if connects "${port[$name]}"; then
            # gunicorn works in a child.
            worker[$name]=$(tr -d ' ' <"/proc/${pid[$name]}/task/${pid[$name]}/children")
            worker[$name]=${worker[$name]:-${pid[$name]}}
            return 0
        fi
        kill -0 "${pid[$name]}" 2>/dev/null || break
        sleep 0.1
    done
    cat "$name.log" >&2
    fail "$name does not listen"
}

stop_all() {
    local name
    for name in "${!pid[@]}"; do
        kill -TERM "${pid[$name]}" 2>/dev/null || true
    done
    wait
}

heading() {
    printf '\n== %s\n' "$1"
}

# compare PATH CALLERS ROUNDS BODY NAME…
compare() {
    local path=$1 callers=$2 rounds=$3 body=$4 name all=()
    shift 4
    for name in "$@"; do
        all+=("$name:${port[$name]}:${worker[$name]}:/$path")
    done
    taskset -c "$load_core" "$build/bench_calls" -c "$callers" -r "$rounds" -b "$body" "${all[@]}"
}

measure_calls() {
    local rounds=${1:-11} body='{"prompt": "a few words for the model"}'
    heading "An empty function (def), 16 callers; $rounds rounds"
    compare empty 16 "$rounds" '{}' hookline pure fastapi flask
    heading "An empty function (async def), 16 callers"
    compare empty_async 16 "$rounds" '{}' hookline pure fastapi
    heading "One parameter, a str, and a dict returned (def), 16 callers"
    compare text 16 "$rounds" "$body" hookline pure fastapi flask
    heading "The same (async def), 16 callers"
    compare text_async 16 "$rounds" "$body" hookline pure fastapi
    heading "The same model of pydantic taken and returned (def), 16 callers"
    compare model 16 "$rounds" '{"order": {"name": "a thing", "price": 2.5, "tags": ["a", "b"], "box": {"x": 1, "y": 2}}}' \
        hookline pure fastapi flask
    heading "An empty function (def), one caller: what the server adds to the time of a call"
    compare empty 1 "$rounds" '{}' hookline pure fastapi flask
    heading "An empty function (async def), one caller"
    compare empty_async 1 "$rounds" '{}' hookline pure fastapi
}

measure_events() {
    local name all=()
    heading "From yield to the caller, an event every 2 ms, ${1:-500} events"
    for name in hookline pure fastapi flask; do
        all+=("$name:${port[$name]}:/stream")
    done
    taskset -c "$load_core" "$build/bench_events" -n "${1:-500}" "${all[@]}"
}

main "$@"
