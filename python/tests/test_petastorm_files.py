"""`tetrys.petastorm.fs_utils`: file systems and paths of URLs. Needs fsspec, which Dask and Petastorm bring."""

from __future__ import annotations

import pickle
import re
from urllib.parse import urlparse

import pytest
import tetrys as tt

pytest.importorskip("fsspec")
from tetrys.petastorm.fs_utils import FilesystemResolver, get_dataset_path, get_filesystem_and_path_or_paths, normalize_dataset_url_or_urls  # noqa: E402

pytestmark = pytest.mark.slice


def test_file_systems_and_paths_of_urls() -> None:
    resolver = FilesystemResolver("file:///data/hello")
    assert type(resolver.filesystem()).__name__ == "LocalFileSystem" and resolver.get_dataset_path() == "/data/hello"
    assert type(pickle.loads(pickle.dumps(resolver.filesystem_factory()))()) is type(resolver.filesystem())
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(resolver)
    assert get_dataset_path(urlparse("s3://bucket/a/b")) == "bucket/a/b"
    assert get_filesystem_and_path_or_paths(["file:///a/1", "file:///a/2"])[1] == ["/a/1", "/a/2"]
    assert normalize_dataset_url_or_urls(["file:///a/", "file:///b"]) == ["file:///a", "file:///b"]
    for url, raised in (("/data", ValueError), ("s3:///x", ValueError), ("unknown://a/b", ValueError), ("hdfs:///x", NotImplementedError), (3, ValueError)):
        with pytest.raises(raised) as caught:
            FilesystemResolver(url)  # type: ignore[arg-type]
        assert isinstance(caught.value, tt.Error)
    for wrong in ([], ["file:///a", "s3://b/c"], ["s3://user:secret@b/c", "s3://user:secret@c/c"]):
        with pytest.raises(ValueError) as caught:
            get_filesystem_and_path_or_paths(wrong)  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="an empty list"):
        normalize_dataset_url_or_urls([])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("unknown://user:secret@h/x", "unknown://h/x"),
        ("unknown://user:/secret@@h/x", "unknown://h/x"),
        ("unknown://secret@h/x", "unknown://h/x"),
        ("hdfs://user:secret@h/x", "hdfs://h/x"),
        ("//user:secret@h/x", "//h/x"),
        ("user:secret@h/x", "h/x"),
        ("unknown://h/a@b", "unknown://h/a@b"),
    ],
)
def test_errors_of_urls_have_no_user_and_no_password(url: str, shown: str) -> None:
    with pytest.raises(tt.Error, match=re.escape(shown)) as caught:
        FilesystemResolver(url)
    message = str(caught.value)
    assert "secret" not in message and "user:" not in message.replace("user://bucket", "")
