#!/usr/bin/env bash
# Builds the R package and runs R CMD check on it, examples included: no error, warning or note is allowed.
#
#     scripts/check-r.sh r        writes into the current folder; CALIPERS is the command
set -euo pipefail

package=${1:?usage: scripts/check-r.sh FOLDER}
# Examples look for the command on the search path.
PATH="$(dirname "${CALIPERS:-$(command -v calipers)}"):$PATH"
# Packages that only tests need may be missing; no index of CRAN is asked.
export _R_CHECK_FORCE_SUGGESTS_=false _R_CHECK_CRAN_INCOMING_=false
log=$(R CMD build "$package" 2>&1) || { echo "$log"; exit 1; }
log=$(R CMD check --no-manual calipers_*.tar.gz 2>&1) || { echo "$log"; exit 1; }
if ! tail -n 5 <<<"$log" | grep -q '^Status: OK$'; then
    echo "$log"
    exit 1
fi
echo 'R CMD check: OK'
