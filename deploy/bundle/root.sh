#!/bin/bash
# Makes the image's root file system of a bundle: that at /opt/hookline, its programs on PATH, the user, and the volume's
# directory; no distribution's files. The Dockerfile asks for it.
#
#   deploy/bundle/root.sh BUNDLE ROOT        as root: the volume is its user’s
#
# All files have the bundle's time.
set -euo pipefail

bundle=${1:?the folder of a bundle} root=${2:?a directory that is not there yet}
user=10001

umask 022
mkdir "$root"
mkdir -p "$root"/{opt,etc,tmp,usr/local/{bin,lib/hookline},usr/share/doc/hookline,var/lib/hookline}
cp -a "$bundle" "$root/opt/hookline"
for program in hookline hookline-function hookline-functions; do
    ln -s "../../../opt/hookline/$program" "$root/usr/local/bin/$program"
done
# Images of functions copy them from here. The files are the bundle's own.
cp -al "$root"/opt/hookline/{python,node} "$root/usr/local/lib/hookline/"
ln -s ../../../../opt/hookline/LICENSE "$root/usr/share/doc/hookline/LICENSE"

printf '%s:x:%s:%s::%s:/usr/sbin/nologin\n' \
    root 0 0 / hookline $user $user /var/lib/hookline nobody 65534 65534 /nonexistent >"$root/etc/passwd"
printf '%s:x:%s:\n' root 0 hookline $user nogroup 65534 >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
chmod 0700 "$root/var/lib/hookline"
[ "$(id -u)" != 0 ] || chown $user:$user "$root/var/lib/hookline" # image.py says whose it is, too
find "$root" -exec touch -h -r "$bundle/LICENSE" {} +
