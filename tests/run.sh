#!/bin/bash
# Runs the tests on a Debian 12 machine: installs what is missing, builds with AddressSanitizer and UBSan, then runs side by
# side the check of who calls whom, the unit tests and the integration tests (these on Debian's own Node), and says where
# the time went. The last line is "N passed, N failed"; the exit status says the same.
#
#   tests/run.sh                          everything
#   tests/run.sh quick                    unit tests, and each mode of the program once: before a commit
#   tests/run.sh unit [FOLDER…]           unit tests, of these folders of proxy/ (http, store …)
#   tests/run.sh integration [WORD…]      integration tests, of the files with one of these words in their path
#   tests/run.sh packages                 what is handed out, in root file systems of other systems: needs root
#   tests/run.sh --help
#
# Variables: JOBS (tests/schedule.mjs); BASE (deploy/debian.sh); HOOKLINE_ENGINE (a command like docker, in
# which the image is tried) and HOOKLINE_EARLIER_IMAGE (one that it has, whose volume the image goes on with); HOOKLINE_TEST_ALL_NODES=1 (integration tests of clients and servers once more on
# this machine's own Node, if that is another one: before a release); HOOKLINE_TEST_…, see tests/integration/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build-sanitize
binary=$PWD/$build/hookline # what the integration tests start
passed=0 failed=0
stages=()
programs=() files=()
preparations=() # processes that go on beside the build

# Debian's packages: what builds hookline, its unit tests, and what the integration tests call.
packages=(build-essential cmake ninja-build mold pkg-config libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev libsqlite3-dev
    libpq-dev libjansson-dev zlib1g-dev libcriterion-dev libnanopb-dev node-llhttp sqlite3 postgresql-15 pgbouncer python3-dev python3-dbg ca-certificates
    python3-wheel python3-fastapi python3-pydantic python3-uvicorn python3-websockets python3-flask python3-gunicorn iproute2)

# The smoke tests of `quick`: a file for each mode, what it needs beside that, and the papers.
quick=(sync async streaming webhook-envelope websocket fields function-c config-check citations coverage refusals)

main() {
    local part=${1-all}
    [ $# -eq 0 ] || shift
    case $part in
    -h | --help) usage; exit 0 ;;
    all | quick | packages) [ $# -eq 0 ] || refuse "\"tests/run.sh ${part/all/}\" takes nothing after it, and got \"$*\"" ;;
    unit | integration) ;;
    *) refuse "\"$part\" is none of: quick, unit, integration, packages" ;;
    esac
    choose "$part" "$@"
    large_pages "$part" "$@"
    trap finish EXIT
    trap 'exit 130' INT TERM HUP

    step "Packages" install_packages
    refuse_leftovers
    choose_scratch
    begin_preparations
    if [ "$part" = packages ]; then step "Bundle" build_bundle; else step "Build" build_all; fi
    step "Preparations" end_preparations
    stage_tests tests/debian-node.sh
    [ "$part" != all ] || [ -z "${HOOKLINE_TEST_ALL_NODES-}" ] || again_on_own_node
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

usage() {
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/run.sh
}

refuse() {
    echo "tests/run.sh: $1 (tests/run.sh --help)" >&2
    exit 2
}

# choose PART WORD…: `programs` and `files`.
choose() {
    local part=$1 word folders=(tests/unit/*/) all=(tests/integration/{,http/}*.test.mjs) found
    shift
    folders=("${folders[@]#tests/unit/}") && folders=("${folders[@]%/}" conversations)
    case $part in
    all) programs=("${folders[@]}") files=("${all[@]}") ;;
    quick)
        programs=("${folders[@]}") files=("${quick[@]/%/.test.mjs}") && files=("${files[@]/#/tests/integration/}")
        export HOOKLINE_TEST_IMAGE_STRIDE=${HOOKLINE_TEST_IMAGE_STRIDE-30} # a tenth of what the power may leave behind
        ;;
    unit)
        for word in "$@"; do
            [[ " ${folders[*]} " == *" $word "* ]] || refuse "there are no unit tests \"$word\", only: ${folders[*]}"
        done
        programs=("$@")
        [ $# -gt 0 ] || programs=("${folders[@]}")
        ;;
    integration)
        [ $# -gt 0 ] || files=("${all[@]}")
        for word in "$@"; do
            mapfile -t found < <(printf '%s\n' "${all[@]}" | grep -- "^tests/integration/.*$word")
            [ ${#found[@]} -gt 0 ] || refuse "no file of tests/integration has \"$word\" in its name"
            files+=("${found[@]}")
        done
        ;;
    packages)
        files=(tests/packages/*.test.mjs)
        packages+=(python3-setuptools python3-wheel musl-tools busybox-static debootstrap)
        packages+=(golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev) # render the chart
        packages+=(prometheus) # promtool, and the rules against it
        ;;
    esac
}

# The table of stages, and the last line.
finish() {
    local stage
    [ ${#preparations[@]} -eq 0 ] || kill "${preparations[@]}" 2>/dev/null || true
    [ ${#stages[@]} -eq 0 ] || printf '\nStages:\n'
    for stage in "${stages[@]}"; do
        printf '%7s s  %s\n' "${stage%% *}" "${stage#* }"
    done
    echo "$passed passed, $failed failed"
}

# step NAME COMMAND…: nothing can follow when it fails.
step() {
    local name=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if ! "$@"; then
        echo "tests/run.sh: failed: $name" >&2
        failed=$((failed + 1))
        exit 1
    fi
    stages+=("$((SECONDS - began)) $name")
}

install_packages() {
    local missing=() package sudo=''
    [ -e /usr/bin/node ] || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm)
    [ ${#files[@]} -eq 0 ] || packages+=(chromium-headless-shell curl) # shows the dashboard; the pages' examples
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "they need root: run this once as root, or install sudo" >&2; return 1; }
        sudo=sudo
    fi
    $sudo apt-get update -qq && without_services \
        $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        { echo "apt-get cannot install them: is there a network? (${missing[*]})" >&2; return 1; }
}

# Where the packages of servers are new they would start them, PostgreSQL's with a cluster of its own: nothing is to run
# on this machine that the tests do not start.
without_services() {
    local cluster=/etc/postgresql-common/createcluster.d/hookline-tests.conf policy=/usr/sbin/policy-rc.d status=0 mine=()
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null && $sudo chmod 755 "$policy" && mine+=("$policy")
    fi
    if [[ " ${missing[*]} " == *' postgresql-15 '* ]]; then
        $sudo mkdir -p "${cluster%/*}" && $sudo tee "$cluster" >/dev/null <<<'create_main_cluster = false' && mine+=("$cluster")
    fi
    "$@" || status=$?
    [ ${#mine[@]} -eq 0 ] || $sudo rm -f "${mine[@]}"
    return $status
}

# Processes of a run that was killed hold ports, and the binary that is built now.
refuse_leftovers() {
    local found
    found=$(pgrep -f "^$PWD/$build/" | tr '\n' ' ') || return 0
    echo "tests/run.sh: programs of an earlier run are still there; end them: kill $found" >&2
    failed=1
    exit 1
}

# large_pages ARGUMENT…: begins again where /dev/shm is a volume of its own whose large files have large pages, if this is
# root's, who may not mount in every container. What a store holds in reserve is 24 MiB, which each new one makes: that takes
# 0.1 ms there, not 10.
large_pages() {
    [ "$(id -u)" = 0 ] && [ -z "${TMPDIR-}${HOOKLINE_TEST_POSTGRES-}${HOOKLINE_TEST_LARGE_PAGES-}" ] || return 0
    unshare --mount --propagation unchanged true 2>/dev/null || return 0
    export HOOKLINE_TEST_LARGE_PAGES=tried
    exec unshare --mount --propagation unchanged -- bash -c '
        mount --make-private /dev/shm &&
            mount -t tmpfs -o "huge=within_size,mode=1777,size=$(df --output=size /dev/shm | tail -n 1 | tr -d " ")k" hookline-tests /dev/shm
        exec tests/run.sh "$@"' - "$@"
}

# Data directories and PostgreSQL's clusters: in memory where there is room, for they are synced all the time.
choose_scratch() {
    local free
    [ -z "${TMPDIR-}" ] && free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || return 0
    [ "$free" -lt $((6 * 1024 * 1024)) ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
}

build_all() {
    local launcher='' linker=''
    ! command -v ccache >/dev/null || launcher=ccache
    ! command -v mold >/dev/null || linker=-fuse-ld=mold
    local targets=(all)
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHOOKLINE_SANITIZE=address -DHOOKLINE_CRASH_POINTS=ON \
        -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_EXE_LINKER_FLAGS="$linker" >/dev/null || return 1
    [ ${#files[@]} -gt 0 ] || [ ${#programs[@]} -eq 0 ] || mapfile -t targets < <(targets_of "${programs[@]}")
    ninja -C "$build" "${targets[@]}" || return 1
    # Else each interpreter that a test starts would compile the package anew, for the tests let none write there.
    [ ${#files[@]} -eq 0 ] || python3 -m compileall -q "$build/python"
}

# A release, as it is handed out, and a Debian system to try it in.
build_bundle() {
    local launcher=''
    ! command -v ccache >/dev/null || launcher=ccache
    mkdir -p "$build"
    export BASE=${BASE-$PWD/$build/debian.tar}
    deploy/debian.sh "$BASE" &&
        cmake -S . -B build-release -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DCMAKE_C_COMPILER_LAUNCHER="$launcher" >/dev/null &&
        ninja -C build-release image || return 1
    HOOKLINE_IMAGE=$(ls "$PWD"/build-release/hookline-*.image.tar)
    HOOKLINE_BUNDLE=${HOOKLINE_IMAGE%.image.tar}.tar.gz
    binary=${HOOKLINE_BIN-$PWD/build-release/hookline}
    export HOOKLINE_IMAGE HOOKLINE_BUNDLE
}

targets_of() {
    local program
    for program in "$@"; do
        [ "$program" = conversations ] && echo "$program" || echo "test_$program"
    done
}

# What the tests need beside the build, while that is under way: Debian's Node, npm's packages, one PostgreSQL for all. They
# wait for a network or a disk for most of their time.
begin_preparations() {
    if [ ${#files[@]} -gt 0 ]; then
        npm ci --prefix tests/integration --no-audit --no-fund --loglevel=error >/dev/null &
        preparations+=($!)
    fi
    tests/debian-node.sh node --version >/dev/null &
    preparations+=($!)
    [ -z "${HOOKLINE_TEST_POSTGRES-}" ] || return 0
    coproc SERVER { exec tests/postgres/cluster.sh --for-others; } # it goes when this script does
    exec {server}<&"${SERVER[0]}"                     # bash forgets what has ended early
}

end_preparations() {
    local job
    if [ -z "${HOOKLINE_TEST_POSTGRES-}" ]; then
        read -r HOOKLINE_TEST_POSTGRES HOOKLINE_TEST_CLUSTER <&"$server" || return 1
        export HOOKLINE_TEST_POSTGRES HOOKLINE_TEST_CLUSTER HOOKLINE_TEST_KEEP_SCHEMAS=1
    fi
    for job in "${preparations[@]}"; do
        wait "$job" || return 1
    done
    preparations=()
}

# stage_tests WRAPPER: the wrapper decides which `node` it is, for all that the tests start as well.
stage_tests() {
    local began=$SECONDS sum=$build/test-logs/sum
    printf '\n== Tests\n'
    check_structure
    rm -f "$sum"
    HOOKLINE_BIN=$binary "$@" node tests/schedule.mjs "$build" "${programs[@]}" "${files[@]}" || true
    if [[ $(cat "$sum" 2>/dev/null) =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        failed=$((failed + 1)) # it did not come to its end
    fi
    stages+=("$((SECONDS - began)) Tests")
}

# Two tests: no circle of calls among the files of a folder, and no folder calls a later one; what is wrong in a .sql file
# ends the build.
check_structure() {
    [ ${#programs[@]} -gt 0 ] && [ -e "$build/hookline" ] || return 0
    if node tests/structure/graph.mjs "$build"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    if node tests/structure/embed_sql.mjs; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

again_on_own_node() {
    local versions
    mapfile -t versions < <(node --version && tests/debian-node.sh node --version)
    [ "${versions[0]}" != "${versions[1]}" ] || return 0
    mapfile -t files < <(of_clients "${files[@]}")
    programs=()
    printf '\n== Tests of clients and servers once more, on Node %s\n' "${versions[0]}"
    stage_tests env
}

# of_clients FILE…: those in which a package of npm or Node's own fetch speaks with hookline, and the ones of HTTP. What
# the others show is the binary, whichever Node looks on; the dashboard's are Chromium's.
of_clients() {
    printf '%s\n' "$@" | grep -vE "/(dashboard|http)" | xargs grep -lP "from '(?!node:|\.)|\bfetch\("
    printf '%s\n' "$@" | grep /http/
}

main "$@"
