#!/bin/sh
# Ensures that a program is installed, from Debian's packages if apt-get may be used without asking; exits with 1 if it
# is not.
set -eu

present() {
    case $1 in
        chromium)
            [ -n "${MEMORYHUB_CHROMIUM:-}" ] && return 0
            for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
                command -v "$name" >/dev/null 2>&1 && return 0
            done
            return 1 ;;
        fonts)
            command -v fc-list >/dev/null 2>&1 || return 1
            for font in "DejaVu Sans" "Liberation Sans"; do
                [ -n "$(fc-list "$font" family)" ] || return 1
            done ;;
        postgresql)
            command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
        nodejs)
            command -v npm >/dev/null 2>&1 && node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null ;;
        libfaketime)
            ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 ;;
        pgbouncer)
            command -v pgbouncer >/dev/null 2>&1 ;;
        python-venv)
            python3 -c 'import ensurepip' >/dev/null 2>&1 ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] || sudo -n true >/dev/null 2>&1 || return 1
    echo "Installing $1 with apt-get ..."
    # The lists of packages are read where there are none, or where they are too old.
    fetch "$1" 2>/dev/null || { as_root apt-get update -qq </dev/null >/dev/null && fetch "$1"; }
}

fetch() { # some programs consist of two packages
    # shellcheck disable=SC2086
    as_root apt-get install -y -qq --no-install-recommends $1 </dev/null >/dev/null
}

case $1 in
    postgresql|libfaketime|pgbouncer) package=$1 ;;
    chromium) package="chromium libatomic1" ;;
    fonts) package="fontconfig fonts-dejavu-core fonts-liberation" ;;
    nodejs) package="nodejs npm" ;;
    python-venv) package=python3-venv ;;
    *) echo "usage: $0 chromium|fonts|libfaketime|nodejs|pgbouncer|postgresql|python-venv" >&2; exit 2 ;;
esac
present "$1" && exit 0
# Of Debian's two packages of Chromium, the one without windows is quicker; not every mirror has it.
if [ "$1" = chromium ] && install "chromium-headless-shell libatomic1" && present chromium; then
    exit 0
fi
install "$package" && present "$1"
