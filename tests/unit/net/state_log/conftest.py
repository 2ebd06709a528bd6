"""What tests of the state log begin with."""

from tests.worlds.state_log_fixtures import (
    backing,
    claims,
    cluster,
    node_ids,
    on_corrupt,
    tended,
    written,
)

__all__ = ["backing", "claims", "cluster", "node_ids", "on_corrupt", "tended", "written"]
