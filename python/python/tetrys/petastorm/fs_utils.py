"""File systems and paths of URLs, for programs that look at the files of a data set themselves.

The file systems are those of `fsspec`, which must be installed. Readers of `tetrys.petastorm` do not need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn
from urllib.parse import ParseResult, urlparse, urlunparse

from .._arguments import members, text
from .._errors import imported, short, unpicklable
from .._tetrys import Unsupported
from ._source import _FOREIGN, shown
from .errors import NotSupportedError, WrongType, WrongValue, found

__all__ = ["FilesystemResolver", "get_dataset_path", "get_filesystem_and_path_or_paths", "normalize_dataset_url_or_urls", "normalize_dir_url"]

Urls = str | list[str]


def get_dataset_path(parsed_url: ParseResult) -> str:
    """Returns the path of a parsed URL as its file system takes it: of an object store, with the bucket."""
    if not isinstance(parsed_url, ParseResult):
        raise WrongType(f"parsed_url: expected a URL that urlparse returned, found {found(parsed_url)}")
    return parsed_url.path if parsed_url.scheme.lower() in ("file", *_FOREIGN) else urlunparse(parsed_url).partition("://")[2]


class FilesystemResolver:
    """The file system of `fsspec` and the path of a URL.

    Args:
        dataset_url: The URL, with its scheme: `file://`, `s3://`, ..
        hadoop_configuration, connector, hdfs_driver, user: Unused: `hdfs://` is not supported.
        storage_options: Options of the file system.

    Example:
        >>> from tetrys.petastorm.fs_utils import FilesystemResolver
        >>> FilesystemResolver("file:///data/hello").get_dataset_path()
        '/data/hello'

    Raises:
        ValueError (an `Invalid`): the URL has no scheme or no bucket, or fsspec does not know the scheme.
        NotImplementedError (an `Unsupported`): the scheme is one of Hadoop.
        Unsupported: fsspec, or its package for the scheme, is not installed.
    """

    def __init__(
        self,
        dataset_url: str | ParseResult,
        hadoop_configuration: Any = None,
        connector: Any = None,
        hdfs_driver: str = "libhdfs3",
        user: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        del hadoop_configuration, connector, hdfs_driver, user
        self._parsed = dataset_url if isinstance(dataset_url, ParseResult) else urlparse(_url(dataset_url))
        scheme, url = self._parsed.scheme, urlunparse(self._parsed)
        if not scheme:
            raise WrongValue(f"dataset_url: {shown(url)} has no scheme: put file:// before a path of the local disk")
        if scheme in _FOREIGN:
            raise NotSupportedError(f"{shown(url)}: there is no file system for {scheme}: copy the data set to a disk or an object store")
        if scheme != "file" and not self._parsed.netloc:
            raise WrongValue(f"dataset_url: {shown(url)} has no bucket: expected {scheme}://bucket/path")
        fsspec = imported("fsspec", "file systems of URLs need fsspec: pip install fsspec")
        try:
            kind = fsspec.get_filesystem_class(scheme)
            options = {} if scheme == "file" else kind._get_kwargs_from_urls(url)
        except ImportError as error:
            raise Unsupported(f"{shown(url)}: {short(error)}") from error
        except ValueError as error:
            raise WrongValue(f"dataset_url: {shown(url)}: {short(error)}") from error
        self._factory: Callable[[], Any] = partial(kind, **options, **members("storage_options", storage_options))
        self._filesystem = self._factory()

    def parsed_dataset_url(self) -> ParseResult:
        """Returns the URL as `urlparse` returns it."""
        return self._parsed

    def get_dataset_path(self) -> str:
        """Returns the path as the file system takes it."""
        return get_dataset_path(self._parsed)

    def filesystem(self) -> Any:
        """Returns the file system."""
        return self._filesystem

    def filesystem_factory(self) -> Callable[[], Any]:
        """Returns a function that makes the file system, and that can be pickled."""
        return self._factory

    def __reduce__(self) -> NoReturn:
        unpicklable("a FilesystemResolver", "pickle what filesystem_factory() returns")


def get_filesystem_and_path_or_paths(
    url_or_urls: Urls, hdfs_driver: str = "libhdfs3", storage_options: Mapping[str, Any] | None = None, filesystem: Any = None
) -> tuple[Any, Urls]:
    """Returns the file system of a URL and its path; of a list of URLs in one place, a list of paths.

    Raises:
        ValueError (an `Invalid`): the URLs have different schemes or buckets.
    """
    urls = url_or_urls if isinstance(url_or_urls, list) else [url_or_urls]
    if not urls:
        raise WrongValue("url_or_urls: an empty list, expected one URL or more")
    parsed = [urlparse(_url(url)) for url in urls]
    if wrong := [one for one in parsed if (one.scheme, one.netloc) != (parsed[0].scheme, parsed[0].netloc)]:
        raise WrongValue(f"url_or_urls: expected URLs of one scheme and bucket, found {shown(urls[0])} and {shown(urlunparse(wrong[0]))}")
    made = filesystem if filesystem is not None else FilesystemResolver(urls[0], hdfs_driver=hdfs_driver, storage_options=storage_options).filesystem()
    paths = [get_dataset_path(one) for one in parsed]
    return made, paths if isinstance(url_or_urls, list) else paths[0]


def normalize_dir_url(dataset_url: str) -> str:
    """Returns a URL without a slash at its end."""
    return _url(dataset_url).removesuffix("/")


def normalize_dataset_url_or_urls(dataset_url_or_urls: Urls) -> Urls:
    """Returns a URL, or each URL of a list, without a slash at its end."""
    if not isinstance(dataset_url_or_urls, list):
        return normalize_dir_url(dataset_url_or_urls)
    if not dataset_url_or_urls:
        raise WrongValue("dataset_url_or_urls: an empty list, expected one URL or more")
    return [normalize_dir_url(url) for url in dataset_url_or_urls]


def _url(url: object) -> str:
    if not isinstance(url, str):
        raise WrongType(f"dataset_url: expected a URL, found {found(url)}")
    return text("dataset_url", url)
