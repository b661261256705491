#!/bin/bash
# Signs files that are handed out: FILE.sig beside each, which `openssl dgst` verifies with the public key.
#
#   deploy/bundle/sign.sh KEY FILE…        KEY: the release's private key (PEM); made once, and kept by whoever releases:
#                                              openssl ecparam -name prime256v1 -genkey -noout -out hookline-release.key
#                                          writes hookline-release.pub beside the first FILE as well
set -euo pipefail

key=${1:?the private key} && shift
[ $# -gt 0 ] || { echo "sign.sh: which files?" >&2; exit 2; }
public=$(dirname "$1")/hookline-release.pub
openssl pkey -in "$key" -pubout -out "$public"
for file in "$@"; do
    openssl dgst -sha256 -sign "$key" -out "$file.sig" "$file"
    openssl dgst -sha256 -verify "$public" -signature "$file.sig" "$file" >/dev/null
done
