"""The files of a log: found under a path or URI, and told apart by their names."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed

_LINES: Final = (".jsonl", ".json", ".ndjson")
_OF_PATTERNS: Final = re.compile(r"[\[\]{}*?\\]")
"""Special characters of Hadoop's glob patterns (`GlobPattern`)."""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files of one kind under `place`, ascending. `stamp` changes when any of them does."""

    place: str
    paths: tuple[str, ...]
    stamp: str

    @property
    def is_parquet(self) -> bool:
        """Whether they are Parquet, by their names."""
        return all(path.endswith(".parquet") for path in self.paths)

    @property
    def are_lines(self) -> bool:
        """Whether they are lines of JSON, by their names."""
        return all(path.endswith(_LINES) for path in self.paths)

    @property
    def uris(self) -> list[str]:
        """The files as Spark reads them."""
        return [pattern_of(path) for path in self.paths]


def find_files(place: str) -> FoundFiles:
    """Return the files at a path or URI, a folder's with those of its folders; hidden and unfinished ones apart.

    Raises JobFailed: NOT_FOUND when there are none.
    """
    system, root = filesystem_of(place)
    try:
        info = system.get_file_info(root)
        is_folder = info.type is fs.FileType.Directory
        listed = system.get_file_info(fs.FileSelector(root, recursive=True)) if is_folder else [info]
    except OSError as failure:
        raise JobFailed(f"{place} cannot be read: {failure}", ExitCode.CANNOT_CONNECT) from failure
    files = [file for file in listed if file.is_file and not _is_hidden(file.path.removeprefix(root))]
    if not files:
        raise JobFailed(f"there is no file at {place}", ExitCode.NOT_FOUND)
    prefix = place.rstrip("/").removesuffix(root) if "://" in place and not place.startswith("file:") else ""
    stamp = ",".join(sorted(f"{file.path}:{file.size}:{file.mtime_ns}" for file in files))
    return FoundFiles(place, tuple(sorted(f"{prefix}{file.path}" for file in files)), stamp)


def filesystem_of(place: str) -> tuple[Any, str]:
    """Return the file system of a path or URI, and the path in it. Raises JobFailed for one that is unknown."""
    path = _local_path(place)
    if path is not None:
        return fs.LocalFileSystem(), path
    try:
        system, path = fs.FileSystem.from_uri(arrow_uri_of(place))
    except (ValueError, OSError) as failure:
        raise JobFailed(f"{place}: {failure}", ExitCode.USAGE) from failure
    return system, path


def _local_path(place: str) -> str | None:
    """Return the absolute path of a local place; None for a URI of another file system.

    In a `file:` URI nothing is escaped: that is how Spark reads one.
    """
    if place.startswith("file:"):
        return f"/{place.removeprefix('file:').lstrip('/')}"
    return None if "://" in place else str(Path(place).absolute())


def arrow_uri_of(uri: str) -> str:
    """Return a URI that Spark takes as pyarrow takes it: the scheme `s3a` is Hadoop's own name for `s3`."""
    return f"s3:{uri.removeprefix('s3a:')}" if uri.startswith("s3a:") else uri


def uri_of(place: str) -> str:
    """Return a path or URI as Spark takes it on every machine: as a URI in which nothing is escaped."""
    path = _local_path(place)
    return place if path is None else f"file://{path}"


def pattern_of(place: str) -> str:
    """Return a path or URI for Spark to read from: Spark reads glob patterns, so special characters are escaped."""
    return _OF_PATTERNS.sub(r"\\\g<0>", uri_of(place))


def _is_hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))
