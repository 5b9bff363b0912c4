"""Parses the options of Spark's readers and writers: text, by names in lower case."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from .._errors import short
from .._tetrys import Invalid

STORE = "store."
"""Prefix of the options of the store."""


def _texts(text: str) -> list[str]:
    """Parses `a,b` or a JSON list."""
    if text.lstrip().startswith("["):
        made = json.loads(text)
        if not isinstance(made, list) or not all(isinstance(one, str) for one in made):
            raise ValueError("expected a list of texts")
        return made
    return [one.strip() for one in text.split(",") if one.strip()]


def _members(text: str) -> dict[str, Any]:
    made = json.loads(text)
    if not isinstance(made, dict):
        raise ValueError('expected a JSON object, as {"column": "type"}')
    return made


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.lower() == "true"


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("expected an integer") from None


def _locality(text: str) -> Any:
    return text if text == "none" else json.loads(text)


Parsers = Mapping[str, Callable[[str], Any]]
READ: Parsers = {
    "columns": _texts,
    "payload": _truth,
    "where": pl.sql_expr,
    "splits": _whole,
    "split_bytes": _whole,
    "allow": _texts,
}
"""Options of `spark.read`."""
WRITE: Parsers = {
    "index": _texts,
    "mode": str,
    "schema": _members,
    "groups": _members,
    "sequence_by": _texts,
    "order_by": _texts,
    "units": _members,
    "preset": str,
    "presets": _members,
    "required": _texts,
    "bloom_filters": _texts,
    "properties": _members,
    "write_memory": _whole,
    "reference": _texts,
    "reuse": str,
    "locality": _locality,
    "allow": _texts,
    "allow_unpinned": _truth,
}
"""Options of `df.write`."""


def options_of(given: Mapping[str, str], parsers: Parsers, where: str) -> tuple[str, dict[str, Any]]:
    """Returns the URL and the parsed options. Options of the store are in `storage_options`.

    Raises:
        Invalid: there is no URL, an option is unknown, or its text cannot be parsed.
    """
    options = dict(given)
    url = options.pop("path", None)
    if not url:
        raise Invalid(f"{where}: no URL: pass it to `load` or `save`")
    made: dict[str, Any] = {}
    for name, text in options.items():
        if name.startswith(STORE):
            made.setdefault("storage_options", {})[name.removeprefix(STORE)] = text
        elif name not in parsers:
            raise Invalid(f"{where}: no option `{name}`; there are {', '.join(parsers)}, {STORE}NAME")
        else:
            try:
                made[name] = parsers[name](text)
            except (ValueError, RecursionError, pl.exceptions.PolarsError) as error:
                raise Invalid(f"{where}: option {name}: `{short(text)}`: {short(error)}") from error
    return url, made
