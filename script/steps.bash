# Steps of script/check and script/test: runs them, keeps what they print, and lists the results.
# To be sourced by bash, in the repository's root.

# A crashed test's backtracer can outlive it and hold a script's output open.
export SWIFT_BACKTRACE=enable=no
# The tests of a process share a thread for each processor. Without a limit all of them start at
# once, and one that waits for an answer resumes after a turn of all the others: half a minute.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

# The build of script/check, with optimised arithmetic. It has a folder of its own, because its
# options are its own.
check_bin=$PWD/.build-check/debug
build_check() {
    ASSAY_OPTIMIZED=1 swift build --build-tests --scratch-path .build-check
}
# Runs tests of that build, by the command in `runner` if there is one. `swift test` locks its
# folder, so that no second one could run beside.
runner=()
run_tests() { # OPTIONS...
    ASSAY_BIN=$check_bin "${runner[@]}" "$check_bin/assayPackageTests.xctest" \
        --testing-library swift-testing "$@"
}

passed=()
failed=()
table=()
logs=$(mktemp -d)
declare -A beside=()
finish() {
    local group
    for group in "${beside[@]}"; do kill -- "-$group" 2>/dev/null; done
    rm -rf "$logs"
}
trap finish EXIT

# Sets `used` to the processor time of all commands so far, in seconds.
read_processor_time() {
    times >"$logs/times" # In this shell: a subshell has times of its own.
    used=$(awk -F '[ms ]' 'NR == 2 { printf "%d", 60 * $1 + $2 + 60 * $4 + $5 }' "$logs/times")
}

step() { # NAME PROTECTS COMMAND...
    local name=$1 protects=$2 start=$SECONDS result=passed before
    read_processor_time
    before=$used
    shift 2
    printf '\n== %s: %s\n' "$name" "$protects"
    if "$@" 2>&1 | tee "$logs/$name"; then
        passed+=("$name")
    else
        failed+=("$name")
        result=FAILED
    fi
    read_processor_time
    local seconds=$((SECONDS - start))
    # One that ran beside others took its own time.
    if [ -e "$logs/$name.seconds" ]; then seconds=$(<"$logs/$name.seconds"); fi
    echo "-- $result after $seconds s, $((used - before)) s of processor time"
    table+=("$(printf '%-6s %5d s  %-22s %s' "$result" "$seconds" "$name" "$protects")")
}

# Starts a command beside the next steps, in a process group of its own.
start() { # NAME NICENESS COMMAND...
    local name=$1 niceness=$2
    shift 2
    : >"$logs/$name.output"
    set -m
    {
        SECONDS=0
        "$@"
        echo $? >"$logs/$name.status"
        echo "$SECONDS" >"$logs/$name.seconds"
    } >"$logs/$name.output" 2>&1 </dev/null &
    beside[$name]=$!
    set +m
    # A short command has ended by now.
    renice -n "$niceness" -g "${beside[$name]}" >/dev/null 2>&1 || true
}

# Prints what a started command prints until it ends, and returns its status.
finished() { # NAME
    local status=1 # That of a command that was killed.
    tail --pid="${beside[$1]}" -n +1 -f "$logs/$1.output"
    if [ -e "$logs/$1.status" ]; then status=$(<"$logs/$1.status"); fi
    return "$status"
}

# Prints a line a step, repeats why steps failed, and returns 0 when none did.
summary() {
    local name
    echo
    printf '%s\n' "${table[@]}"
    for name in ${failed[@]+"${failed[@]}"}; do
        echo "FAILED: $name"
        grep -E '✘|: error:|ERROR:|WARNING: ThreadSanitizer|<-- unexpected|FAILED|DEFECT' "$logs/$name" |
            head -n 8 | cut -c 1-300
    done
    echo "${#passed[@]} passed, ${#failed[@]} failed"
    [ "${#failed[@]}" = 0 ]
}
