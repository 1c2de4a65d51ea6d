#!/bin/sh
# Writes each requirements*.txt from its .in: every package that it needs, at one version, with the hashes of all its
# files. It holds for Python 3.11 and later on every machine; a version is kept until its line is removed or --upgrade
# is given.
set -eu
cd "$(dirname "$0")/.."

UV=0.13.9

python=.venv/bin/python
[ -x "$python" ] || python=python3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV"

lock() { # NAME [CONSTRAINTS…]: files that are installed together name the same versions
    name=$1
    shift
    constraints=""
    for file in "$@"; do constraints="$constraints --constraint $file"; done
    # shellcheck disable=SC2086
    "$scratch/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url \
        --no-emit-find-links --custom-compile-command "make lock" $constraints $OPTIONS \
        --output-file "$name.txt" "$name.in" >/dev/null
}

OPTIONS="$*"
lock requirements
lock requirements-postgres requirements.txt
lock requirements-tracing requirements.txt requirements-postgres.txt
lock requirements-dev requirements.txt requirements-postgres.txt requirements-tracing.txt
