"""How much of the state log may be deleted: never what recovery needs, and not yet what people may want to look at.

Source: `ShareCoordinatorService.setupRecordPruning`, which keeps no history.
"""


def history_begin_ms(*, now_ms: int, history_ms: int) -> int:
    """Return the moment (epoch ms) from which on records are kept for people: `kproxy.state.history.ms` ago."""
    return max(now_ms - history_ms, 0)


def prune_before(*, recovery_point: int, first_offset_of_history: int) -> int:
    """Return the offset below which every record may be deleted.

    `first_offset_of_history` is that of the first record written at `history_begin_ms` or later, the end of the
    log when there is none. What is below it goes, but nothing from the recovery point on, however old.
    """
    return min(recovery_point, first_offset_of_history)
