#!/usr/bin/env bash
# Is a wheel of the Python package what it should be, and does it work on every Python and numpy that is here?
#
#   scripts/check-wheel.sh dist/calipers-*.whl
#
# Environments are made in a temporary folder, one for each pair of Python and numpy; pairs whose Python is not on this
# machine are named and left out. CALIPERS_PYTHONS may have other pairs, as "3.12:1.26.* 3.13:2.*".
set -euo pipefail

wheel=${1:?usage: scripts/check-wheel.sh WHEEL}
pairs=${CALIPERS_PYTHONS:-3.10:1.26.* 3.11:1.26.* 3.11:2.* 3.12:1.26.* 3.13:2.* 3.14:2.*}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

# The interpreter of that version: on the path, or one of pyenv's.
interpreter() {
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

python3 "$here/wheel_contents.py" "$wheel"
n_checked=0
for pair in $pairs; do
  version=${pair%%:*} numpy=${pair#*:}
  if ! python=$(interpreter "$version"); then
    echo "Python $version is not here: left out"
    continue
  fi
  "$python" -m venv "$work/$n_checked"
  "$work/$n_checked/bin/pip" install --quiet "numpy==$numpy" "$wheel"
  # From another folder, so that nothing but the wheel can be imported.
  (cd "$work" && "$work/$n_checked/bin/python" "$here/wheel_works.py")
  n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "no Python to check the wheel with"; exit 1; }
