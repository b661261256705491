#!/bin/bash
# Tries the package for arm64 on an amd64 machine, by qemu: it is installed in a fresh Debian 12 that has arm64's libraries,
# integration tests of each mode of call and of webhooks run with its program, and the store's unit tests where it was built.
# The last line is "N passed, N failed".
#
#   sudo tests/packages/arm64.sh [FILE.deb]     without a file it builds that, and the store's tests
#
# Variables: BASE, ROOT, CCACHE_DIR (deploy/build-packages.sh).
# Needs debootstrap, npm and a network; takes ten minutes, of which six build.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/root.sh
. tests/packages/check.sh

work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-arm64-XXXXXX")
trap finish EXIT
built=${ROOT:-$work/built} # where it was built, if it was
root=$work/root            # where it is installed
integration=(sync async streaming webhook-envelope websocket)

main() {
    local file=${1-}
    [ "$(id -u)" = 0 ] || fail "needs root (chroot, mounts)"
    if [ -z "$file" ]; then
        ROOT=$built deploy/build-packages.sh arm64 "$work" deb test_store || fail "the build failed"
        file=$(echo "$work"/hookline_*_arm64.deb)
        check "unit tests of the store" store_tests
    fi
    root_make "$root"
    root_run "$root" dpkg --add-architecture arm64
    root_install "$root" qemu-user-static || fail "qemu cannot be installed"
    cp "$file" "$root/tmp/hookline.deb"
    check "apt installs it with what it depends on" root_install "$root" /tmp/hookline.deb
    check "its programs are arm64's" are_for_arm64
    check "its version is the package's" is_version "$(dpkg-deb -f "$file" Version)"
    check "the manual page is there" test -s "$root/usr/share/man/man1/hookline.1.gz"
    integration_tests
    check "it is purged" root_run "$root" dpkg -P hookline
    [ "$failed" -eq 0 ]
}

fail() {
    printf 'arm64.sh: %s\n' "$1" >&2
    failed=$((failed + 1))
    exit 1
}

finish() {
    rm -rf --one-file-system "$work"
    echo "$passed passed, $failed failed"
}

are_for_arm64() {
    local file
    for file in bin/hookline bin/hookline-function lib/hookline/python/hookline_runtime/_server.abi3.so; do
        readelf -h "$root/usr/$file" | grep -q 'Machine: *AArch64' || return 1
    done
}

is_version() {
    [ "$(root_run "$root" qemu-aarch64-static /usr/bin/hookline --version)" = "hookline $1" ]
}

# The tests' own Node, app and receiver are this machine's; only hookline is arm64's.
integration_tests() {
    local name
    cat >"$work/hookline" <<END
#!/bin/sh
exec "$root/usr/bin/qemu-aarch64-static" -L "$root" "$root/usr/bin/hookline" "\$@"
END
    chmod +x "$work/hookline"
    [ -d tests/integration/node_modules ] || npm ci --prefix tests/integration --no-audit --no-fund --loglevel=error >/dev/null
    for name in "${integration[@]}"; do
        check "integration tests: $name" env HOOKLINE_BIN="$work/hookline" \
            tests/debian-node.sh node --test "tests/integration/$name.test.mjs"
    done
}

# Criterion starts its own program for each test, so the kernel is told of qemu (binfmt_misc), in a user namespace that has
# all users: nothing else on this machine notices. What asks PostgreSQL has no server there, and is left out.
store_tests() {
    local namespace status=0
    mkfifo "$work/mapped"
    # shellcheck disable=SC2016 # the inner shells expand these
    unshare --user --mount --pid --fork --kill-child sh -c 'read -r _ <"$1"; exec sh -ec "$2" sh "$3"' sh "$work/mapped" '
        mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
        printf %s ":qemu-aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\
\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:$1/usr/bin/qemu-aarch64-static:F" \
            >/proc/sys/fs/binfmt_misc/register
        mount --rbind /dev "$1/dev"
        mount -t proc proc "$1/proc"
        exec env -i PATH=/usr/sbin:/usr/bin:/bin LC_ALL=C.UTF-8 HOOKLINE_TEST_IMAGE_STRIDE=300 chroot "$1" /src/build/test_store --filter "!(postgres*)/*"' "$built" &
    namespace=$!
    exec {go}>"$work/mapped" # it is there
    echo '0 0 65536' >/proc/$namespace/uid_map
    echo '0 0 65536' >/proc/$namespace/gid_map
    echo >&"$go"
    wait $namespace || status=$?
    exec {go}>&-
    return $status
}

main "$@"
