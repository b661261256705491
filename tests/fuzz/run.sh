#!/bin/bash
# Fuzzes on a Debian 12 machine: installs what is missing, builds the targets with clang, libFuzzer, AddressSanitizer and
# UBSan, runs each of them for a while. Exits with another status than 0 when there is a finding.
#
#   tests/fuzz/run.sh                          every target, 10 seconds each
#   tests/fuzz/run.sh SECONDS [TARGET…]        these targets (request, connection …), so long each
#   tests/fuzz/run.sh keep [TARGET…]           after that: what they have learned is where the next run begins
#   tests/fuzz/run.sh --help
#
# The seconds are a processor's: beside other work a target takes longer, and does as much.
#
# Variables: JOBS (targets at once; default: one more than there are processors, so that none idles beside the last
# target); SEED (what chance begins with; default 1, so that a change is not failed by luck that another had; 0: another
# one each time, for long runs). A target begins with its seeds and with learned/TARGET.tar.gz; what it has learned then is
# in build-fuzz/corpus/TARGET, inputs that are findings in build-fuzz/findings; they are replayed by
# build-fuzz/tests/fuzz/fuzz_TARGET FILE. A finding that is understood goes to regression/TARGET, under a name that says
# what it was.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=build-fuzz
here=tests/fuzz
seconds=10
targets=()
findings=0

main() {
    local what=fuzz
    case ${1-} in
    -h | --help) sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' "$here/run.sh"; exit 0 ;;
    keep) what=keep ;;
    *) seconds=${1-$seconds} ;;
    esac
    [ $# -eq 0 ] || shift
    targets=("$@")
    [ ${#targets[@]} -gt 0 ] || all_targets
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "$seconds is no number of seconds" >&2; exit 2; }

    install_packages
    build_targets
    "${what}_all"
}

fuzz_all() {
    mkdir -p "$build/findings"
    run_all
    report
    [ "$findings" -eq 0 ]
}

# Of all inputs as few as do the same.
keep_all() {
    local target least
    least=$(mktemp -d)
    trap "rm -rf '$least'" EXIT
    for target in "${targets[@]}"; do
        mkdir "$least/$target"
        unpack_learned "$target"
        "$build/$here/fuzz_$target" -merge=1 -max_len=4096 -rss_limit_mb=1500 "$least/$target" "$build/corpus/$target" \
            "$here/corpus/$target" >"$build/$target.log" 2>&1 || { tail -n 20 "$build/$target.log"; exit 1; }
        (cd "$least/$target" && tar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -cf - *) |
            gzip -9n >"$here/learned/$target.tar.gz"
        echo "$target: $(ls "$least/$target" | wc -l) inputs"
    done
}

all_targets() {
    local file
    for file in "$here"/fuzz_*.c; do
        file=${file##*/fuzz_}
        targets+=("${file%.c}")
    done
}

# The run-time libraries of a compiler are a package of their own.
install_packages() {
    local missing=() package sudo=''
    local packages=(clang libclang-rt-14-dev cmake ninja-build pkg-config libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev
        libsqlite3-dev libpq-dev libjansson-dev zlib1g-dev node-llhttp)
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing ${missing[*]}"
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build_targets() {
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DHOOKLINE_FUZZ=ON \
        -DHOOKLINE_TESTS=OFF >/dev/null
    ninja -C "$build" "${targets[@]/#/fuzz_}" >"$build/build.log" || { cat "$build/build.log"; exit 1; }
}

dictionary_of() {
    case $1 in
    request | response | chunked | function) echo http ;;
    *) echo "$1" ;;
    esac
}

unpack_learned() {
    mkdir -p "$build/corpus/$1"
    [ ! -e "$here/learned/$1.tar.gz" ] || tar -xzf "$here/learned/$1.tar.gz" -C "$build/corpus/$1"
}

run_target() {
    local target=$1 dictionary folder arguments=()
    dictionary=$here/dictionary/$(dictionary_of "$target").dict
    [ ! -e "$dictionary" ] || arguments+=(-dict="$dictionary")
    unpack_learned "$target"
    rm -f "$build/$target.stop"
    for folder in "$here/corpus/$target" "$here/regression/$target"; do
        [ ! -d "$folder" ] || arguments+=("$folder")
    done
    "$build/$here/fuzz_$target" -stop_file="$build/$target.stop" -seed="${SEED:-1}" -max_len=4096 -timeout=60 \
        -rss_limit_mb=1500 -print_final_stats=1 -artifact_prefix="$build/findings/$target-" \
        "$build/corpus/$target" "${arguments[@]}" \
        >"$build/$target.log" 2>&1 </dev/null &
    stop_after "$seconds" $! "$build/$target.stop"
    wait $!
}

# stop_after SECONDS PID FILE: makes the file, which ends the target, once the process has computed so long.
stop_after() {
    local ticks=$(($1 * $(getconf CLK_TCK))) stat
    while read -r -a stat 2>/dev/null <"/proc/$2/stat" && [ "${stat[2]}" != Z ]; do
        if [ $((stat[13] + stat[14])) -ge "$ticks" ]; then
            echo "$1 s" >"$3"
            return
        fi
        sleep 0.2
    done
}

# Some at a time; a target's exit status is kept in a file, for it ends in a subshell.
run_all() {
    local target running=0
    for target in "${targets[@]}"; do
        if [ "$running" -ge "${JOBS:-$(($(nproc) + 1))}" ]; then
            wait -n || true
            running=$((running - 1))
        fi
        (run_target "$target" && echo 0 || echo $?) >"$build/$target.status" &
        running=$((running + 1))
    done
    wait
}

report() {
    local target status count
    printf '%-12s %12s %10s  %s\n' target executions per-second result
    for target in "${targets[@]}"; do
        status=$(<"$build/$target.status")
        count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log" | tail -n 1)
        if [ "$status" -eq 0 ]; then
            printf '%-12s %12s %10s  %s\n' "$target" "$count" "$((count / (seconds > 0 ? seconds : 1)))" ok
        else
            findings=$((findings + 1))
            printf '%-12s %12s %10s  %s\n' "$target" "${count:-?}" - "FINDING: $build/$target.log"
        fi
    done
    for target in "${targets[@]}"; do
        [ "$(<"$build/$target.status")" -eq 0 ] || show_finding "$target"
    done
}

# What was claimed and the input, without libFuzzer's own lines.
show_finding() {
    printf '\n== %s\n' "$1"
    grep -vE '^#[0-9]|^INFO:|fuzzer::|^stat::' "$build/$1.log" | head -n 60
    grep -E '^Base64:|Test unit written' "$build/$1.log" || true
}

main "$@"
