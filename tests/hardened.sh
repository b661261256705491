#!/bin/bash
# Whether a release binary has what the compiler and the linker have against those who find a fault in it: it can be loaded
# anywhere (PIE), its tables are read-only before main (full RELRO), its stack is not run and is guarded, libc's checked
# functions are used (_FORTIFY_SOURCE), nothing in it is both written and run, and no library is looked for at a place of
# its own (RPATH). Where its code is marked for CET (the libraries and the C runtime must be as well), both halves are.
#
#   tests/hardened.sh BINARY        says what is missing, and fails then
set -euo pipefail
export LC_ALL=C

[ $# -eq 1 ] && [ -f "$1" ] || { echo "usage: tests/hardened.sh BINARY" >&2; exit 2; }
head=$(readelf -hW "$1") segments=$(readelf -lW "$1") dynamic=$(readelf -dW "$1") notes=$(readelf -nW "$1")
symbols=$(readelf -W --dyn-syms "$1")
missing=0

# want WHAT TEXT PATTERN: a line of the text has it; `never` before WHAT: none has it.
want() {
    local never=false found=false
    [ "$1" != never ] || { never=true; shift; }
    ! grep -qE "$3" <<<"$2" || found=true
    [ "$found" = "$never" ] || return 0
    echo "hardened.sh: $1" >&2
    missing=$((missing + 1))
}

want 'it is no position-independent executable' "$head" '^ *Type: +DYN'
want 'it is no position-independent executable (PIE flag)' "$dynamic" 'FLAGS_1.*\bPIE\b'
want 'no RELRO segment' "$segments" '^ *GNU_RELRO '
want 'RELRO is not full: symbols are bound while it runs' "$dynamic" 'BIND_NOW|FLAGS_1.*\bNOW\b'
want 'its stack can be run, or nothing says that it cannot' "$segments" '^ *GNU_STACK .* RW +0x'
want never 'a segment is both written and run' "$segments" '^ *LOAD .* RWE '
want 'no stack protector' "$symbols" ' __stack_chk_fail'
want 'no checked functions of libc (_FORTIFY_SOURCE)' "$symbols" ' __[a-z]+_chk(@|$)'
want never 'it has an RPATH or RUNPATH' "$dynamic" '\((RPATH|RUNPATH)\)'
want never 'its relocations change its code (TEXTREL)' "$dynamic" 'TEXTREL'
if grep -qE 'x86 feature: .*(IBT|SHSTK)' <<<"$notes"; then
    want 'it is marked for one half of CET alone' "$notes" 'x86 feature: .*IBT.*SHSTK'
fi

[ "$missing" -eq 0 ] || exit 1
echo "$1 is hardened"
