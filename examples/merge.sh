#!/bin/sh
# A merge script in shell: two tables of one drive, put together, filtered, split, compared. Nothing is copied.
# Usage: TETRYS=path/to/tetrys examples/merge.sh FOLDER
set -eu
tetrys="${TETRYS:-tetrys}"
cd "$1"

# Sensors, and what somebody says of them: made up here, as tables of frames and of agents would be.
"$tetrys" generate l5 drive.zarr --scenes 20 --frames 50 --agents 8
"$tetrys" ingest l5 drive.zarr sensors --quiet
"$tetrys" ingest l5 drive.zarr labels --quiet

# By equal keys; only what the labels call busy. A dry run first.
"$tetrys" merge sensors labels --on scene_index,frame_index --out labelled --dry-run
"$tetrys" merge sensors labels --on scene_index,frame_index --out labelled
"$tetrys" select labelled --where 'agents_count > 8' --column 'many=agents_count > 10' --out busy

# By time, within 50 ms (these times are plain numbers of nanoseconds); and parts for training and testing, by scene.
"$tetrys" merge sensors labels --on scene_index,timestamp --how asof --pick nearest --tolerance 50000000 --out synced
"$tetrys" select labelled --split scene_index --shares train=0.8,test=0.2 --out parts

# The same as a recipe.
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

# Both are the same, told without reading payload; and a window over the view reads both tables.
"$tetrys" diff busy busy-again --on scene_index,frame_index
"$tetrys" get busy 0 --columns 'ego.*' --offsets=-2..=0
"$tetrys" info busy
