#!/bin/bash
# Builds the packages of what is committed in a Debian 12 of its own, where nothing else is installed: for this machine's
# architecture, or for arm64 by Debian's cross compiler. The same commit gives the same files.
#
#   sudo deploy/build-packages.sh ARCH DIRECTORY [TARGET…]     ARCH: amd64 or arm64; targets: package, test_store …
#
# Variables: BASE (root.sh); ROOT=directory keeps the system and the build (src/build in it), and goes on with it the next
# time; CCACHE_DIR: compiles with that cache.
# Needs debootstrap and a network for apt; takes three minutes for amd64 and five for arm64 on two processors.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/root.sh

work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-build-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=${ROOT:-$work/root}
tools=(ccache cmake ninja-build pkg-config node-llhttp python3 git file dpkg-dev)
libraries=(libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev libsqlite3-dev libpq-dev libjansson-dev zlib1g-dev libpython3-dev)
options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF)

main() {
    [ $# -ge 2 ] || { sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' deploy/build-packages.sh >&2; exit 2; }
    local arch=$1 out=$2
    shift 2
    [ $# -gt 0 ] || set -- package
    [ "$(id -u)" = 0 ] || fail "needs root (chroot, mounts)"
    choose "$arch" "$*"
    root_make "$root"
    root_run "$root" dpkg --add-architecture "$arch"
    root_install "$root" "${tools[@]}" "${libraries[@]}"
    build "$@"
    mkdir -p "$out"
    packages -exec cp -t "$out" {} +
}

fail() {
    printf 'build-packages: %s\n' "$1" >&2
    exit 1
}

# choose ARCH TARGETS: `tools`, `libraries` and `options` for it.
choose() {
    local mine
    mine=$(dpkg --print-architecture)
    if [[ $2 == *test_* ]]; then
        libraries+=(libcriterion-dev) options+=(-DHOOKLINE_TESTS=ON)
    fi
    if [ "$1" = "$mine" ]; then
        tools+=(build-essential python3-setuptools python3-wheel)
    elif [ "$1 $mine" = "arm64 amd64" ]; then
        tools+=(crossbuild-essential-arm64 qemu-user-static)
        libraries=("${libraries[@]/%/:arm64}")
        options+=(-DCMAKE_TOOLCHAIN_FILE=deploy/arm64.cmake)
    else
        fail "how packages for $1 are built on $mine is not known here"
    fi
}

# packages ACTION…: find's, of those that were built.
packages() {
    find "$root/src/build" -maxdepth 1 -regex '.*\.\(deb\|tar\.gz\|image\.tar\|spdx\.json\|whl\)' "$@"
}

# build TARGET…
build() {
    mkdir -p "$root/src/build"
    packages -delete
    git -c tar.umask=022 archive HEAD | tar -C "$root/src" -x
    root_environment+=("SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)" "DEBFULLNAME=${DEBFULLNAME-}" "DEBEMAIL=${DEBEMAIL-}")
    if [ -n "${CCACHE_DIR-}" ]; then
        root_cache=$CCACHE_DIR root_environment+=(CCACHE_DIR=/cache) options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    root_run "$root" sh -ec 'cd /src; cmake -S . -B build "$@"' sh "${options[@]}" >"$work/log" 2>&1 &&
        root_run "$root" ninja -C /src/build "$@" >"$work/log" 2>&1 ||
        { tail -n 30 "$work/log" >&2; fail "the build failed"; }
}

main "$@"
