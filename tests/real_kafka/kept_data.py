"""The data that outlives its cluster: one folder, which a later cluster of the same kind goes on with."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

DESCRIPTION_NAME: Final = "cluster.json"


class DataFolderUnusable(ValueError):
    """The folder holds something else than data of such a cluster. The message says what."""


@dataclass(frozen=True, slots=True)
class ClusterKind:
    """What a cluster must have in common with the one that wrote the data."""

    version: str
    brokers: int
    share_groups: bool


def take_up(folder: Path, kind: ClusterKind) -> bool:
    """Make `folder`, or find in it what an earlier cluster of this `kind` left; whether there was one.

    Raises `DataFolderUnusable`, and OSError when the folder cannot be written.
    """
    description = folder / DESCRIPTION_NAME
    if description.exists():
        _require_same(folder, ClusterKind(**json.loads(description.read_text())), kind)
        return True
    if folder.exists() and any(folder.iterdir()):
        raise DataFolderUnusable(
            f"{folder} holds files, and no data of a cluster: name an empty folder, or a new one"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return False


def describe(folder: Path, kind: ClusterKind) -> None:
    """Note whose data the folder holds, once it is all there."""
    (folder / DESCRIPTION_NAME).write_text(json.dumps(asdict(kind)) + "\n")


def _require_same(folder: Path, found: ClusterKind, wanted: ClusterKind) -> None:
    if found != wanted:
        raise DataFolderUnusable(
            f"{folder} holds the data of {_text(found)}, and {_text(wanted)} is to start: "
            "name another folder, or start the same cluster"
        )


def _text(kind: ClusterKind) -> str:
    return f"KAFKA_VERSION={kind.version} BROKERS={kind.brokers} SHARE={int(kind.share_groups)}"
