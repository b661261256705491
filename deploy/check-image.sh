#!/bin/bash
# Does what the Dockerfile says where there is no container engine, and tries the result.
# Each stage is a directory, with a Debian base system (debootstrap) or empty; RUN, COPY, ARG, WORKDIR, ENV, USER, VOLUME,
# HEALTHCHECK and ENTRYPOINT are done as an engine does them. The result must be small. Then the image's program runs as the
# image's user, without capabilities, on a read-only root with the volume as the only writable place; its health check must
# succeed, a token be made inside and a call with it be answered by the demo app, and SIGTERM must end it. Killed inside a
# run it must begin again on the same volume and say what became of that.
#
#   sudo deploy/check-image.sh          needs Debian with debootstrap, python3 and curl; takes a few minutes
#   sudo deploy/check-image.sh twice    builds it again from the start: both must have the same digest (deploy/bundle/image.py)
#   BASE=base.tar deploy/check-image.sh keeps the base system there, or takes it from there
#
# Engines differ in how they make and keep layers; that is not checked here: tests/packages/image.test.mjs asks one.
set -euo pipefail
cd "$(dirname "$0")/.."

most=30000000 # bytes of an image
work='' root='' user=0:0 dir=/ volume='' health='' entrypoint='' app='' container=''
declare -A stage_root
environment=()
mapfile -t apt_environment < <(env | grep -iE '^(https?|no)_proxy=')
apt_environment+=(DEBIAN_FRONTEND=noninteractive)

main() {
    [ "$(id -u)" = 0 ] || fail "needs root (chroot, mounts)"
    local tool
    for tool in debootstrap unshare curl python3; do
        command -v $tool >/dev/null || fail "$tool is not installed"
    done
    work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-image-XXXXXX")
    trap clean_up EXIT
    [ $# -eq 0 ] || [ "$1" = twice ] || fail "\"$1\" is not \"twice\""
    twice=${1-}
    base=${BASE:-$work/base.tar}
    step "A Debian base system"
    deploy/debian.sh "$base" || fail "there is none"
    build
    local must="the Dockerfile must set HEALTHCHECK, ENTRYPOINT, VOLUME and a USER that is not root"
    [[ -n $health && -n $entrypoint && -n $volume && $user =~ ^[1-9] ]] || fail "$must"
    local image bytes
    image=$(digest) bytes=$(du -sb "$root" | cut -f1)
    step "The image: $bytes bytes, ${image##*: }"
    [ "$bytes" -le $most ] || fail "the image has more than $most bytes"
    [ -z "${twice-}" ] || build_again "$image"
    try_image
    step "The image works"
}

# The Dockerfile's lines, one after the other.
build() {
    local line
    while IFS= read -r line <&3; do
        step "$line"
        instruction "${line%% *}" "${line#* }"
    done 3< <(logical_lines Dockerfile)
}

# What image.py says of this root.
digest() {
    deploy/bundle/image.py "$root" "$(dpkg --print-architecture)" "$work/image.tar"
}

# build_again DIGEST
build_again() {
    local first=$work/first image
    mkdir "$first"
    mv "${stage_root[@]}" "$first"
    build
    image=$(digest)
    [ "$image" = "$1" ] || fail "built again it is ${image##*: }: $(diff -rq "$first/final" "$root" | head -n 5)"
    rm -rf "$first"
    step "Built again it has the same digest"
}

step() {
    printf '== %s\n' "$1"
}

fail() {
    printf 'check-image: %s\n' "$1" >&2
    exit 1
}

# The file's instructions, one a line: comments dropped, continued lines joined, blanks squeezed.
logical_lines() {
    sed -e '/^[[:space:]]*#/d' -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$1" | sed -e 's/[[:space:]]\+/ /g' -e '/^ *$/d'
}

# instruction NAME ARGUMENTS
instruction() {
    case $1 in
    FROM) begin_stage "$2" ;;
    RUN) in_root "$root" /bin/sh -c "cd $dir && $2" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "RUN failed"; } ;;
    COPY) copy "$2" ;;
    WORKDIR) dir=$2 && mkdir -p "$root$dir" ;;
    ARG | ENV) environment+=("$2") ;;
    USER) user=$2 ;;
    VOLUME) volume=$2 ;;
    HEALTHCHECK) health=$(exec_form "${2#*CMD }") ;;
    ENTRYPOINT) entrypoint=$(exec_form "$2") ;;
    EXPOSE | STOPSIGNAL | LABEL) ;;
    *) fail "$1 is not known here: teach deploy/check-image.sh what it does" ;;
    esac
}

# begin_stage "IMAGE [AS NAME]": every image used is a Debian base system, or nothing.
begin_stage() {
    local image name
    read -r image _ name <<<"$1"
    root=$work/${name:-final} dir=/ user=0:0
    stage_root[${name:-final}]=$root
    mkdir "$root"
    environment=()
    if [ "$image" != scratch ]; then
        environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
        tar -C "$root" -xf "$base"
        copy_apt_settings "$root"
    fi
}

# How this machine reaches its mirror: proxies, certificates, name servers. (debootstrap wrote the sources.)
copy_apt_settings() {
    local path
    for path in apt/apt.conf.d ssl/certs resolv.conf hosts; do
        rm -rf "${1:?}/etc/$path"
        [ ! -e "/etc/$path" ] || cp -aL "/etc/$path" "$1/etc/$path"
    done
}

# in_root ROOT COMMAND…: as root, with /proc, /dev and /sys, in mount and process namespaces that end with it.
in_root() {
    local at=$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands these
    unshare --mount --pid --fork --kill-child /bin/sh -ec '
        root=$1; shift
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        exec env -i "$@"
    ' sh "$at" "${environment[@]}" "${apt_environment[@]}" chroot "$at" "$@"
}

# copy "[--from=STAGE] SOURCE… TARGET"
copy() {
    local words from=$PWD target
    read -ra words <<<"$1"
    if [[ ${words[0]} == --from=* ]]; then
        from=${stage_root[${words[0]#--from=}]}
        words=("${words[@]:1}")
    fi
    target=${words[-1]}
    [[ $target == /* ]] || target=$dir/$target
    local source
    for source in "${words[@]:0:${#words[@]}-1}"; do
        # As Docker does: a directory's contents are copied, a file into a directory if the target ends in a slash.
        if [ -d "$from/$source" ]; then
            mkdir -p "$root$target" && cp -a "$from/$source/." "$root$target"
        else
            case $target in */) mkdir -p "$root$target" ;; *) mkdir -p "$root$(dirname "$target")" ;; esac
            cp -a "$from/$source" "$root$target"
        fi
    done
}

# ["a", "b"] as words.
exec_form() {
    python3 -c 'import json, shlex, sys; print(shlex.join(json.loads(sys.argv[1])))' "$1"
}

# Runs the image as an engine does, and calls it.
try_image() {
    local app_port settings token address
    as_user=(--setgid="${user#*:}" --setuid="${user%:*}")
    address=127.0.0.1:$(free_port) app_port=$(free_port)
    settings=(HOOKLINE_LISTEN="$address" HOOKLINE_ADMIN_LISTEN=127.0.0.1:"$(free_port)"
        HOOKLINE_APP_URL=http://127.0.0.1:"$app_port" HOOKLINE_SHUTDOWN_DELAY=0)
    environment+=("${settings[@]}")
    python3 deploy/demo/app.py "$app_port" 2>"$work/app.log" &
    app=$!
    cp -a "$root$volume" "$work/volume" # a new volume begins as the image's directory, owner and mode included
    mkdir "$work/image"
    start
    ! nsenter --target "$(main_process)" --mount touch "$work/image/written" 2>/dev/null || fail "the root file system is not read-only"

    token=$(inside hookline token create --project demo --name check --expires 1h) || fail "no token was made inside"
    call run '{"prompt": "world hello"}' >"$work/answer" || fail "the call failed"
    grep -q '"hello world"' "$work/answer" || fail "the call's answer is $(cat "$work/answer")"
    step "a call: $(cat "$work/answer")"
    [ -n "$(find "$work/volume" -type f)" ] || fail "nothing was written to the volume"
    [ -z "$(find "$work/volume" ! -uid "${user%:*}")" ] || fail "the volume holds files of another user"
    try_end
    try_kill
}

# call PATH BODY: of the app.
call() {
    curl -sS --fail -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$2" "http://$address/v4/demo/words/$1"
}

# As process 1 of its own namespace, with a read-only root, no capabilities and no new privileges; until it is healthy.
start() {
    mkdir -p "$root/proc" "$root/dev" # an engine does, too
    # shellcheck disable=SC2016,SC2086 # the inner shell expands these; the entry point is words
    unshare --mount --pid --fork --kill-child /bin/sh -ec '
        root=$1 image=$2 volume=$3; shift 3
        mount --bind "$root" "$image" && mount -o remount,bind,ro "$image"
        mount --bind "$volume" "$image$1"; shift
        mount -t proc proc "$image/proc"
        mount --rbind /dev "$image/dev"
        exec env -i "$@"
    ' sh "$root" "$work/image" "$work/volume" "$volume" "${environment[@]}" \
        /usr/bin/setpriv --no-new-privs /usr/bin/unshare --root="$work/image" --wd=/ "${as_user[@]}" $entrypoint \
        2>>"$work/hookline.log" &
    container=$!
    local tenths=100
    # shellcheck disable=SC2086 # the health check is words
    until inside $health 2>/dev/null; do
        tenths=$((tenths - 1))
        if [ $tenths = 0 ] || ! kill -0 "$container" 2>/dev/null; then
            cat "$work/hookline.log" >&2
            fail "$health never succeeded"
        fi
        sleep 0.1
    done
    local uid
    uid=$(awk '/^Uid:/ { print $2 }' "/proc/$(main_process)/status")
    step "$health: succeeds as user $uid, after $(((100 - tenths) / 10)).$(((100 - tenths) % 10)) s"
}

try_end() {
    local pid tenths=100
    pid=$(main_process)
    kill -TERM "$pid"
    while kill -0 "$pid" 2>/dev/null; do
        tenths=$((tenths - 1))
        [ $tenths -gt 0 ] || fail "SIGTERM does not end it"
        sleep 0.1
    done
    wait "$container" || fail "it ended with status $?"
    container=''
    step "SIGTERM ends it with status 0"
}

# Killed while a run is inside the app; begun again it says what became of that, and the token is still good.
try_kill() {
    local id
    start
    id=$(call 'run?async=true' '{"prompt": "x", "seconds": 60}' | sed 's/.*"run_id":"\([^"]*\)".*/\1/')
    until inside hookline runs show "$id" 2>/dev/null | grep -q running; do sleep 0.1; done
    kill -KILL "$(main_process)"
    wait "$container" || true
    start
    inside hookline runs show "$id" | grep -q interrupted || fail "the run that was killed: $(inside hookline runs show "$id")"
    step "SIGKILL inside a run: it begins again and says that the run was interrupted"
    try_end
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The host's number of the program that is process 1 inside.
main_process() {
    tr -d ' ' <"/proc/$container/task/$container/children"
}

# inside COMMAND…: in the running container, as its user.
inside() {
    local pid
    pid=$(main_process) && [ -n "$pid" ] || return 1
    env -i "${environment[@]}" /usr/bin/nsenter --target "$pid" --mount --pid --root --wd "${as_user[@]}" "$@"
}

clean_up() {
    [ -z "$container" ] || kill -KILL "$(main_process)" 2>/dev/null || true # unshare itself takes no SIGTERM
    [ -z "$app" ] || kill "$app" 2>/dev/null || true
    wait
    [ -z "$work" ] || rm -rf --one-file-system "$work"
}

main "$@"
