"""What models over the state log begin with."""

from tests.worlds.state_log_fixtures import backing, claims, cluster, node_ids, on_corrupt, written

__all__ = ["backing", "claims", "cluster", "node_ids", "on_corrupt", "written"]
