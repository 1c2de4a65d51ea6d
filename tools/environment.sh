#!/bin/sh
# Makes .venv and installs the given locked requirement files into it, once for each state of these files. A package is
# refused if its hash is not in the lock file.
set -eu
cd "$(dirname "$0")/.."

fits() { # Python 3.11 or later that can make virtual environments
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    # Debian compiles Python with optimisations, a version manager often without: everything takes a tenth less time.
    optimised=$(command -v /usr/bin/python3 || true)
    [ -n "$optimised" ] && ! "$optimised" -c 'import ensurepip' >/dev/null 2>&1 && optimised=""
    for name in ${PYTHON:-} $optimised python3.11 python3 python3.12 python3.13 python; do
        if fits "$name"; then
            echo "$name"
            return
        fi
    done
    echo "MemoryHub needs Python 3.11 or later: install it, or name it with 'make PYTHON=/path/to/python run'." >&2
    return 1
}

make_environment() {
    python=$(find_python)
    if ! "$python" -c 'import ensurepip' >/dev/null 2>&1 && ! sh tools/debian.sh python-venv; then
        echo "$python cannot make virtual environments: on Debian and Ubuntu, install the package python3-venv." >&2
        return 1
    fi
    echo "Making .venv with $("$python" --version) ..."
    "$python" -m venv --clear .venv
}

{ fits .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; } || make_environment

stamp=".venv/installed-$(cat "$@" | cksum | tr ' ' '-')"
[ -e "$stamp" ] && exit 0
echo "Installing $* into .venv ..."
options=""
for file in "$@"; do options="$options -r $file"; done
# The lock files name every package that is needed, so pip need not look for what these packages need in turn. The files'
# names have no spaces, wherever the checkout is.
# shellcheck disable=SC2086
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --no-compile $options
# pip would compile one file after the other. Some packages have files for other versions of Python, which do not compile,
# and of some hardly a file is ever loaded.
.venv/bin/python -m compileall -qq -j 0 -x '/(pip|setuptools|pkg_resources|mypy|mypyc|pygments/lexers)/' .venv/lib || true
touch "$stamp"
