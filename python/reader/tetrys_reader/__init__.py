from ._errors import Error, NotFound, Refused, Unavailable
