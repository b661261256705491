#!/bin/bash
# Tries the Debian package in a fresh Debian 12. First without systemd, by apt, as in an image that is built: what it depends
# on comes with it, its programs start, a purge leaves nothing. Then where systemd is process 1 (podman, no network but
# loopback): it is started, called, set, killed, upgraded with runs in its queue and inside the app, disabled, removed,
# installed again and purged. Last what lintian says. The last line is "N passed, N failed".
#
#   sudo tests/packages/deb.sh [FILE.deb]     without a file it builds that, in build-release
#
# Variables: BASE=base.tar keeps the base system there, or takes it from there (deploy/debian.sh).
# Needs podman and debootstrap (Debian's packages) and a network for apt; takes four minutes beside the build.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/packages/check.sh

work='' container='' image=''
mapfile -t proxies < <(env | grep -iE '^(https?|no)_proxy=')

main() {
    [ "$(id -u)" = 0 ] || fail "needs root (debootstrap, podman with systemd)"
    local tool
    for tool in podman debootstrap lintian; do
        command -v $tool >/dev/null || fail "$tool is not installed"
    done
    work=$(mktemp -d "${TMPDIR:-/tmp}/hookline-deb-XXXXXX")
    trap finish EXIT
    [ $# -gt 0 ] || { make_build && set -- build-release/hookline_*.deb; }
    make_packages "$1"
    make_image
    begin_container without
    by_apt
    end_container
    begin_container with
    as_service
    upgrade
    disabled
    goes_and_comes
    end_container
    check "lintian has no errors" no_errors
    [ "$failed" -eq 0 ]
}

fail() {
    printf 'deb.sh: %s\n' "$1" >&2
    failed=$((failed + 1))
    exit 1
}

finish() {
    end_container
    [ -z "$image" ] || podman rmi -f "$image" >/dev/null 2>&1 || true
    [ -z "$work" ] || rm -rf "$work"
    echo "$passed passed, $failed failed"
}

# ---- what is tried, and where ----

make_build() {
    local launcher=''
    ! command -v ccache >/dev/null || launcher=ccache
    rm -f build-release/*.deb
    if ! cmake -S . -B build-release -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF -DCMAKE_C_COMPILER_LAUNCHER="$launcher" >"$work/log" ||
        ! ninja -C build-release deb >"$work/log"; then
        cat "$work/log" >&2
        fail "the build failed"
    fi
}

# The package, and the same as a later version.
make_packages() {
    mkdir "$work/packages"
    cp "$1" "$work/packages"
    first=$(basename "$1")
    version=$(dpkg-deb -f "$1" Version)
    second=${first/_"$version"_/_"$version".1_}
    dpkg-deb -R "$1" "$work/later"
    sed -i "s/^Version: .*/&.1/" "$work/later/DEBIAN/control"
    dpkg-deb -b --root-owner-group "$work/later" "$work/packages/$second" >/dev/null
}

# Debian 12 with systemd and what the package depends on, and nothing of the package.
make_image() {
    local base=${BASE:-$work/base.tar}
    deploy/debian.sh "$base"
    mkdir -p "$work/image/etc/apt/apt.conf.d" "$work/image/etc/ssl/certs"
    cp -aL /etc/apt/apt.conf.d/. "$work/image/etc/apt/apt.conf.d/"
    cp -aL /etc/ssl/certs/. "$work/image/etc/ssl/certs/"
    image=hookline-deb-$$
    podman import "$base" $image:base >/dev/null 2>&1 || fail "podman cannot import $base"
    cat >"$work/image/Dockerfile" <<END
FROM $image:base
COPY etc /etc
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    systemd systemd-sysv dbus curl python3 procps >/dev/null
END
    podman build --network host --format docker "${proxies[@]/#/--build-arg=}" -t $image "$work/image" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2; fail "the image cannot be built"; }
}

# begin_container with|without: systemd and loopback alone, or neither.
begin_container() {
    local as=(--network host --env DEBIAN_FRONTEND=noninteractive) command=(sleep infinity) proxy
    for proxy in "${proxies[@]}"; do as+=(--env "$proxy"); done
    [ "$1" = without ] || { as=(--network none --privileged --systemd=always) command=(/sbin/init); }
    container=$(podman run -d "${as[@]}" -v "$work/packages:/packages:ro" -v "$PWD/deploy/demo:/srv/demo:ro" $image "${command[@]}") ||
        fail "podman cannot start a container"
    [ "$1" = without ] || wait_for "systemd is up" inside systemctl is-system-running
}

end_container() {
    [ -z "$container" ] || podman rm -f -t 0 "$container" >/dev/null 2>&1 || true
    container=''
}

inside() {
    podman exec "$container" "$@"
}

# comes COMMAND…: whether it succeeds within a minute.
comes() {
    local tries=300
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { inside journalctl -u hookline -n 20 --no-pager; return 1; }
        sleep 0.2
    done
}

# wait_for WHAT COMMAND…: what cannot be gone on without.
wait_for() {
    comes "${@:2}" >&2 || fail "it never came that $1"
}

# ---- without systemd ----

files() {
    inside find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /packages -o -path /srv -o -path /var/log -o -path /var/cache/apt \
        -o -path /var/lib/apt -o -path /tmp -o -path /run \) -prune -o -name '*hookline*' -print | sort
}

by_apt() {
    check "apt installs it with what it depends on" inside apt-get install -y -qq --no-install-recommends "/packages/$first"
    check "its version is the package's" holds "hookline $version" inside hookline --version
    check "the C function host starts" inside hookline-function --help
    check "python3 finds the package without PYTHONPATH" inside python3 -c 'import hookline_runtime._server'
    check "bash completes its commands" holds '^create$' inside bash -c \
        '. /usr/share/bash-completion/completions/hookline; COMP_WORDS=(hookline token cr) COMP_CWORD=2; _hookline; echo "${COMPREPLY[*]%% }"'
    check "the manual page is there" holds 'HOOKLINE 1' inside zcat /usr/share/man/man1/hookline.1.gz
    check "nobody but root reads its settings" holds '^640 root root$' inside stat -c '%a %U %G' /etc/default/hookline
    check "a purge goes through" inside dpkg -P hookline
    check "nothing of it is left" same '' files
    inside apt-get clean
    podman commit -q "$container" $image >/dev/null # with its dependencies
}

# holds PATTERN COMMAND…: a line of what it says has it.
holds() {
    local pattern=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said"; return 1; }
    grep -qE -- "$pattern" <<<"$said" || { printf 'wanted %s in:\n%s\n' "$pattern" "$said"; return 1; }
}

# same TEXT COMMAND…
same() {
    local text=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said"; return 1; }
    [ "$said" = "$text" ] || { printf 'wanted %s, it is:\n%s\n' "${text:-nothing}" "$said"; return 1; }
}

# ---- as a service ----

active() {
    inside systemctl is-active --quiet hookline
}

main_pid() {
    inside systemctl show -P MainPID hookline
}

# set_to NAME=VALUE…: these, and no others.
set_to() {
    printf '%s\n' "$@" | podman exec -i "$container" tee /etc/default/hookline >/dev/null
}

ready() {
    inside curl -fsS -o /dev/null http://127.0.0.1:8080/_hookline/readyz
}

# call [QUERY] BODY
call() {
    local body=${*: -1} query=''
    [ $# -eq 1 ] || query=$1
    inside curl -fsS -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" \
        "http://127.0.0.1:8080/v4/demo/words/run$query"
}

start_app() {
    inside systemd-run --quiet --unit app python3 /srv/demo/app.py 8000
}

as_service() {
    local pid user
    check "it is installed" inside dpkg -i "/packages/$first"
    wait_for "it is active" active
    check "it is enabled" inside systemctl is-enabled hookline
    wait_for "it listens" inside curl -s -o /dev/null http://127.0.0.1:8080/_hookline/healthz
    user=$(inside ps -o uid= -p "$(main_pid)" | tr -d ' ')
    check "its user is one that systemd made up" holds '^6[1-5][0-9]{3}$' echo "$user"
    check "its exposure is at most 2.0, as systemd counts" inside systemd-analyze security --threshold=20 hookline
    check "systemd finds nothing to say about the unit" same '' inside systemd-analyze verify --man=no hookline.service
    check "its files are its own" same "700 $user" inside stat -c '%a %u' /var/lib/private/hookline
    check "root makes a token" inside hookline token create --project demo --name check --expires 1d
    token=$(cat "$work/said")
    start_app
    wait_for "the app is ready" ready
    check "a call is answered" holds '"hello world"' call '{"prompt": "world hello"}'
    inside systemctl stop app

    check "an app that it starts may make code as it goes, as compilers in Python and Node do" starts_app
    pid=$(main_pid)
    inside kill -KILL "$pid"
    wait_for "it is started again after a crash" another_than "$pid"
    set_to HOOKLINE_LISTEN=nonsense
    inside systemctl restart hookline || true
    wait_for "a setting that it refuses ends the start" failed_with 2
    check "the journal says which setting" holds 'HOOKLINE_LISTEN' inside journalctl -u hookline -n 20 --no-pager
    drop_ins
    set_to HOOKLINE_APP_URL=http://127.0.0.1:8000 HOOKLINE_SHUTDOWN_DELAY=0
    inside systemctl restart hookline
    wait_for "it is active again" active
}

# What deploy/packages.md says of them.
drop_ins() {
    set_to HOOKLINE_LISTEN=:443 HOOKLINE_SHUTDOWN_DELAY=0
    with_drop_in AmbientCapabilities=CAP_NET_BIND_SERVICE CapabilityBoundingSet=CAP_NET_BIND_SERVICE PrivateUsers=no
    check "a drop-in gives it a port below 1024" comes inside curl -s -o /dev/null http://127.0.0.1:443/_hookline/healthz

    inside sh -c 'mkdir /root/words; echo "def run(): return 1" >/root/words/main.py'
    set_to HOOKLINE_SHUTDOWN_DELAY=0 'HOOKLINE_APP_COMMAND=python3 -m hookline_runtime /root/words/main.py'
    with_drop_in ProtectHome=tmpfs BindReadOnlyPaths=/root/words
    check "a drop-in gives it an app in a home directory" comes ready
    inside rm -r /etc/systemd/system/hookline.service.d /root/words
    inside systemctl daemon-reload
}

with_drop_in() {
    inside mkdir -p /etc/systemd/system/hookline.service.d
    printf '%s\n' '[Service]' "$@" | podman exec -i "$container" tee /etc/systemd/system/hookline.service.d/override.conf >/dev/null
    inside systemctl daemon-reload
    inside systemctl restart hookline
}

starts_app() {
    inside mkdir -p /srv/words
    podman exec -i "$container" tee /srv/words/main.py >/dev/null <<'END'
import mmap

def run(prompt: str):
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    return prompt.upper()
END
    set_to HOOKLINE_APP_URL=http://127.0.0.1:8000 HOOKLINE_SHUTDOWN_DELAY=0 \
        'HOOKLINE_APP_COMMAND=python3 -m hookline_runtime /srv/words/main.py'
    inside systemctl restart hookline
    wait_for "its app is ready" ready
    holds 'HELLO' call '{"prompt": "hello"}'
}

another_than() {
    local pid
    pid=$(main_pid) && [ "$pid" != 0 ] && [ "$pid" != "$1" ] && active
}

failed_with() {
    [ "$(inside systemctl show -p ActiveState,ExecMainStatus hookline | sort | tr '\n' ' ')" = "ActiveState=failed ExecMainStatus=$1 " ]
}

# ---- an upgrade ----

# queue BODY: the new run's id.
queue() {
    call '?async=true' "$1" | sed 's/.*:"\(.*\)".*/\1/'
}

state_is() {
    inside hookline runs show "$2" --json | grep -q "\"state\": *\"$1\""
}

upgrade() {
    local long queued=() run i
    start_app
    wait_for "the app is ready" ready
    long=$(queue '{"prompt": "later me call", "seconds": 3}')
    wait_for "a run is inside the app" state_is running "$long"
    check "it is upgraded" inside dpkg -i "/packages/$second"
    check "the settings stay as they were" holds SHUTDOWN_DELAY=0 inside cat /etc/default/hookline
    wait_for "the new one is active" active
    check "the run that was inside the app ended well" state_is success "$long"

    wait_for "the app is ready" ready
    inside systemctl stop app
    for i in 1 2 3; do queued+=("$(queue "{\"prompt\": \"run $i\"}")"); done
    check "a run waits in the queue" state_is queued "${queued[2]}"
    check "it goes back a version" inside dpkg -i "/packages/$first"
    wait_for "it is active" active
    check "the run still waits" state_is queued "${queued[2]}"
    start_app
    for run in "${queued[@]}"; do wait_for "run $run ended well" state_is success "$run"; done
    check "the token is still good" holds '"hello world"' call '{"prompt": "world hello"}'
}

# ---- disabled, removed, purged ----

disabled() {
    inside systemctl disable --now --quiet hookline
    check "what was disabled is upgraded" inside dpkg -i "/packages/$second"
    check "and stays disabled" same disabled is_enabled
    inside systemctl enable --now --quiet hookline
}

is_enabled() {
    inside systemctl is-enabled hookline || true
}

goes_and_comes() {
    check "it is removed" inside dpkg -r hookline
    check "and does not run" same '' running
    check "what it kept is still there" inside test -s /var/lib/private/hookline/hookline.db -a -s /etc/default/hookline
    check "it is installed again" inside dpkg -i "/packages/$second"
    wait_for "it runs with what was kept" ready
    check "the token is still good" holds '"hello world"' call '{"prompt": "world hello"}'
    inside python3 -c 'import hookline_runtime.testing' # as root: it leaves compiled modules
    check "it is purged" inside dpkg -P hookline
    check "and does not run" same '' running
    check "nothing of it is left" same '' files
}

running() {
    inside pgrep -x hookline || true
}

no_errors() {
    lintian --allow-root --fail-on error,warning "$work/packages/$first"
}

main "$@"
