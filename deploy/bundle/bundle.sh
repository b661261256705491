#!/bin/bash
# Makes a bundle, as the target `bundle` asks: a folder that holds hookline, all libraries that it loads, their loader and
# a list of certificate authorities, and runs wherever it is put; and a tar.gz of it, which is the same each time.
#
#   deploy/bundle/bundle.sh BUILD LAUNCHER NAME MULTIARCH    writes BUILD/NAME/, BUILD/NAME.tar.gz, BUILD/NAME.spdx.json
#
# Variables: SYSROOT (another system's root, whose libraries are taken: lib, usr/lib; none: this machine's), READELF, STRIP,
# SOURCE_DATE_EPOCH (what all files' times are; default: the last commit's).
set -euo pipefail
export LC_ALL=C

build=$1 launcher=$2 name=$3 multiarch=$4
here=$(cd "$(dirname "$0")" && pwd)
root=${SYSROOT-} readelf=${READELF-readelf} out=$build/$name
libraries=("$root"/{usr/lib,lib}/"$multiarch" "$root"/{usr/lib,lib})
authorities=${AUTHORITIES-/usr/share/ca-certificates/mozilla}

main() {
    umask 022
    export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)}
    local program rest
    rm -rf "$out" "$out.libraries" "$build/bundle-install"
    ${CMAKE-cmake} --install "$build" --prefix "$build/bundle-install" --strip >/dev/null
    mkdir -p "$out/lib"
    cp "$launcher" "$out/hookline"
    ${STRIP-strip} "$out/hookline"
    ln "$out/hookline" "$out/hookline-function" # it starts the program of the name that it is called by
    for program in hookline hookline-function; do
        cp "$build/bundle-install/bin/$program" "$out/lib/$program"
        add_libraries "$out/lib/$program"
    done
    mv "$build/bundle-install/lib/hookline/"*.whl "$build" 2>/dev/null || true # it is installed, not run from here
    cp -R "$build/bundle-install/lib/hookline/." "$out" # python/, node/: where `hookline dev` looks
    ln -s node/hookline-functions/bin/hookline-functions.mjs "$out/hookline-functions"
    cp "$here/../../LICENSE" "$out"
    sort_authorities >"$out/ca-certificates.crt"
    rest=${name#hookline-} # VERSION-ARCH
    SYSROOT=$root "$here/sbom.py" "$out" "${rest%-*}" "${rest##*-}" <"$out.libraries"
    cp "$out/sbom.spdx.json" "$out.spdx.json"
    pack
}

fail() {
    printf 'bundle: %s\n' "$1" >&2
    exit 1
}

# add_libraries FILE: what it needs, and what that needs; its loader too.
add_libraries() {
    local needed path
    while read -r needed; do
        [ ! -e "$out/lib/$needed" ] || continue
        path=$(find_library "$needed" "$1")
        cp -L "$path" "$out/lib/$needed"
        printf '%s\t%s\n' "$needed" "$path" >>"$out.libraries"
        add_libraries "$out/lib/$needed"
    done < <("$readelf" -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
}

# find_library NAME FOR
find_library() {
    local folder
    for folder in "${libraries[@]}"; do
        [ ! -e "$folder/$1" ] || { printf '%s\n' "$folder/$1"; return; }
    done
    fail "$1, which ${2##*/} needs, is in none of ${libraries[*]}"
}

# Those of Debian's ca-certificates, and none that this machine trusts beside them.
sort_authorities() {
    [ -d "$authorities" ] || fail "$authorities is missing: install ca-certificates"
    cat "$authorities"/*.crt
}

# The same bytes from the same files: names sorted, times and owners set, no name and time in gzip's head.
pack() {
    find "$out" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    tar -C "$build" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -cf - "$name" | gzip -n >"$out.tar.gz.new"
    mv "$out.tar.gz.new" "$out.tar.gz"
}

main
