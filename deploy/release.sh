#!/bin/bash
# Makes a release: every package for amd64 and arm64 of what is committed, their SBOMs, checksums and signatures, and tries
# them in fresh systems.
#
#   sudo deploy/release.sh VERSION [KEY [DIRECTORY]]
#
# VERSION is that of CMakeLists.txt, which is where it is changed. KEY is the private key's file (deploy/packages.md says how it is
# made and how signatures are verified); without one, or with "", nothing is signed. They come to DIRECTORY, release/VERSION without it.
#
# Variables: BASE, CCACHE_DIR (deploy/build-packages.sh).
# Needs debootstrap, podman, lintian, npm and a network; takes half an hour on two processors.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    [ $# -ge 1 ] && [ $# -le 3 ] || { sed -n '2,/^set/{/^#/!d;s/^# \{0,1\}//;p}' deploy/release.sh >&2; exit 2; }
    local version=$1 key=${2-} out=${3:-release/$1} arch
    refuse "$version" "$key" "$out"
    mkdir -p "$out"
    out=$(realpath "$out")
    work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-release-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    export BASE=${BASE:-$work/debian.tar} # the same for all
    for arch in amd64 arm64; do
        step "Packages for $arch" deploy/build-packages.sh $arch "$out"
    done
    step "All are of version $version" are_version "$version" "$out"
    step "Checksums" write_sums "$out"
    [ -z "$key" ] || step "Signatures" sign "$key" "$out"
    try "$version" "$out"
    step "What was tried is what was summed up" sums_hold "$out"
    echo "$out:" && ls "$out"
    [ -n "$key" ] || echo "nothing is signed: no key was given"
}

fail() {
    printf 'release.sh: %s\n' "$1" >&2
    exit 1
}

step() {
    local name=$1 began=$SECONDS
    shift
    printf '== %s\n' "$name"
    "$@" || fail "failed: $name"
    printf '   %s s\n' $((SECONDS - began))
}

# refuse VERSION KEY OUT: whatever would make another release than was meant.
refuse() {
    local said
    said=$(sed -n 's/^project(hookline VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
    [ "$1" = "$said" ] || fail "CMakeLists.txt says that this is version $said, not $1: change it there, and commit that"
    [ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed: a release is of a commit"
    [ -z "$2" ] || openssl pkey -in "$2" -noout 2>/dev/null || fail "$2 is not a private key (PEM)"
    [ ! -e "$3" ] || [ -z "$(ls -A "$3")" ] || fail "$3 is there already, and not empty"
    [ "$(id -u)" = 0 ] || fail "needs root (chroot, mounts)"
}

are_version() {
    local arch suffix
    for arch in amd64 arm64; do
        [ "$(dpkg-deb -f "$2/hookline_$1_$arch.deb" Version Architecture | sort)" = "Architecture: $arch
Version: $1" ] || return 1
        for suffix in tar.gz spdx.json image.tar; do
            [ -s "$2/hookline-$1-$arch.$suffix" ] || { echo "hookline-$1-$arch.$suffix was not made" >&2; return 1; }
        done
    done
}

write_sums() {
    (cd "$1" && sha256sum -- * >"$work/sums") && mv "$work/sums" "$1/SHA256SUMS"
}

# The sums are all files'; images are often handed on alone.
sign() {
    deploy/bundle/sign.sh "$1" "$2/SHA256SUMS" "$2"/*.image.tar
}

# try VERSION OUT: the packages themselves, as they will be handed out.
try() {
    export HOOKLINE_ENGINE=podman HOOKLINE_BUNDLE=$2/hookline-$1-amd64.tar.gz HOOKLINE_IMAGE=$2/hookline-$1-amd64.image.tar
    step "The Debian package in a fresh Debian" tests/packages/deb.sh "$2/hookline_$1_amd64.deb"
    step "That for arm64, by qemu" tests/packages/arm64.sh "$2/hookline_$1_arm64.deb"
    [ -d tests/integration/node_modules ] || npm ci --prefix tests/integration --no-audit --no-fund --loglevel=error >/dev/null
    step "Bundle and image, in other systems" \
        tests/debian-node.sh node --test tests/packages/roots.test.mjs tests/packages/image.test.mjs
}

sums_hold() {
    (cd "$1" && sha256sum --quiet -c SHA256SUMS)
}

main "$@"
