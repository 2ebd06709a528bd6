"""Claim epochs of whole batches of rows: `claim_epoch_of` for each record, computed on columns."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kproxy.statelog.claims import CLAIM_HEADER

_EPOCH_BYTES: Final = 8


def claim_epochs(headers: pa.ListArray) -> Sequence[int | None] | None:
    """Return the claim epoch of each row by its headers, None for a row that names none.

    None for the whole batch when a claim header is malformed: then each record has to be decoded by itself.
    """
    flat = headers.flatten()
    is_claim = pc.equal(pc.struct_field(flat, "key"), CLAIM_HEADER)
    rows = pc.list_parent_indices(headers).filter(is_claim).to_numpy()
    values = pc.struct_field(flat, "value").filter(is_claim)
    if values.null_count or (len(rows) > 1 and (rows[1:] == rows[:-1]).any()):
        return None
    encoded = b"".join(values.to_pylist())
    if (
        len(encoded) != _EPOCH_BYTES * len(rows)
        or not pc.all(pc.equal(pc.binary_length(values), _EPOCH_BYTES)).as_py()
    ):
        return None if len(rows) else [None] * len(headers)
    epochs = np.frombuffer(encoded, ">i8")
    if (epochs < 0).any():
        return None
    if len(rows) == len(headers):
        return list(epochs.tolist())
    found: list[int | None] = [None] * len(headers)
    for row, epoch in zip(rows.tolist(), epochs.tolist(), strict=True):
        found[row] = epoch
    return found
