#!/bin/sh
# Installs the TypeScript SDK that the tests drive into .venv/typescript, once for each state of its lock file.
set -eu
cd "$(dirname "$0")/.."

place=.venv/typescript
source=tests/doors/typescript
sh tools/debian.sh nodejs || { echo "Node.js 18 or later with npm is missing and cannot be installed." >&2; exit 1; }
stamp="$place/installed-$(cat $source/package.json $source/package-lock.json | cksum | tr ' ' '-')"
[ -e "$stamp" ] && exit 0
echo "Installing the TypeScript SDK into $place ..."
# Installed in a temporary directory and then renamed, so that a complete copy is in place even if two runs install at
# once.
scratch=$(mktemp -d .venv/typescript.XXXXXX)
trap 'rm -rf "$scratch"' EXIT INT TERM
cp $source/package.json $source/package-lock.json "$scratch/"
(cd "$scratch" && npm ci --silent --no-audit --no-fund --ignore-scripts </dev/null)
touch "$scratch/${stamp##*/}"
rm -rf "$place"
mv "$scratch" "$place"
