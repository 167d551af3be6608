#!/usr/bin/env bash
# Known vulnerabilities, licences, duplicates and sources of what calipers depends on.
#
#     scripts/audit.sh rust            cargo-deny with deny.toml
#     scripts/audit.sh python BIN      pip-audit of the folder BIN on all files of requirements
#
# One line for each thing that is missing here or cannot be reached. Exit code: 0 nothing found, 1 a
# problem was found, 2 a tool is missing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deny_version=0.20.2

case ${1:-} in
rust)
    if ! command -v cargo-deny >/dev/null; then
        echo "missing: cargo-deny. To get it: cargo install cargo-deny --version $deny_version --locked" >&2
        exit 2
    fi
    cargo deny --locked check -D unmatched-skip -D unnecessary-skip licenses bans sources || exit 1
    if cargo deny --locked fetch db >/dev/null 2>&1; then
        cargo deny --locked check --disable-fetch advisories || exit 1
    else
        echo "not checked: advisories, since RustSec's database cannot be fetched here" >&2
    fi
    ;;
python)
    found=0 unreached=()
    for file in requirements*.txt */requirements.txt; do
        out=$("$2/pip-audit" --strict --no-deps --disable-pip --progress-spinner off -r "$file" 2>&1) && continue
        if grep -qE 'not found on PyPI|ConnectionError|Max retries' <<<"$out"; then
            unreached+=("$file")
        else
            printf '%s:\n%s\n' "$file" "$out"
            found=1
        fi
    done
    [ ${#unreached[@]} -eq 0 ] ||
        echo "not checked: ${unreached[*]}, since PyPI's list of vulnerabilities cannot be reached here" >&2
    exit $found
    ;;
*)
    echo "usage: scripts/audit.sh rust | python BIN" >&2
    exit 2
    ;;
esac
