#!/bin/sh
# Writes dist/sbom.cdx.json of the locked requirements with which the hub runs: CycloneDX, validated against its schema.
set -eu
cd "$(dirname "$0")/.."

CYCLONEDX=7.5.0

python=.venv/bin/python
[ -x "$python" ] || python=python3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --disable-pip-version-check "cyclonedx-bom==$CYCLONEDX"
mkdir -p dist
# A package that several files lock is named once.
awk '/^[a-z]/ { again = seen[$1]++ } !again' requirements.txt requirements-postgres.txt requirements-tracing.txt |
    "$scratch/venv/bin/cyclonedx-py" requirements --validate --output-reproducible --pyproject pyproject.toml \
        --mc-type application --output-format JSON --output-file dist/sbom.cdx.json -
