#!/usr/bin/env bash
# Unsafe code and threads under AddressSanitizer, ThreadSanitizer, Miri and valgrind. Without a nightly compiler the
# stable one runs the sanitizers, with its unstable options unlocked. What is missing is one line, and no failure:
# these tools are not on every machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${CARGO_TARGET_DIR:-target}
toolchain=
if rustc +nightly --version >/dev/null 2>&1; then
    toolchain=+nightly
elif compgen -G "$(rustc --print sysroot)/lib/rustlib/*/lib/librustc-*_rt.asan.a" >/dev/null; then
    export RUSTC_BOOTSTRAP=1
else
    echo 'missing: a compiler with sanitizers. To get one: rustup toolchain install nightly'
fi

# Tests of a sanitizer; the standard library has no instrumentation unless its sources are there to be built.
run() {
    local sanitizer=$1 host
    shift
    host=$(rustc $toolchain -vV | sed -n 's/^host: //p')
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR="$folder/$sanitizer" \
        cargo $toolchain test --profile fast --target "$host" -p calipers-fuzz --no-default-features "$@"
}

if [ -n "$toolchain${RUSTC_BOOTSTRAP:-}" ]; then
    printf '\n== AddressSanitizer: targets of the core on seeds and regressions\n'
    ASAN_OPTIONS=detect_leaks=0 run address
    if [ -d "$(rustc $toolchain --print sysroot)/lib/rustlib/src/rust/library" ]; then
        printf '\n== ThreadSanitizer: work on several threads\n'
        run thread -Zbuild-std --test threads
    else
        echo 'missing: rust-src; without it ThreadSanitizer reports races of the standard library that are none.' \
            'To get it: rustup component add rust-src --toolchain nightly'
    fi
fi

if cargo +nightly miri --version >/dev/null 2>&1; then
    printf '\n== Miri: sketches as bytes\n'
    MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p calipers --lib sketch::bytes
else
    echo 'missing: Miri. To get it: rustup component add miri --toolchain nightly'
fi

python=.venv/bin/python
if ! command -v valgrind >/dev/null; then
    echo 'missing: valgrind, for the Python extension. To get it: apt-get install valgrind'
elif ! $python -c 'import calipers' 2>/dev/null; then
    echo 'missing: the Python package. To get it: make develop'
else
    # Memory of Python itself is left out: its own allocator, and values that numpy leaves unset.
    printf '\n== valgrind: random DLPack and Arrow structs in the Python extension\n'
    PYTHONMALLOC=malloc valgrind -q --undef-value-errors=no --suppressions=scripts/valgrind.supp --error-exitcode=1 \
        $python python/tests/random_producers.py 1 300
fi
