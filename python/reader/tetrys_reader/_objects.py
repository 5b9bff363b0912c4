"""Where the objects of a table are: a folder, or the URL of a folder that a web server serves.

Names are built from hashes, never taken from metadata (format-spec/README.md#objects). No symbolic link and no redirection leads out of
the root. Sizes are checked before bytes are taken.
"""

import contextlib
import http.client
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request

from ._blocks import blake3
from ._errors import Error, NotFound, Refused, Unavailable, require
from ._manifest import MAX_MANIFEST

MANIFEST = re.compile(r"[0-9]{20}\.json")
TRIES, TIMEOUT, SLOWEST = 3, 60, 10_000
STEP = 1 << 20


class Objects:
    """What folders and web servers have in common. `allow` lists absolute URLs that references may lead to."""

    def referenced(self, kind, reference, suffix=".parquet"):
        """An object that a reference of a manifest names; size and hash are checked before anybody parses it."""
        name = f"{kind}/{reference['blake3']}{suffix}"
        data = self.get(name, reference["bytes"])
        require(len(data) == reference["bytes"], f"{name}: expected {reference['bytes']} bytes, found {len(data)}")
        require(blake3(data).hex() == reference["blake3"], f"{name}: BLAKE3 is not its name, it is {blake3(data).hex()}")
        return data

    def neighbour(self, url):
        """The root that a reference's URL names, or None for an absolute one that nobody allowed."""
        if "://" in url:
            allowed = any(url == other or url.startswith(f"{other.rstrip('/')}/") for other in self.allow)
            return objects_at(url, self.allow) if allowed and ".." not in url.split("/") else None
        names = url.split("/")
        require(all(names) and not set(url) & set("\\?#:"), f"relative URL `{url}`")
        root = [name for name in self.path.split("/") if name]
        for name in names:
            require(name != ".." or root, f"relative URL `{url}` leads out of {self.root}")
            root = root[:-1] if name == ".." else root if name == "." else root + [name]
        return self.at("/" + "/".join(root))


class Folder(Objects):
    def __init__(self, root, allow=()):
        self.root = self.path = os.path.realpath(root)
        self.allow = allow

    def at(self, path):
        return type(self)(path, self.allow)

    def manifests(self):
        folder = os.path.join(self.root, "manifests")
        with local(folder):
            return sorted(name for name in os.listdir(folder) if MANIFEST.fullmatch(name)) if os.path.isdir(folder) else []

    def has(self, name):
        return os.path.isfile(os.path.join(self.root, name))

    def get(self, name, most=MAX_MANIFEST):
        """A whole object; one of more than `most` bytes is not read."""
        with local(f"{self.root}/{name}"), self._open(name) as file:
            size = os.fstat(file.fileno()).st_size
            require(size <= most, f"{name}: expected at most {most} bytes, found {size}")
            return file.read(size)

    def range(self, name, start, end):
        with local(f"{self.root}/{name}"), self._open(name) as file:
            file.seek(start)
            data = file.read(end - start)
        require(len(data) == end - start, f"{name}: expected {end - start} bytes at {start}, found {len(data)}")
        return data

    def _open(self, name):
        path = os.path.join(self.root, name)
        require(os.path.realpath(path) == path, f"{name}: a symbolic link")
        require(os.path.isfile(path), f"{self.root}/{name}: not there", NotFound)
        return open(path, "rb")


@contextlib.contextmanager
def local(path):
    """Turns errors of the operating system into errors of this package."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror or error}") from None


class SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirections within a host alone."""

    def redirect_request(self, request, file, code, message, headers, url):
        here, there = urllib.parse.urlsplit(request.full_url), urllib.parse.urlsplit(url)
        require((here.scheme, here.netloc) == (there.scheme, there.netloc), f"{request.full_url}: the server leads to another host, {url}", Unavailable)
        return super().redirect_request(request, file, code, message, headers, url)


class Web(Objects):
    """Needs `GET` with `Range: bytes=a-b`. Where the server ignores the range, the bytes before it are read and thrown away."""

    def __init__(self, url, allow=()):
        parts = urllib.parse.urlsplit(url)
        require("@" not in parts.netloc, f"{parts.hostname}: the URL holds a user name or password, which this reader does not send", Error)
        require(parts.hostname and not parts.query and not parts.fragment, f"{url}: expected http://HOST/PATH without `?` and `#`", Error)
        self.origin, self.path = f"{parts.scheme}://{parts.netloc}", urllib.parse.unquote(parts.path).rstrip("/")
        self.root, self.allow = self.origin + urllib.parse.quote(self.path), allow
        self.opener = urllib.request.build_opener(SameHost)

    def at(self, path):
        return type(self)(self.origin + urllib.parse.quote(path), self.allow)

    def manifests(self):
        return None

    def has(self, name):
        try:
            self.range(name, 0, 1)
        except NotFound:
            return False
        return True

    def get(self, name, most=MAX_MANIFEST):
        data = self._tried(name, 0, most + 1, {})
        require(len(data) <= most, f"{name}: expected at most {most} bytes, found more")
        return data

    def range(self, name, start, end):
        data = self._tried(name, start, end, {"Range": f"bytes={start}-{end - 1}"})
        require(len(data) == end - start, f"{name}: expected {end - start} bytes at {start}, found {len(data)}")
        return data

    def _tried(self, name, start, end, headers):
        """What `_got` gives; what may be better soon is tried again."""
        url = f"{self.root}/{name}"
        for left in reversed(range(TRIES)):
            try:
                return self._got(url, start, end, headers)
            except urllib.error.HTTPError as error:
                if error.code in (403, 404, 410):
                    raise NotFound(f"{url}: the server says {error.code} {error.reason}") from None
                if error.code == 416:
                    raise Refused(f"{url}: expected bytes {start}..{end}, the object is shorter") from None
                if left == 0 or error.code < 500 and error.code != 429:
                    raise Unavailable(f"{url}: the server says {error.code} {error.reason}") from None
            except (OSError, http.client.HTTPException) as error:
                if left == 0:
                    raise Unavailable(f"{url}: {getattr(error, 'reason', error)}") from None
            time.sleep(0.5 * (TRIES - left))

    def _got(self, url, start, end, headers):
        request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", **headers})
        with self.opener.open(request, timeout=TIMEOUT) as answer:
            at = start
            if headers and answer.status == 206:
                found = re.match(r"bytes ([0-9]{1,19})-", answer.headers.get("Content-Range", ""))
                require(found and int(found[1]) == start, f"{url}: asked for bytes from {start}, the server says {answer.headers.get('Content-Range')!r}")
            elif headers:
                at = 0
            last = time.monotonic() + TIMEOUT + end / SLOWEST
            kept = []
            while at < end:
                part = answer.read1(min(STEP, end - at))
                if not part:
                    break
                kept.append(part[max(0, start - at) :])
                at += len(part)
                require(time.monotonic() < last, f"{url}: {at} bytes took more than {TIMEOUT + end / SLOWEST:.0f} seconds", Unavailable)
            return b"".join(kept)


def objects_at(url, allow=()):
    """The objects at a path, `file://` path, or `http://` or `https://` URL."""
    allow = (allow,) if isinstance(allow, (str, os.PathLike)) else tuple(allow)
    scheme, separator, _ = os.fspath(url).partition("://")
    if not separator:
        return Folder(url, allow)
    if scheme == "file":
        return Folder(urllib.request.url2pathname(urllib.parse.urlsplit(url).path), allow)
    require(
        scheme in ("http", "https"),
        f"{url}: expected a folder, or a URL that begins with file://, http:// or https://; "
        f"copy the table into a folder, or read {scheme}:// with the package tetrys",
        Error,
    )
    return Web(url, allow)
