#!/usr/bin/env bash
# Unsafe code and threads under AddressSanitizer, ThreadSanitizer, Miri, cargo-careful and valgrind.
#
#     scripts/sanitize.sh [address|thread|miri|careful|valgrind ...]      (all unless named)
#
# Without a nightly compiler the stable one runs the sanitizers, with its unstable options unlocked. What is missing
# is one line, and no failure: these tools are not on every machine. The last line has the parts that ran to their end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${CARGO_TARGET_DIR:-target}
python=.venv/bin/python
toolchain=
if rustc +nightly --version >/dev/null 2>&1; then
    toolchain=+nightly
elif compgen -G "$(rustc --print sysroot)/lib/rustlib/*/lib/librustc-*_rt.asan.a" >/dev/null; then
    export RUSTC_BOOTSTRAP=1
fi
ran=
n_missing=0

missing() { # what, how to get it
    echo "missing: $1. To get it: $2"
    n_missing=$((n_missing + 1))
}

# Runs a command under a heading, of which the summary has the first word and the minutes.
part() { # heading, command
    local start=$SECONDS
    printf '\n== %s\n' "$1"
    "${@:2}"
    ran+=", ${1%%:*} $(((SECONDS - start + 30) / 60)) min"
}

has_sanitizers() {
    [ -n "$toolchain${RUSTC_BOOTSTRAP:-}" ] && return
    missing 'a compiler with sanitizers' 'rustup toolchain install nightly'
    return 1
}

has_std_sources() { # what needs them
    [ -d "$(rustc $toolchain --print sysroot)/lib/rustlib/src/rust/library" ] && return
    missing "rust-src, for $1" 'rustup component add rust-src --toolchain nightly'
    return 1
}

# Tests of the fuzz targets of the core.
sanitized() { # sanitizer, options of cargo
    local host
    host=$(rustc $toolchain -vV | sed -n 's/^host: //p')
    RUSTFLAGS="-Zsanitizer=$1 -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR="$folder/$1" \
        cargo $toolchain test --profile fast --target "$host" -p calipers-fuzz --no-default-features "${@:2}"
}

check_address() {
    has_sanitizers || return 0
    ASAN_OPTIONS=detect_leaks=0 part 'AddressSanitizer: targets of the core on seeds and regressions' sanitized address
}

# The standard library is built as well: without instrumentation it has races that are none.
check_thread() {
    has_sanitizers && has_std_sources ThreadSanitizer || return 0
    part 'ThreadSanitizer: work on several threads' sanitized thread -Zbuild-std --test threads
}

# Tests that Miri ends in less than a minute of the processor, by the start of their names.
miri_tests=(
    cells::cell cells::pass::tests::both data::class_rows::tests::a_row_sum data::distributions::tests::both
    data::distributions::tests::raw data::left_out::tests::every data::left_out::tests::no_rows data::plain
    inference::calibration_tests::trials::tests::rows inference::monitor::remembered measure::registry
    numerics::dispatch numerics::products sketch::bytes::forged::the_header
)

# With AVX2, so that functions of `dispatched!` take the branch that is unsafe. Threads of a pool outlive the tests,
# which Miri would report as a leak; crossbeam, on which rayon stands, keeps the rules of tree borrows; and without the
# last flag Miri changes the last bits of logarithms at random, which tests of equal bits take for errors.
under_miri() {
    local flags='-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows -Zmiri-deterministic-floats'
    RUSTFLAGS=-Ctarget-feature=+avx2 MIRIFLAGS=$flags CARGO_TARGET_DIR="$folder/miri" \
        cargo +nightly miri test -p calipers --lib -- "${miri_tests[@]}"
}

check_miri() {
    if cargo +nightly miri --version >/dev/null 2>&1; then
        part 'Miri: unit tests of the core' under_miri
    else
        missing Miri 'rustup component add miri --toolchain nightly'
    fi
}

under_careful() {
    CARGO_TARGET_DIR="$folder/careful" cargo +nightly careful test --profile fast -p calipers --lib
}

check_careful() {
    if [ "$toolchain" != +nightly ] || ! command -v cargo-careful >/dev/null; then
        missing 'cargo-careful with a nightly compiler' 'cargo install cargo-careful'
    elif has_std_sources cargo-careful; then
        part 'cargo-careful: unit tests of the core' under_careful
    fi
}

# Memory of Python itself is left out: its own allocator, and values that numpy leaves unset.
under_valgrind() {
    PYTHONMALLOC=malloc valgrind -q --undef-value-errors=no --suppressions=scripts/valgrind.supp --error-exitcode=1 \
        $python python/tests/random_producers.py 1 300
}

check_valgrind() {
    if ! command -v valgrind >/dev/null; then
        missing 'valgrind, for the Python extension' 'apt-get install valgrind'
    elif ! $python -c 'import calipers' 2>/dev/null; then
        missing 'the Python package' 'make develop'
    else
        part 'valgrind: random DLPack and Arrow structs in the Python extension' under_valgrind
    fi
}

parts=(address thread miri careful valgrind)
[ $# -eq 0 ] || parts=("$@")
for name in "${parts[@]}"; do
    if ! declare -F "check_$name" >/dev/null; then
        echo "no part $name; there are address, thread, miri, careful and valgrind" >&2
        exit 2
    fi
    "check_$name"
done
printf '\npassed: %s; missing: %s\n' "${ran#, }" "$n_missing"
