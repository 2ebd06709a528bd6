"""Configurations of share groups, of a kproxy that runs in this process."""

import pytest

from kproxy.clients.cluster.cluster_client import ClusterClient
from kproxy.clients.cluster.group_configs import GroupConfig, alter_configs, describe_configs
from kproxy.clients.failures import ClientFailed

RESET = "share.auto.offset.reset"
LOCK = "share.record.lock.duration.ms"


def values_of(cluster: ClusterClient, group_id: str) -> dict[str, GroupConfig]:
    return {config.name: config for config in describe_configs(cluster, group_id)}


def test_a_group_that_nobody_configured_has_the_defaults(cluster: ClusterClient) -> None:
    # When
    found = describe_configs(cluster, "plain")

    # Then
    assert GroupConfig(RESET, "latest", "DEFAULT_CONFIG") in found
    assert {config.name.partition(".")[0] for config in found} == {"share"}
    assert [config.name for config in found] == sorted(config.name for config in found)


def test_configurations_are_set_and_deleted(cluster: ClusterClient) -> None:
    # Given
    alter_configs(cluster, "set", values={RESET: "earliest", LOCK: "15000"}, deleted=[], is_dry_run=False)

    # When
    alter_configs(cluster, "set", values={}, deleted=[LOCK], is_dry_run=False)

    # Then
    found = values_of(cluster, "set")
    assert found[RESET] == GroupConfig(RESET, "earliest", "DYNAMIC_GROUP_CONFIG")
    assert found[LOCK] == GroupConfig(LOCK, "30000", "DEFAULT_CONFIG")


def test_a_dry_run_changes_nothing(cluster: ClusterClient) -> None:
    # When
    alter_configs(cluster, "dry", values={RESET: "earliest"}, deleted=[], is_dry_run=True)

    # Then
    assert values_of(cluster, "dry")[RESET].value == "latest"


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_a_wrong_value_is_refused_in_the_clusters_words(cluster: ClusterClient, *, is_dry_run: bool) -> None:
    with pytest.raises(
        ClientFailed, match=r"configurations of group 'wrong' cannot be altered: 'sometimes' is"
    ):
        alter_configs(cluster, "wrong", values={RESET: "sometimes"}, deleted=[], is_dry_run=is_dry_run)
