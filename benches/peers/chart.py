"""Draws the chart of the README from figures of `loaders.py --json`: samples per second from object storage, of two data sets.

Each bar is the slower of the two epochs: the thin mark beside it is the faster one. Loaders that ran with several shares of the data in
the cache on disk are drawn with all of it. A loader whose batches are neighbours in the data is marked: it does not shuffle rows.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

EXAMPLES = """
example:
  run.sh loaders --places s3 --cached 1 --json drives.json
  LOADERS_LEVEL5=single_scene.zarr run.sh loaders --places s3 --cached 1 --json level5.json
  chart.py 'Drives: four pictures, 320 KB a sample' drives.json 'Level 5: agents of a frame' level5.json docs/epochs.svg
"""
NEIGHBOURS = 0.1
"""Mixing below which a loader is marked."""
WIDTH, BAR, GAP, LEFT, HEAD = 860, 22, 8, 260, 56
OURS, OTHER, INK, FAINT = "#1f6feb", "#8b949e", "#57606a", "#d0d7de"
"""Colours that are legible on a white and on a dark page."""


def bars(path: Path) -> list[dict[str, Any]]:
    """Returns the loaders of a file that ran on s3 in one process, the fastest first."""
    rows = [row for row in json.loads(path.read_text()) if row["place"] == "s3" and row["processes"] == 1 and not row["error"]]
    rows = [row for row in rows if row["cached"] in (None, 1.0) and row["loader"] != "plain ranges"]
    return sorted(rows, key=lambda row: -min(row["figures"]["first"], row["figures"]["second"]))


def panel(title: str, rows: list[dict[str, Any]], top: int) -> list[str]:
    """Returns the shapes of one data set."""
    most = max(max(row["figures"]["first"], row["figures"]["second"]) for row in rows)
    scale = (WIDTH - LEFT - 150) / most
    shapes = [f'<text x="{LEFT}" y="{top + 18}" class="title">{escape(title)}</text>']
    for number, row in enumerate(rows):
        y = top + 32 + number * (BAR + GAP)
        low, high = sorted((row["figures"]["first"], row["figures"]["second"]))
        is_ours = row["loader"].startswith("Tetrys")
        name = row["loader"] + (" (neighbours)" if row["figures"]["mixing"] < NEIGHBOURS else "")
        colour = OURS if is_ours else OTHER
        shapes += [
            f'<text x="{LEFT - 10}" y="{y + 16}" class="{"ours" if is_ours else "name"}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{low * scale:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<rect x="{LEFT}" y="{y + BAR // 2 - 2}" width="{high * scale:.1f}" height="4" fill="{colour}" opacity="0.5"/>',
            f'<text x="{LEFT + high * scale + 8:.1f}" y="{y + 16}" class="number">{low:,.0f} to {high:,.0f}</text>',
        ]
    return shapes


def chart(panels: list[tuple[str, list[dict[str, Any]]]]) -> str:
    """Returns the chart as SVG."""
    shapes, top = [], HEAD
    for title, rows in panels:
        shapes += panel(title, rows, top)
        top += 32 + len(rows) * (BAR + GAP) + 24
    style = (
        f"text {{ font: 14px system-ui, sans-serif; fill: {INK} }} .title {{ font-weight: 600 }} .ours {{ font-weight: 600; fill: {OURS} }} "
        ".head { font-size: 17px; font-weight: 600 }"
    )
    head = "Samples per second from object storage, with the defaults: slower and faster epoch"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-label="{escape(head)}">',
            f"<style>{style}</style>",
            f'<text x="20" y="30" class="head">{escape(head)}</text>',
            f'<line x1="{LEFT}" y1="{HEAD}" x2="{LEFT}" y2="{top - 16}" stroke="{FAINT}"/>',
            *shapes,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("panels", nargs="+", metavar="TITLE FILE", help="a title and the file of its figures, for each data set")
    parser.add_argument("chart", type=Path, metavar="CHART", help="the SVG file to write")
    arguments = parser.parse_args()
    if len(arguments.panels) % 2:
        parser.error("expected a title and a file for each data set, then the SVG file")
    panels = [(title, bars(Path(file))) for title, file in zip(arguments.panels[::2], arguments.panels[1::2], strict=True)]
    if empty := [title for title, rows in panels if not rows]:
        parser.error(f"no loader ran on s3 in one process: {empty}")
    arguments.chart.write_text(chart(panels))


if __name__ == "__main__":
    main()
