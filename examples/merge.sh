#!/bin/sh
# Merges two tables of the same scenes in shell, then filters, splits and compares them. No payload is copied.
# Usage: TETRYS=path/to/tetrys examples/merge.sh FOLDER
set -eu
tetrys="${TETRYS:-tetrys}"
cd "$1"

# Generates two tables that stand for sensor frames and their labels.
"$tetrys" generate l5 drive.zarr --scenes 20 --frames 50 --agents 8
"$tetrys" ingest l5 drive.zarr sensors --quiet
"$tetrys" ingest l5 drive.zarr labels --quiet

# Merges by equal keys after a dry run, and saves the rows with many agents.
"$tetrys" merge sensors labels --on scene_index,frame_index --out labelled --dry-run
"$tetrys" merge sensors labels --on scene_index,frame_index --out labelled
"$tetrys" select labelled --where 'agents_count > 8' --column 'many=agents_count > 10' --out busy

# Merges by time within 50 ms (the times are numbers of nanoseconds), and splits by scene into parts for training and testing.
"$tetrys" merge sensors labels --on scene_index,timestamp --how asof --pick nearest --tolerance 50000000 --out synced
"$tetrys" select labelled --split scene_index --shares train=0.8,test=0.2 --out parts

# Makes the first view with a recipe.
cat > busy.toml <<'TOML'
from = "sensors"
filter = "agents_count > 8"

[sources]
sensors = "sensors"
labels = { table = "labels", filter = "agents_count > 0" }

[[join]]
with = "labels"
on = ["scene_index", "frame_index"]

[columns]
many = "agents_count > 10"

[output]
view = "busy-again"
TOML
"$tetrys" run busy.toml

# Compares both views without reading payload, and reads a window of the view from both tables.
"$tetrys" diff busy busy-again --on scene_index,frame_index
"$tetrys" get busy 0 --columns 'ego.*' --offsets=-2..=0
"$tetrys" info busy
