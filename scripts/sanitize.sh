#!/usr/bin/env bash
# The fuzz targets of the core and its threads under AddressSanitizer and ThreadSanitizer, with a nightly
# compiler. What is missing is one line, and no failure: these tools are not on every machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! rustc +nightly --version >/dev/null 2>&1; then
    echo 'missing: a nightly compiler, so that no sanitizer runs. To get it: rustup toolchain install nightly'
    exit 0
fi
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
folder=${CARGO_TARGET_DIR:-target}

# Tests of a sanitizer; the standard library has no instrumentation unless its sources are there to be built.
run() {
    local sanitizer=$1
    shift
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR="$folder/$sanitizer" \
        cargo +nightly test --profile fast --target "$host" -p calipers-fuzz --no-default-features "$@"
}

printf '\n== AddressSanitizer: targets of the core on seeds and regressions\n'
ASAN_OPTIONS=detect_leaks=0 run address

if rustup +nightly component list 2>/dev/null | grep -q '^rust-src.*(installed)'; then
    printf '\n== ThreadSanitizer: work on several threads\n'
    run thread -Zbuild-std --test threads
else
    echo 'missing: rust-src of the nightly compiler; without it ThreadSanitizer reports races of the standard library that are none.' \
        'To get it: rustup component add rust-src --toolchain nightly'
fi
if cargo +nightly miri --version >/dev/null 2>&1; then
    printf '\n== Miri: sketches as bytes\n'
    MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p calipers --lib sketch::bytes
else
    echo 'missing: Miri. To get it: rustup component add miri --toolchain nightly'
fi
