# root.sh - Debian 12 systems in directories of their own, for the scripts that source this.
# Variables: BASE=base.tar keeps the base system there, or takes it from there (debian.sh).

mapfile -t root_environment < <(env | grep -iE '^(https?|no)_proxy=')
root_environment+=(PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8)

# root_make DIRECTORY: a base system, unless there is one, that reaches its mirror as this machine does.
root_make() {
    local root=$1 path base=${BASE:-}
    if [ ! -e "$root/etc" ]; then
        [ -n "$base" ] || base=$root.tar
        "$(dirname "${BASH_SOURCE[0]}")"/debian.sh "$base" || return 1
        mkdir -p "$root" && tar -C "$root" -xf "$base"
        [ -n "${BASE:-}" ] || rm -f "$base"
    fi
    for path in apt/apt.conf.d ssl/certs resolv.conf hosts; do
        rm -rf "${root:?}/etc/$path"
        [ ! -e "/etc/$path" ] || cp -aL "/etc/$path" "$root/etc/$path"
    done
}

# root_run DIRECTORY COMMAND…: as root in it, with /proc and /dev, in namespaces that end with the command. With
# `root_cache` set that directory is /cache inside.
root_run() {
    # shellcheck disable=SC2016 # the inner shell expands these
    unshare --mount --pid --fork --kill-child /bin/sh -ec '
        root=$1 cache=$2; shift 2
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        [ -z "$cache" ] || { mkdir -p "$root/cache"; mount --bind "$cache" "$root/cache"; }
        exec env -i "$@"
    ' sh "$1" "${root_cache-}" "${root_environment[@]}" chroot "$@"
}

# root_install DIRECTORY PACKAGE…: Debian's, or files in it.
root_install() {
    local root=$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands it
    root_run "$root" sh -ec 'apt-get update -qq; apt-get install -y -qq --no-install-recommends "$@"' sh "$@" >"$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2; return 1; }
}
