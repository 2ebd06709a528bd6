"""Folds that an export keeps in its checkpoint: a micro-batch continues where the one before it ended.

`place/log_partition=N/BATCH.arrow` is the fold of log partition N after micro-batch BATCH: rows of FOLD_ARROW_SCHEMA. A
micro-batch that is run again finds the one before it, and writes its own over what is there.
"""

from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from kproxy.jobs.folds.fold_rows import FOLD_ARROW_SCHEMA, Counts, batch_of_rows, image_of_rows, rows_of_fold
from kproxy.jobs.sources.log_files import filesystem_of
from kproxy.statelog.state_log_fold import FoldImage, StateLogFold

_SUFFIX: Final = ".arrow"
_KEPT: Final = 2
"""How many folds of a log partition are kept: the last, and the one before in case that the last is written again."""


@dataclass(frozen=True, slots=True)
class CarriedFolds:
    """The folds at one place: a path or URI that every executor reaches."""

    place: str

    def before(self, batch: int, log_partition: int) -> FoldImage | None:
        """Return the newest fold that is older than `batch`, None when there is none."""
        system, folder = self._folder(log_partition)
        older = [number for number in _batches(system, folder) if number < batch]
        if not older:
            return None
        with system.open_input_file(f"{folder}/{max(older):020d}{_SUFFIX}") as file:
            return image_of_rows(pa.ipc.open_file(file).read_all().to_pylist())

    def write(self, batch: int, log_partition: int, fold: StateLogFold) -> None:
        """Keep the fold after `batch`, whole or not at all, and remove those that no micro-batch will read again."""
        system, folder = self._folder(log_partition)
        system.create_dir(folder, recursive=True)
        aside = f"{folder}/.{batch:020d}"
        with (
            system.open_output_stream(aside) as file,
            pa.ipc.new_file(file, FOLD_ARROW_SCHEMA) as writer,
        ):
            writer.write_batch(batch_of_rows(rows_of_fold(log_partition, fold, Counts())))
        system.move(aside, f"{folder}/{batch:020d}{_SUFFIX}")
        for number in _batches(system, folder)[:-_KEPT]:
            system.delete_file(f"{folder}/{number:020d}{_SUFFIX}")

    def _folder(self, log_partition: int) -> tuple[Any, str]:
        system, root = filesystem_of(self.place)
        return system, f"{root}/log_partition={log_partition}"


def _batches(system: Any, folder: str) -> list[int]:
    """Return the micro-batches whose folds are kept, ascending."""
    listed = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    names = (file.base_name for file in listed)
    return sorted(int(name.removesuffix(_SUFFIX)) for name in names if name.endswith(_SUFFIX))
