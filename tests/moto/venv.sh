#!/bin/sh
# Makes (once) a virtual environment with moto's server in a cache folder outside the checkout and prints its python.
# Exit status 3: there is no python3 with venv and pip here.
set -eu
cache="${TETRYS_BUILDS:-$HOME/.cache/tetrys}"
venv="$cache/moto-5"
if [ ! -e "$venv/complete" ]; then
    command -v python3 >/dev/null || exit 3
    python3 -c 'import venv, ensurepip' 2>/dev/null || exit 3
    mkdir -p "$cache"
    # Made beside and renamed into place by whoever finishes first; the loser's copy is removed.
    new="$(mktemp -d "$cache/moto-5.XXXXXX")"
    trap 'rm -rf "$new"' EXIT
    python3 -m venv "$new" >&2
    "$new/bin/python" -m pip install --quiet --disable-pip-version-check 'moto[server]==5.1.*' >&2
    touch "$new/complete"
    mv -T "$new" "$venv" 2>/dev/null || [ -e "$venv/complete" ] || mv "$new" "$venv"
fi
echo "$venv/bin/python"
