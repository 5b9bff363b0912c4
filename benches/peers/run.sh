#!/bin/sh
# Builds the package in release mode and compares it with other formats: `run.sh [options of compare.py]`, or its data loader with
# other loaders: `run.sh loaders [options of loaders.py]`; or measures how long a consumer waits for it: `run.sh idle [options of
# idle.py]`; or reads through Ray and Spark: `run.sh ray [options of ray_read.py]`, `run.sh spark [options of spark_read.py]`. Installs these from PyPI into a virtual environment in the cache folder. Writes the
# data to a temporary folder, and removes it.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
root="$here/../.."
script=compare.py
requirements="$here/requirements.txt"
if [ "${1:-}" = loaders ]; then
    shift
    script=loaders.py
    requirements="$here/loaders.txt"
    set -- --petastorm "$(sh "$root/tests/venv.sh" "$here/loaders_petastorm.txt")" "$@"
elif [ "${1:-}" = idle ]; then
    shift
    script=../idle.py
    requirements="$here/loaders.txt"
elif [ "${1:-}" = ray ] || [ "${1:-}" = spark ]; then
    script="$1_read.py"
    requirements="$here/$1.txt"
    shift
fi
python="$(sh "$root/tests/venv.sh" "$requirements")"
target="${CARGO_TARGET_DIR:-$root/target}"
[ -n "${TETRYS_BUILT:-}" ] || cargo build --release --locked --manifest-path "$root/Cargo.toml" -p tetrys-python
scratch="$(mktemp -d "${TMPDIR:-/tmp}/tetrys-peers.XXXXXX")"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/package"
cp -r "$root/python/python/tetrys" "$scratch/package/"
cp "$target/release/lib_tetrys.so" "$scratch/package/tetrys/_tetrys.abi3.so"
PYTHONPATH="$scratch/package" PYTHONDONTWRITEBYTECODE=1 "$python" "$here/$script" --folder "$scratch" "$@"
