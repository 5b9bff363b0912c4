"""Where a store is and how it is opened, for calls that many processes make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ._arguments import Url, urls_of
from ._errors import WrongType

StoreOptions = Mapping[str, str] | None
"""Options of a store, {name: value}; None stands for those of the environment."""
Place = tuple[str, dict[str, str] | None, list[str]]
"""URL, options of the store, and the URLs that references may be followed to."""


def place_of(url: str, store_options: object, allow: Url | Iterable[Url]) -> Place:
    """Returns where a store is and how it is opened. No message has the values of options."""
    if store_options is None:
        return url, None, urls_of("allow", allow)
    if not isinstance(store_options, Mapping):
        raise WrongType(f"store_options: expected a dict, found {type(store_options).__name__}")
    for name, value in store_options.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise WrongType(f"store_options: expected text for names and values, found {type(name).__name__} and {type(value).__name__}")
    return url, dict(store_options), urls_of("allow", allow)
