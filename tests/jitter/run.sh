#!/bin/bash
# Runs integration tests while hookline, and the Node that tests it, are held up at random (jitter.c): what passes only
# because one thing is usually noticed before another fails here.
#
#   tests/jitter/run.sh [WORD…]      of the files with one of these words in their path; without one, all
#
# Needs what `tests/run.sh quick` has built in build-sanitize/. A line a file; what a file said is in
# build-sanitize/jitter/. The last line is "N passed, N failed" of the files. Not run: `dev`, whose ports are those of
# any other that runs; and run-logs is not held up, for it is about how long the kernel let a thread wait.
#
# Variables: JITTER (jitter.c; default "40 25000"), JOBS (files at once; default: two a processor).
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD build=$PWD/build-sanitize
export work=$build/jitter JITTER=${JITTER:-40 25000} TMPDIR=${TMPDIR:-/dev/shm}

[ -x "$build/hookline" ] && [ -d tests/integration/node_modules ] ||
    { echo "tests/jitter/run.sh: nothing is built: run tests/run.sh quick first" >&2; exit 2; }

main() {
    prepare
    files "$@" >"$work/files"
    [ -s "$work/files" ] || { echo "tests/jitter/run.sh: no file has \"$*\" in its path" >&2; exit 2; }
    export -f run_file
    tests/debian-node.sh xargs -a "$work/files" -P "${JOBS:-$((2 * $(nproc)))}" -n 1 bash -c 'run_file "$1"' - | tee "$work/sum"
    failed=$(grep -c FAILED "$work/sum" || true)
    echo "$(($(wc -l <"$work/sum") - failed)) passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# A directory with the programs beside hookline, and in its place a script that starts it held up. ASan wants to be
# the first library, and is early enough; tests that look whether it is there look for its name.
prepare() {
    local program
    mkdir -p "$work"
    cc -std=gnu11 -O1 -Wall -Wextra -shared -fPIC -o "$work/jitter.so" tests/jitter/jitter.c -ldl
    for program in hookline-function hookline-functions node python; do
        [ ! -e "$build/$program" ] || ln -sfn "$build/$program" "$work/$program"
    done
    printf '%s\n' '#!/bin/sh' '# __asan_init' \
        "export ASAN_OPTIONS=\"\${ASAN_OPTIONS:+\$ASAN_OPTIONS:}verify_asan_link_order=0\" JITTER=\"\${HELD_UP-$JITTER}\"" \
        "LD_PRELOAD=\"\${LD_PRELOAD:+\$LD_PRELOAD:}$work/jitter.so\" exec $build/hookline \"\$@\"" >"$work/hookline"
    chmod +x "$work/hookline"
}

files() {
    local file word
    for file in "$root"/tests/integration/{,http/}*.test.mjs; do
        [ "$(basename "$file")" != dev.test.mjs ] || continue
        [ $# -gt 0 ] || echo "$file"
        for word in "$@"; do
            [[ ${file#"$root"/tests/integration/} != *"$word"* ]] || { echo "$file"; break; }
        done
    done
}

run_file() {
    local name said=passed
    name=$(basename "$1" .test.mjs)
    [ "$name" != run-logs ] || export JITTER='0 0' HELD_UP='0 0'
    HOOKLINE_BIN=$work/hookline LD_PRELOAD=$work/jitter.so timeout 1200 \
        node --test-reporter=tap "$1" >"$work/$name.tap" 2>&1 </dev/null || said=FAILED
    ! grep -q '^not ok' "$work/$name.tap" || said=FAILED
    echo "$said $name"
}

main "$@"
