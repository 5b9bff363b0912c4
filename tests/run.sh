#!/bin/sh
# Runs the tests: `cargo test --workspace`, after saying what that will do and for how long. Then names the parts that did not run.
# Arguments go to cargo: `sh tests/run.sh --test tidy`.
set -eu
cd "$(dirname "$0")/.."
skipped="${TETRYS_SKIPPED:-}"
if [ -z "$skipped" ]; then
    skipped="$(mktemp)"
    trap 'rm -f "$skipped"' EXIT
fi
TETRYS_SKIPPED="$skipped"
export TETRYS_SKIPPED

cat <<TEXT
cargo test --workspace $*
  compiles  about 500 crates and the tests: 11 minutes the first time on two cores, 5 minutes after the demo, else what changed
  Rust      about 1,100 tests of the library and the command line, with servers of S3 on the loopback: 20 minutes
  Python    about 1,900 tests of the package in a virtual environment (1.3 GB in ${TETRYS_BUILDS:-~/.cache/tetrys}), and its types: 7 minutes
Needs Rust and a C compiler; the Python tests need python3 (3.10 or later) and network for pip.
TEXT
[ "${TETRYS_TORCH:-}" = 1 ] || echo "Left out: the tests of PyTorch (6 GB to install). TETRYS_TORCH=1 runs them."
[ -n "${TETRYS_CLUSTER:-}" ] || echo "Left out: the tests of Ray, Spark and Daft, and those of Petastorm's wheel (2.2 GB to install, Java 17). TETRYS_CLUSTER=slice runs them in minutes, 1 runs all."
[ "${TETRYS_FULL:-}" = 1 ] || echo "Left out: the long suites. TETRYS_FULL=1 runs up to twenty times as many random cases (hours)."
[ -d "${TETRYS_SHARED:-../shared}" ] || echo "Left out: comparisons with recorded data. TETRYS_SHARED names a folder that has it; there is none at ${TETRYS_SHARED:-../shared}."
echo

status=0
cargo test --workspace "$@" || status=$?
[ "$status" = 0 ] || printf '\nCargo stops at the first suite that fails: later suites did not run. sh tests/run.sh --no-fail-fast runs all.\n'
if [ -s "$skipped" ]; then
    printf '\nDid not run:\n'
    sort -u "$skipped" | sed 's/^/  /'
fi
exit $status
