#!/bin/bash
# Makes a Debian 12 base system as a tar file, from the mirror that this machine's apt uses, unless the file is there.
#
#   deploy/debian.sh FILE        needs root and debootstrap; takes half a minute
set -euo pipefail

[ ! -f "$1" ] || exit 0
work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-debian-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
# shellcheck disable=SC2016 # apt expands it
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Component: main' | head -n 1)
if ! debootstrap --variant=minbase --include=ca-certificates bookworm "$work/root" "$mirror" >"$work/log" 2>&1; then
    tail -n 5 "$work/log" >&2
    echo "debian.sh: debootstrap failed" >&2
    exit 1
fi
tar -C "$work/root" -cf "$1.new" .
mv "$1.new" "$1"
