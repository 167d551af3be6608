#!/usr/bin/env bash
# Are the tools here that `make demo` or `make test` needs?
#
#     scripts/check-tools.sh [demo|test]      (test is the default)
#
# One line for each thing that is missing, with how to get it. Exit code: 0 all here, 2 not.
set -uo pipefail

rust_needed=1.89
python_needed=3.10
python=${PYTHON:-python3}
n_missing=0

missing() { # what, how to get it
    echo "missing: $1. To get it: $2" >&2
    n_missing=$((n_missing + 1))
}

have() { command -v "$1" >/dev/null 2>&1; }

works() { "$@" </dev/null >/dev/null 2>&1; }

at_least() { # version, needed: "1.95.0" "1.89"
    local major minor rest
    IFS=. read -r major minor rest <<<"$1"
    minor=${minor%%[!0-9]*}
    ((major > ${2%%.*} || (major == ${2%%.*} && minor >= ${2##*.})))
}

check_rust() { # cargo or rustc
    local version
    version=$("$1" --version 2>/dev/null </dev/null)
    [[ $version =~ [0-9]+\.[0-9]+\.[0-9]+ ]] && version=${BASH_REMATCH[0]} || version=
    if [ -z "$version" ]; then
        missing "$1 (Rust $rust_needed or later)" "https://rustup.rs"
    elif ! at_least "$version" "$rust_needed"; then
        missing "$1 $rust_needed or later (this one is $version)" "rustup update stable, or https://rustup.rs"
    fi
}

check_cc() {
    local program
    have cc || { missing "a C compiler, cc" "sudo apt install gcc libc6-dev, or xcode-select --install"; return; }
    program=$(mktemp)
    works bash -c 'echo "int main(void) { return 0; }" | cc -x c - -o "$0"' "$program" ||
        missing "a working C compiler (cc cannot link a program)" "sudo apt install gcc libc6-dev, or xcode-select --install"
    rm -f "$program"
}

check_python() {
    local version
    version=$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null </dev/null)
    if [ -z "$version" ]; then
        missing "$python (Python $python_needed or later)" "sudo apt install python3 python3-venv, or https://www.python.org"
    elif ! at_least "$version" "$python_needed"; then
        missing "Python $python_needed or later ($python is $version)" "install a later one and call make PYTHON=python3.x"
    elif ! works "$python" -c 'import venv, ensurepip; ensurepip.version()'; then
        missing "venv and ensurepip of $python" "sudo apt install python3-venv"
    fi
}

what=${1:-test}
case $what in
demo | test) ;;
*) echo "usage: scripts/check-tools.sh [demo|test]" >&2; exit 2 ;;
esac

have make || missing "make" "sudo apt install make, or xcode-select --install"
check_rust cargo
check_rust rustc
check_cc
if [ "$what" = test ]; then
    if have cargo; then
        works cargo fmt --version || missing "rustfmt" "rustup component add rustfmt"
        works cargo clippy --version || missing "clippy" "rustup component add clippy"
    fi
    check_python
fi
[ "$n_missing" -eq 0 ] || exit 2
