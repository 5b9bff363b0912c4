# What .ci/run and .ci/full share: where builds go, what tests fetch, how steps are shown, how skipped tests are counted.
# A test that is skipped or left out appends a line to the file named by TETRYS_SKIPPED (tests/common/environment.rs).

cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache="${TETRYS_BUILDS:-$HOME/.cache/tetrys}"
export TETRYS_BUILDS="$cache"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export TETRYS_SKIPPED="$scratch/skipped"
log="$scratch/tests.log"
# Nothing is built twice from the same checkout here, and these files are large.
export CARGO_INCREMENTAL=0
mkdir -p "$cache" "$CARGO_TARGET_DIR"

# Says what runs, runs it, and says how long it took.
step() {
    local name="$1" start=$SECONDS
    shift
    printf '\n== %s: %s\n' "$name" "$*"
    "$@"
    printf '== %s: ok, %d s\n' "$name" $((SECONDS - start))
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The tests' output goes to the terminal and into the log; a failing test fails the step (pipefail).
logged() {
    "$@" 2>&1 | tee -a "$log"
}

# A linker that finds the disk full dies of a bus error. Cargo never deletes old outputs: with fewer GiB free than these, or than
# TETRYS_ROOM, all go.
room() {
    local needed="${TETRYS_ROOM:-${1:-30}}" free
    free() { df --output=avail --block-size=1G "$CARGO_TARGET_DIR" | awk 'NR == 2 { print $1 }'; }
    if [ "$(free)" -lt "$needed" ]; then
        printf '%d GiB free, the builds need up to %d: deleting old outputs in %s\n' "$(free)" "$needed" "$CARGO_TARGET_DIR"
        cargo clean
        mkdir -p "$CARGO_TARGET_DIR"
    fi
    [ "$(free)" -ge "$needed" ] || printf 'warning: only %d GiB free, the builds need up to %d\n' "$(free)" "$needed"
}

# Clippy and rustfmt come with the toolchain almost everywhere; where they do not, they are fetched.
components() {
    cargo clippy --version && cargo fmt --version && return
    rustup component add clippy rustfmt
}

# Chromium and the packages that the tests of the viewer's page run with, which npm puts into view/web/node_modules. Without one of them,
# these tests are skipped and counted.
browser() {
    if ! command -v chromium-headless-shell >/dev/null && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core >/dev/null || true
    fi
    if command -v npm >/dev/null; then npm ci --no-audit --no-fund --prefix view/web || rm -rf view/web/node_modules; fi
}

# Ends a script: what ran, what was left out and why.
summary() {
    local passed=0 count=0
    passed=$(awk '/^test result:/ { for (i = 2; i <= NF; i++) if ($i ~ /^passed/) sum += $(i - 1) } END { print sum + 0 }' "$log")
    # What one step leaves out, another step runs; a test that is skipped runs in none.
    if [ -s "$TETRYS_SKIPPED" ]; then
        sort -u "$TETRYS_SKIPPED"
        count=$(sort -u "$TETRYS_SKIPPED" | grep -c '^skipped:' || true)
    fi
    printf '\n%d tests passed\n' "$passed"
    printf '%d tests skipped\n' "$count"
}
