"""Notes beside Spark's own checkpoint: which log an export is of, and where it began.

They keep an export from being written twice, from going on with another log, and from missing what was deleted in a
partition before any of it was exported.
"""

import json
from collections.abc import Mapping, Sequence

from pyarrow import fs

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.log_files import filesystem_of


def require_continuation(to: str, checkpoint: str) -> None:
    """Raise JobFailed when there is an export at `to` but not the checkpoint that says how far it is."""
    is_begun = not _is_empty(to)
    if is_begun and _is_empty(checkpoint):
        raise JobFailed(
            f"{to} holds an export already, and its checkpoint is not at {checkpoint}: rows would stand there twice; "
            "give its --checkpoint, or another --to",
            ExitCode.USAGE,
        )


def require_same_log(checkpoint: str, identity: str) -> None:
    """Note in a new checkpoint which log it is of. Raises JobFailed when one is of another: offsets mean nothing there.

    A topic that was deleted and created again is another log.
    """
    system, folder = filesystem_of(checkpoint)
    note = f"{folder}/log"
    if system.get_file_info(note).type is fs.FileType.NotFound:
        system.create_dir(folder, recursive=True)
        with system.open_output_stream(note) as file:
            file.write(identity.encode())
        return
    with system.open_input_file(note) as file:
        noted = file.read().decode()
    if noted != identity:
        raise JobFailed(
            f"the export at {checkpoint} is of another log: of {noted}, and this is {identity}; give another --to",
            ExitCode.USAGE,
        )


def begun_at(checkpoint: str, held: Sequence[LogRange]) -> Mapping[int, int]:
    """Return the offset at which the export of each log partition began: what comes later belongs to it.

    A new checkpoint begins where the log, which has `held`, does now. Partitions that are not in it were added later.
    """
    system, folder = filesystem_of(checkpoint)
    note = f"{folder}/begun"
    if system.get_file_info(note).type is fs.FileType.NotFound:
        begun = {part.partition: part.first_offset for part in held}
        with system.open_output_stream(note) as file:
            file.write(json.dumps(begun).encode())
        return begun
    with system.open_input_file(note) as file:
        return {int(number): offset for number, offset in json.loads(file.read()).items()}


def _is_empty(place: str) -> bool:
    system, folder = filesystem_of(place)
    return not system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
