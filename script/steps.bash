# Steps of script/check and script/test: runs them, prints a line for each, and keeps what they print
# in a log. To be sourced by bash in the repository's root, with or without `set -e`.

# A crashed test's backtracer can outlive it and hold a script's output open.
export SWIFT_BACKTRACE=enable=no
# The tests of a process share a thread for each processor. Without a limit all of them start at
# once, and one that waits for an answer resumes after a turn of all the others: half a minute.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

# The build of script/check, with optimised arithmetic and without the trait ServerSide, as the tool is
# built: the tests of examples/hummingbird are about the trait. It has a folder of its own, because its
# options are its own.
check_bin=$PWD/.build-check/debug
# What the compiler measured, for script/compile-time.
compile_times=$PWD/.build-check/compile-time
build_check() { # OPTIONS...: of swift build, by default to build everything
    if [ $# = 0 ]; then set -- --build-tests; fi
    # Builds add to each other from a first one on, until a source changes.
    if ! [ -e .build-check/build.db ]; then
        rm -rf "$compile_times"
        mkdir -p "$compile_times"
        touch "$compile_times/whole"
    elif ! is_whole_build; then
        rm -rf "$compile_times"
        mkdir -p "$compile_times"
    fi
    script/layouts .build-check
    ASSAY_OPTIMIZED=1 swift build --scratch-path .build-check --disable-default-traits \
        -Xswiftc -stats-output-dir -Xswiftc "$compile_times" "$@"
}
# Whether the measured builds compiled each source of now, once.
is_whole_build() {
    [ -e "$compile_times/whole" ] && [ -z "$(find Package.swift Sources Tests bench conformance \
        clients/swift -newer "$compile_times/whole" -name '*.swift' -print -quit)" ]
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
# What each step printed, and its result.
parts=$(mktemp -d)
# All of it.
log=.build-check/$(basename "$0").log
mkdir -p .build-check
: >"$log"
declare -A beside=()
ticker=

# A step that was interrupted has no result yet; what it printed gets into the log.
finish() {
    local part
    # A subshell that is killed early runs this, too.
    if [ "$BASHPID" != $$ ]; then return; fi
    end_progress
    for part in "${beside[@]}"; do kill -- "-$part" 2>/dev/null || true; done
    for part in "$parts"/*.output; do
        if [ -e "$part" ]; then keep "$(basename "$part" .output)" "-- interrupted"; fi
    done
    rm -rf "$parts"
}
trap finish EXIT

# Moves what a command printed to the log.
keep() { # NAME END
    {
        printf '\n== %s\n' "$1"
        cat "$parts/$1.output"
        echo "$2"
    } >>"$log"
    rm -f "$parts/$1.output"
}

# Prints the comment at the head of the script.
usage() {
    sed -n '2,/^set /{ /^set /d; s/^# \{0,1\}//; p; }' "$0"
}

# Runs a command, and keeps what it prints, its status, its time and its processor time. To be called
# in a subshell, which has processor times of its own.
record() { # NAME COMMAND...
    local name=$1 status=0
    shift
    SECONDS=0
    "$@" >"$parts/$name.output" 2>&1 </dev/null || status=$?
    times >"$parts/$name.times"
    echo "$status $SECONDS" >"$parts/$name.result"
}

# The line of a step, without its result.
title() { printf '%-14s %s ... ' "$1" "$2"; }

# On a terminal, shows for how long a step has been running, and the last line that it printed.
begin_progress() { # NAME PROTECTS
    if ! [ -t 1 ]; then return; fi
    {
        while sleep 1; do
            last=$(tail -n 1 "$parts/$1.output" 2>/dev/null | tr -d '[:cntrl:]') || true
            line="$(title "$1" "$2")$((SECONDS - began)) s: $last"
            printf '\r\e[K%s' "${line:0:$(($(tput cols 2>/dev/null || echo 80) - 1))}"
        done
    } &
    ticker=$!
}
end_progress() {
    if [ -z "$ticker" ]; then return; fi
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    ticker=
    printf '\r\e[K'
}

# Runs a command, or waits for the one that was started under this name.
step() { # NAME PROTECTS [COMMAND...]
    local name=$1 protects=$2 result=passed status=1 seconds=0 processor began=$SECONDS
    shift 2
    title "$name" "$protects"
    begin_progress "$name" "$protects"
    if [ $# != 0 ]; then
        (record "$name" "$@") || true
    else
        finished "$name"
    fi
    if [ -n "$ticker" ]; then
        end_progress
        title "$name" "$protects"
    fi
    # A command that was killed, or that left its shell, has none.
    if [ -e "$parts/$name.result" ]; then read -r status seconds <"$parts/$name.result"; fi
    processor=$(awk -F '[ms ]' '{ sum += 60 * $1 + $2 + 60 * $4 + $5 } END { printf "%d", sum }' \
        "$parts/$name.times" 2>/dev/null) || true
    if [ "$status" != 0 ]; then result=FAILED; fi
    echo "$result, $seconds s"
    if [ "$status" = 0 ]; then
        passed+=("$name")
        sed -n 's/^skipped: /    &/p' "$parts/$name.output" | sort -u
    else
        failed+=("$name")
        reasons "$parts/$name.output" "$status" | cut -c 1-300 | sed 's/^/    /'
    fi
    keep "$name" \
        "-- $result after $seconds s, ${processor:-0} s of processor time, with status $status"
}

# Starts a command beside the next steps, in a process group of its own. A step of its name without a
# command waits for it.
start() { # NAME NICENESS COMMAND...
    local name=$1 niceness=$2
    shift 2
    set -m
    record "$name" "$@" &
    beside[$name]=$!
    set +m
    # A short command has ended by now.
    renice -n "$niceness" -g "${beside[$name]}" >/dev/null 2>&1 || true
}

# Waits for a started command.
finished() { # NAME
    wait "${beside[$1]}" || true
    unset "beside[$1]"
}

# Prints why a step failed, by what it printed.
reasons() { # FILE STATUS
    local text issue='✘ .* recorded an issue|^↳|✘ Test run|Fatal error|Segmentation fault|Illegal instruction|Aborted|Killed|Terminated'
    local fault='error:|Error: |ERROR:|WARNING: ThreadSanitizer|<-- unexpected|FAILED|DEFECT'
    # The first kind that there is: a test's log has errors that the test expects.
    text=$(sed 's/\x1b\[[0-9;]*m//g' "$1" | tr -d '\0') # without colours
    grep -m 12 -E "$issue" <<<"$text" || grep -m 12 -E "$fault" <<<"$text" ||
        if [ -n "$text" ]; then tail -n 8 <<<"$text"; fi
    echo "exit status $2"
}

# Names the steps that failed, and the log; returns 0 when none did.
summary() {
    if [ "${#failed[@]}" != 0 ]; then echo "FAILED: ${failed[*]}"; fi
    echo "log: $log"
    echo "${#passed[@]} passed, ${#failed[@]} failed"
    [ "${#failed[@]}" = 0 ]
}
