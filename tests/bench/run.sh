#!/bin/bash
# Measures what things cost, each beside its floor or its peers in the same run, on loopback. Builds hookline (Release) in
# build-bench/, where all files stay. Asserts nothing. The load of the machine stands above each figure.
#
#   tests/bench/run.sh NAME…      in this order; what there is:
#
#   calls paced unix syscalls flood sse idle accepts queue     tests/bench/proxy/run.sh
#   webhooks kept follow start bodies tls
#   drain latency delay kinds concurrency bare                 tests/bench/webhook/run.sh
#   store                                                      build-bench/bench_store
#   instructions                                               tests/bench/instructions.sh
#   all                                                        all of these
set -euo pipefail
cd "$(dirname "$0")/../.."

proxy=(calls paced unix syscalls flood sse idle accepts queue webhooks kept follow start bodies tls)
webhook=(drain latency delay kinds concurrency bare)

# is_in WORD LIST…
is_in() {
    local word=$1
    shift
    [[ " $* " == *" $word "* ]]
}

measure() {
    if is_in "$1" "${proxy[@]}"; then
        tests/bench/proxy/run.sh "$1"
    elif is_in "$1" "${webhook[@]}"; then
        tests/bench/webhook/run.sh "$1"
    elif [ "$1" = store ]; then
        cmake -S . -B build-bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DHOOKLINE_BENCH=ON >/dev/null
        ninja -C build-bench --quiet bench_store
        build-bench/bench_store
    else
        tests/bench/instructions.sh
    fi
}

names=("$@")
[ "${1-}" != all ] || names=("${proxy[@]}" "${webhook[@]}" store instructions)
for name in "${names[@]}"; do
    is_in "$name" "${proxy[@]}" "${webhook[@]}" store instructions || names=()
done
if [ ${#names[@]} -eq 0 ]; then
    sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' tests/bench/run.sh >&2
    exit 2
fi
for name in "${names[@]}"; do
    measure "$name"
done
