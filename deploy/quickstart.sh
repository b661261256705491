#!/bin/bash
# From a bare Debian 12 to running calls in one command: installs what is missing, builds hookline, starts it in front
# of a demo app and shows a synchronous call, an asynchronous one whose signed webhook arrives, and a stream.
#
#   deploy/quickstart.sh                 shows the calls, then keeps running until Ctrl-C
#   deploy/quickstart.sh --stop-after    shows the calls and ends
#
# Leaves the packages and build/ behind; what it started and what that wrote is gone when it ends.
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian's packages: what builds hookline, then what this script calls.
packages=(gcc libc6-dev cmake ninja-build pkg-config
    libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev libsqlite3-dev libpq-dev libjansson-dev zlib1g-dev
    node-llhttp python3-dev python3 curl ca-certificates)
secret=s3cret
work='' hookline='' app='' receiver=''

main() {
    case ${1-} in
    '' | --stop-after) ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    trap stop_all EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    install_packages
    build
    start_all
    make_token
    show_synchronous
    show_asynchronous
    show_stream
    if [ "${1-}" = --stop-after ]; then
        step "Done. Stopping what was started."
        return
    fi
    step "hookline is at http://$address, the app behind it at http://127.0.0.1:$app_port. Ctrl-C stops everything."
    echo "Its log is $work/hookline.log; to try calls of your own:"
    echo "export HOOKLINE_DATA_DIR=$work/data TOKEN=$TOKEN"
    echo "The dashboard, signed in for an hour: $(HOOKLINE_DATA_DIR=$work/data build/hookline dashboard --project demo)"
    wait -n "$hookline" "$app" "$receiver" || true
    fail "one of the programs ended by itself" "$work"/*.log
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' deploy/quickstart.sh
}

step() {
    local bold='' plain=''
    [ ! -t 1 ] || bold=$'\033[1m' plain=$'\033[0m'
    printf '\n%s== %s%s\n' "$bold" "$1" "$plain"
}

# fail MESSAGE [LOG…]: says what went wrong, with the end of each log, and ends.
fail() {
    printf '\nquickstart: %s\n' "$1" >&2
    shift
    for log in "$@"; do
        printf -- '-- the end of %s:\n' "${log##*/}" >&2
        tail -n 20 "$log" >&2
    done
    exit 1
}

install_packages() {
    local missing=() package sudo=''
    command -v dpkg-query >/dev/null ||
        fail "this machine is no Debian: install the equivalents of: ${packages[*]}, then see deploy/running.md"
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    step "Installing ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || fail "run this as root once, or install these packages yourself: ${missing[*]}"
        sudo=sudo
    fi
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build() {
    local log=build/quickstart.log
    step "Building into build/"
    mkdir -p build
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF >$log 2>&1 ||
        fail "the build could not be set up" $log
    cmake --build build --target hookline hookline_python >>$log 2>&1 ||
        fail "the build failed" $log
    build/hookline --version
}

start_all() {
    local admin_port hook_port
    work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-quickstart-XXXXXX")
    address=127.0.0.1:$(free_port 8080)
    app_port=$(free_port 8000)
    hook_port=$(free_port 9000)
    admin_port=$(free_port 9090)
    hook=http%3A%2F%2F127.0.0.1%3A$hook_port%2Fhook
    url=http://$address/v4/demo/words/run

    step "Starting the app, a webhook receiver, and hookline in front of the app"
    PYTHONPATH=build/python HOOKLINE_FUNCTION_CONCURRENCY=16 \
        python3 -m hookline_runtime deploy/demo/main.py --port "$app_port" 2>"$work/app.log" &
    app=$!
    WEBHOOK_SECRET=$secret python3 deploy/demo/receiver.py "$hook_port" >"$work/receiver.log" 2>&1 &
    receiver=$!

    # A webhook to this machine itself is refused unless it is allowed: here the receiver is such a one.
    local settings=(
        HOOKLINE_LISTEN="$address"
        HOOKLINE_ADMIN_LISTEN=127.0.0.1:"$admin_port"
        HOOKLINE_APP_URL=http://127.0.0.1:"$app_port"
        HOOKLINE_DATA_DIR="$work/data"
        HOOKLINE_WEBHOOK_ALLOW="127.0.0.0/8,::1/128"
        HOOKLINE_SHUTDOWN_DELAY=0
        HOOKLINE_DRAIN_TIMEOUT=2s
    )
    printf '%s\n' "${settings[@]}"
    env -i PATH="$PATH" "${settings[@]}" build/hookline 2>"$work/hookline.log" &
    hookline=$!
    wait_for "hookline did not get ready" 100 env -i PATH="$PATH" "${settings[@]}" build/hookline health
}

# Calls need one. The command finds the running hookline by its data directory.
make_token() {
    local command="hookline token create --project demo --name quickstart --role admin --expires 1d"
    step "Making a token"
    printf '\n$ TOKEN=$(%s)\n' "$command"
    TOKEN=$(HOOKLINE_DATA_DIR="$work/data" build/$command) || fail "no token was made" "$work/hookline.log"
}

# free_port PORT: that port, or any free one (and says so) when another program has it.
free_port() {
    python3 - "$1" <<'PY'
import socket, sys
for port in int(sys.argv[1]), 0:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        if port == 0:
            print(f"port {sys.argv[1]} is taken here, using {probe.getsockname()[1]}", file=sys.stderr)
        print(probe.getsockname()[1])
        break
PY
}

# wait_for MESSAGE TENTHS COMMAND…: until the command succeeds, or MESSAGE after that many tenths of a second.
wait_for() {
    local message=$1 tenths=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        kill -0 "$hookline" 2>/dev/null || fail "hookline has ended" "$work/hookline.log"
        tenths=$((tenths - 1))
        [ $tenths -gt 0 ] || fail "$message" "$work"/*.log
        sleep 0.1
    done
}

# call COMMAND: shows a command as one could paste it, runs it, and puts the time in front of each line of its output
# at the moment when the line arrives. The output is left in $work/answer.
call() {
    local line
    printf '\n$ %s\n' "$1"
    eval "$1" | tee "$work/answer" | while IFS= read -r line || [ -n "$line" ]; do
        printf '%s  %s\n' "$(date +%T.%3N)" "${line%$'\r'}"
    done
}

show_synchronous() {
    step "Synchronous: the answer is the value of run() in deploy/demo/main.py"
    call "curl -sS -i $url -H \"Authorization: Bearer \$TOKEN\" \\
    --json '{\"prompt\": \"world hello\"}'"
}

show_asynchronous() {
    local run_id
    step "Asynchronous: 202 at once, the app works for two seconds, then its answer arrives as a signed webhook"
    call "curl -sS -i '$url?async=true&webhookEndpoint=$hook' \\
    -H \"Authorization: Bearer \$TOKEN\" -H 'X-Webhook-Secret: $secret' \\
    --json '{\"prompt\": \"later me call\", \"seconds\": 2}'"
    run_id=$(sed -n 's/^{"run_id":"\(.*\)"}$/\1/p' "$work/answer")
    [ -n "$run_id" ] || fail "that is not the 202 that was expected" "$work/hookline.log"
    wait_for "the webhook did not arrive" 150 grep -q "VERIFIED run $run_id" "$work/receiver.log"
    printf '\nand this is what deploy/demo/receiver.py got and checked:\n'
    cat "$work/receiver.log"
    export HOOKLINE_DATA_DIR=$work/data
    call "build/hookline runs show $run_id"
}

show_stream() {
    step "Stream: each event is here the moment the function yields it"
    call "curl -sS -N -i ${url%/run}/stream -H \"Authorization: Bearer \$TOKEN\" -H 'Accept: text/event-stream' \\
    --json '{\"prompt\": \"these words arrive one by one\"}'"
}

# Ends our own programs, hookline first so that it can say good-bye to the app, and removes what they wrote.
stop_all() {
    local pid
    trap 'kill -9 $hookline $app $receiver 2>/dev/null || true' INT TERM HUP # a second Ctrl-C does not wait
    for pid in $hookline $app $receiver; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    [ -z "$work" ] || rm -rf "$work"
}

main "$@"
