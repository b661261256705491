# check.sh - for the scripts beside it, which source it: checks that are counted and told. Needs `work`, a directory.

passed=0 failed=0

# check WHAT COMMAND…
check() {
    local what=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $what"
    else
        failed=$((failed + 1))
        echo "FAILED  $what"
        tail -n 40 "$work/said" | sed 's/^/        /'
    fi
}
