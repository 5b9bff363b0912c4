#!/bin/sh
# Makes (once for each list of requirements) a virtual environment in a cache folder outside the checkout and prints its python:
# `venv.sh requirements.txt [more.txt ..]`. A line `# alone: NAME` names a package that is installed without those that it asks for.
# Exit status 3: there is no python3 of 3.10 or later with venv and pip here.
set -eu
cache="${TETRYS_BUILDS:-$HOME/.cache/tetrys}"
venv="$cache/venv-$(cat "$@" | cksum | cut -d' ' -f1)"
if [ ! -e "$venv/complete" ]; then
    command -v python3 >/dev/null || exit 3
    python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || exit 3
    mkdir -p "$cache"
    # Several tests may need it at once, and it may have gigabytes: one makes it, and the others wait.
    if command -v flock >/dev/null; then
        exec 9>"$venv.lock"
        flock 9
    fi
fi
if [ ! -e "$venv/complete" ]; then
    # Made beside and renamed into place by whoever finishes first; the loser's copy is removed.
    new="$(mktemp -d "$cache/venv.XXXXXX")"
    trap 'rm -rf "$new"' EXIT
    python3 -m venv "$new" >&2
    alone="$(sed -n 's/^# alone: //p' "$@")"
    for requirements; do set -- "$@" -r "$requirements"; shift; done
    "$new/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    if [ -n "$alone" ]; then
        "$new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$alone" >&2
    fi
    touch "$new/complete"
    mv -T "$new" "$venv" 2>/dev/null || [ -e "$venv/complete" ] || mv "$new" "$venv"
fi
echo "$venv/bin/python"
