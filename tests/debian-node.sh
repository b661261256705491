#!/bin/bash
# Runs a command where `node` is Debian's own, whatever this machine's is.
#
#   tests/debian-node.sh COMMAND…
#
# Where /usr/bin/node is not Debian's, Debian's packages are unpacked into build-sanitize/debian-node, and the command
# runs in a mount namespace in which they lie over /usr; the machine itself stays as it is. Needs root or sudo then.
# Debian's node reads some of its modules from fixed places below /usr, so that it cannot run from anywhere else.
set -euo pipefail

home=$(realpath "$(dirname "$0")/..")/build-sanitize/debian-node

main() {
    export PATH=/usr/bin:$PATH
    is_debians "$(dpkg-query -W -f '${Depends}' nodejs 2>/dev/null)" || in_namespace "$@"
    exec "$@"
}

# is_debians DEPENDENCIES: only Debian's nodejs is a small program before a shared library.
is_debians() {
    [[ $1 =~ libnode[0-9]+ ]]
}

in_namespace() {
    local unpacked everything sudo=()
    unpacked=$(unpack)
    mapfile -d '' everything < <(env -0)
    [ "$(id -u)" = 0 ] || sudo=(sudo)
    # Everything that follows belongs to who called: with sudo that is not root.
    exec "${sudo[@]}" unshare --mount -- bash -c '
        for folder in bin lib share; do
            mount -t overlay debian-node -o "lowerdir=$1/usr/$folder:/usr/$folder" "/usr/$folder" || exit
        done
        [ "$2" = 0 ] || become=(setpriv --reuid="$2" --regid="$3" --init-groups)
        cd "$4" && shift 4 && exec ${become[@]+"${become[@]}"} env -i "$@"' \
        - "$unpacked" "$(id -u)" "$(id -g)" "$PWD" "${everything[@]}" "$@"
}

# Says where; done once for each version.
unpack() {
    local version
    version=$(find_version)
    [ -n "$version" ] || { update && version=$(find_version); }
    [ -n "$version" ] || { echo "tests/debian-node.sh: apt knows no nodejs of Debian's" >&2; return 1; }
    if [ ! -d "$home/$version" ]; then
        rm -rf "$home" && mkdir -p "$home/new/deb"
        (cd "$home/new/deb" && find_missing "$version" | xargs apt-get download -qq -o APT::Sandbox::User=root) >&2
        local package
        for package in "$home"/new/deb/*.deb; do
            dpkg -x "$package" "$home/new"
        done
        rm -r "$home/new/deb" && mv "$home/new" "$home/$version"
    fi
    echo "$home/$version"
}

update() {
    if [ "$(id -u)" = 0 ]; then apt-get update -qq >&2; else sudo apt-get update -qq >&2; fi
}

# The newest one of Debian's.
find_version() {
    apt-cache show nodejs 2>/dev/null |
        awk '/^Version:/ { version = $2 } /^Depends:.*libnode[0-9]/ && !found++ { print version }'
}

# Debian's nodejs, and what it needs that is not installed.
find_missing() {
    local waiting=() package
    declare -A seen=()
    echo "nodejs=$1"
    mapfile -t waiting < <(depends "nodejs=$1")
    while [ ${#waiting[@]} -gt 0 ]; do
        package=${waiting[0]}
        waiting=("${waiting[@]:1}")
        [ "$package" != nodejs ] && [ -z "${seen[$package]-}" ] || continue
        seen[$package]=1
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed && continue
        echo "$package"
        mapfile -t -O "${#waiting[@]}" waiting < <(depends "$package")
    done
}

# The first of each dependency's alternatives.
depends() {
    apt-cache show --no-all-versions "$1" | sed -n 's/^Depends: //p' | tr ',' '\n' | sed 's/^ *//; s/[ :|].*//'
}

main "$@"
