"""The errors of this package, and how they are raised."""


class Error(Exception):
    """Anything that keeps a table from being read."""


class NotFound(Error, LookupError):
    """There is no such table, version, object, column or row."""


class Unavailable(Error):
    """The server did not answer, or refused the request. Try again later, or look at the URL."""


class Refused(Error):
    """The bytes are damaged, or they are not format 1 as format-spec/README.md describes it."""


class Stray(Refused):
    """Something lies under a null slot: what only a check of the whole table must look for."""


def require(condition, message, kind=Refused):
    if not condition:
        raise kind(message)
