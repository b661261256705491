#!/bin/bash
# Runs the tests on a Debian 12 machine: installs what is missing, builds with AddressSanitizer and UBSan, checks who
# calls whom, runs the unit tests and the integration tests: these on Debian's own Node, and those of real clients once more
# on this machine's if that is another one. The last line is "N passed, N failed"; the exit status says the same.
#
#   tests/run.sh                          everything
#   tests/run.sh unit [FOLDER…]           unit tests, of these folders of proxy/ (http, store …)
#   tests/run.sh integration [WORD…]      integration tests, of the files with one of these words in their path; with
#                                         words on Debian's Node alone
#   tests/run.sh --help
#
# Variables: JOBS (integration test files at once, default 3); HOOKLINE_TEST_…, see tests/integration/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build-sanitize
passed=0 failed=0

# Debian's packages: what builds hookline, its unit tests, and what the integration tests call.
packages=(build-essential cmake ninja-build pkg-config libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev libsqlite3-dev
    libpq-dev libjansson-dev libcriterion-dev node-llhttp sqlite3 postgresql-15 pgbouncer python3-dev python3-dbg ca-certificates
    python3-fastapi python3-uvicorn python3-websockets python3-flask python3-gunicorn iproute2)

main() {
    local part=${1-all}
    [ $# -eq 0 ] || shift
    case $part in
    -h | --help) usage; exit 0 ;;
    all | unit | integration) ;;
    *) usage >&2; exit 2 ;;
    esac
    trap 'echo "$passed passed, $failed failed"' EXIT

    step "Packages" install_packages
    step "Build" build_all
    step "PostgreSQL" start_postgres
    [ "$part" = integration ] || check_structure
    [ "$part" = integration ] || run_unit "$@"
    [ "$part" = unit ] || run_integration "$@"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/run.sh
}

# step NAME COMMAND…: nothing can follow when it fails.
step() {
    local name=$1
    shift
    printf '\n== %s\n' "$name"
    if ! "$@"; then
        echo "tests/run.sh: failed: $name" >&2
        failed=$((failed + 1))
        exit 1
    fi
}

install_packages() {
    local missing=() package sudo=''
    [ -e /usr/bin/node ] || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm)
    [ "$part" = unit ] || packages+=(chromium curl) # shows the dashboard; the pages' examples
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing ${missing[*]}"
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq && without_cluster \
        $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Where PostgreSQL's server is new, its package would make a cluster and start it.
without_cluster() {
    local settings=/etc/postgresql-common/createcluster.d/hookline-tests.conf status=0
    if [[ " ${missing[*]} " != *' postgresql-15 '* ]]; then
        "$@"
        return
    fi
    $sudo mkdir -p "${settings%/*}"
    $sudo tee "$settings" >/dev/null <<<'create_main_cluster = false'
    "$@" || status=$?
    $sudo rm "$settings"
    return $status
}

# One server for all tests; it goes when this script does.
start_postgres() {
    [ -z "${HOOKLINE_TEST_POSTGRES-}" ] || return 0
    coproc SERVER { exec tests/postgres/cluster.sh; }
    read -r HOOKLINE_TEST_POSTGRES _ <&"${SERVER[0]}" && export HOOKLINE_TEST_POSTGRES
}

build_all() {
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHOOKLINE_SANITIZE=address -DHOOKLINE_CRASH_POINTS=ON \
        >/dev/null && ninja -C "$build"
}

# One test: no circle of calls among the files of a folder, and no folder calls a later one.
check_structure() {
    printf '\n== Structure\n'
    if node tests/structure/graph.mjs "$build"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# run_unit FOLDER…: each folder's tests are one program; its own count of cases is what counts here.
run_unit() {
    local log=$build/unit.log selection=()
    [ $# -eq 0 ] || selection=(-R "^($(IFS='|' && echo "$*"))\$")
    printf '\n== Unit tests\n'
    # Programs side by side, each one's cases in turn: criterion leaks a little when it runs cases side by side.
    CRITERION_JOBS=1 ctest --test-dir "$build" -j "$(nproc)" --no-tests=error --verbose "${selection[@]}" \
        >"$log" 2>&1 || true
    grep -E '\[(FAIL|----|====)\]|Sanitizer|runtime error|\*\*\*|No tests|setup or teardown' "$log" || true
    read -r good bad < <(count_unit "$log")
    passed=$((passed + good)) failed=$((failed + bad))
    [ "$bad" -eq 0 ] || echo "all of their output: $log"
}

# Criterion: "3: [====] Synthesis: Tested: 41 | Passing: 41 | Failing: 0 | Crashing: 0". A program without that line is one
# test; one that fails although its cases all passed (a leak at its end) is a failure more, as is a case that passed and
# then crashed in what ends it, of which criterion only warns.
count_unit() {
    awk '
        /Synthesis: Tested:/ { split($0, f, /[:|]/); good += f[6]; bad += f[8] + f[10]; has[f[1]] = 1; failures[f[1]] = f[8] + f[10] }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
            match($0, /#[0-9]+/); n = substr($0, RSTART + 1, RLENGTH - 1)
            if (/ Passed /) { if (!has[n]) good++ } else if (!failures[n]) bad++
        }
        /No tests were found|ed during its setup or teardown/ { bad++ }
        END { print good + 0, bad + 0 }' "$1"
}

run_integration() {
    local files=() word versions=()
    printf '\n== Integration tests\n'
    if [ $# -eq 0 ]; then
        files=(tests/integration/{,http/}*.test.mjs)
    else
        for word in "$@"; do
            mapfile -t -O "${#files[@]}" files < <(
                printf '%s\n' tests/integration/{,http/}*.test.mjs | grep -- "^tests/integration/.*$word"
            )
        done
    fi
    [ ${#files[@]} -gt 0 ] || step "find test files named like: $*" false
    step "npm ci" npm ci --prefix tests/integration --no-audit --no-fund --loglevel=error
    step "Debian's Node" tests/debian-node.sh node --version
    run_files tests/debian-node.sh "${files[@]}"
    mapfile -t versions < <(node --version && tests/debian-node.sh node --version)
    [ $# -eq 0 ] && [ "${versions[0]}" != "${versions[1]}" ] || return 0
    mapfile -t files < <(of_clients "${files[@]}")
    printf '\n== Integration tests of clients and servers once more, on Node %s\n' "${versions[0]}"
    run_files env "${files[@]}"
}

# of_clients FILE…: those in which a package of npm or Node's own fetch speaks with hookline, and the ones of HTTP. What
# the others show is the binary, whichever Node looks on; the dashboard's are Chromium's.
of_clients() {
    printf '%s\n' "$@" | grep -vE "/(dashboard|http)" | xargs grep -lP "from '(?!node:|\.)|\bfetch\("
    printf '%s\n' "$@" | grep /http/
}

# run_files WRAPPER FILE…: the wrapper decides which `node` it is, for all that the tests start as well.
run_files() {
    local wrapper=$1 tap=$PWD/$build/integration.tap
    shift
    rm -f "$tap"
    HOOKLINE_BIN=$PWD/$build/hookline timeout --kill-after=10 40m "$wrapper" node --test --test-concurrency="${JOBS:-3}" \
        --test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap --test-reporter-destination="$tap" \
        "$@" || true
    passed=$((passed + $(count_tap pass)))
    failed=$((failed + $(count_tap fail) + $(count_tap cancelled)))
    grep -qs '^# pass' "$tap" || failed=$((failed + 1)) # it did not come to its end
}

count_tap() {
    sed -n "s/^# $1 \([0-9]*\)\$/\1/p" "$tap" 2>/dev/null | tail -n 1 | grep . || echo 0
}

main "$@"
