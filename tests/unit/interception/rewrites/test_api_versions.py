"""ApiVersions through kproxy."""

import pytest

from kproxy.interception.rewrites.api_versions import rewrite_api_versions
from kproxy.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

SERVED = {76: (1, 1), 78: (1, 2), 79: (1, 2)}


def ranges(response: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}


def test_each_key_is_the_intersection_of_what_both_know() -> None:
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=0, min_version=0, max_version=13),
            ApiVersion(api_key=1, min_version=4, max_version=18),
            ApiVersion(api_key=3, min_version=0, max_version=99),
            ApiVersion(api_key=17, min_version=0, max_version=1),
            ApiVersion(api_key=18, min_version=0, max_version=5),
            ApiVersion(api_key=8, min_version=50, max_version=60),
            ApiVersion(api_key=500, min_version=0, max_version=0),
        ]
    )

    rewritten = rewrite_api_versions(response, {}, 4)

    assert ranges(rewritten) == {0: (0, 13), 1: (4, 18), 3: (0, 13), 17: (1, 1), 18: (0, 4)}


def test_the_brokers_share_apis_give_way_to_kproxys() -> None:
    broker = [
        ApiVersion(api_key=key, min_version=0, max_version=9) for key in (76, 77, 78, 79, 83, 87, 90, 92)
    ]

    rewritten = rewrite_api_versions(ApiVersionsResponse(api_keys=broker), SERVED, 4)

    assert ranges(rewritten) == {74: (1, 1), **SERVED}


@pytest.mark.parametrize(
    ("broker", "listed"), [(None, (1, 1)), ((0, 0), (0, 1)), ((0, 1), (0, 1))], ids=["3.6", "4.0", "4.1"]
)
def test_groups_with_configurations_are_listed_whatever_the_broker_lists(
    broker: tuple[int, int] | None, listed: tuple[int, int]
) -> None:
    known = [] if broker is None else [ApiVersion(74, *broker)]

    rewritten = rewrite_api_versions(ApiVersionsResponse(api_keys=known), SERVED, 4)

    assert ranges(rewritten)[74] == listed


@pytest.mark.parametrize("served", [{}, SERVED], ids=["off", "disabled"])
def test_without_share_groups_resources_are_listed_as_by_the_broker(
    served: dict[int, tuple[int, int]],
) -> None:
    answers = [
        rewrite_api_versions(ApiVersionsResponse(api_keys=known), served, 4, is_feature_on=False)
        for known in ([], [ApiVersion(74, 0, 0)])
    ]

    assert [ranges(answer).get(74) for answer in answers] == [None, (0, 0)]


def test_while_share_groups_are_off_no_share_api_is_shown_and_no_share_feature() -> None:
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=78, min_version=1, max_version=2)],
        supported_features=[SupportedFeatureKey(name="share.version", min_version=0, max_version=1)],
        finalized_features=[
            FinalizedFeatureKey(name="share.version", max_version_level=1, min_version_level=1)
        ],
    )

    rewritten = rewrite_api_versions(response, {}, 4)

    assert ranges(rewritten) == {}
    assert (rewritten.supported_features, rewritten.finalized_features) == ([], [])


def test_share_version_is_supported_from_0_to_1_and_finalized_at_1_beside_the_brokers_features() -> None:
    other = FinalizedFeatureKey(name="transaction.version", max_version_level=2, min_version_level=2)
    response = ApiVersionsResponse(finalized_features_epoch=9, finalized_features=[other])

    rewritten = rewrite_api_versions(response, SERVED, 4)

    assert rewritten.supported_features == [
        SupportedFeatureKey(name="share.version", min_version=0, max_version=1)
    ]
    assert rewritten.finalized_features == [
        other,
        FinalizedFeatureKey(name="share.version", max_version_level=1, min_version_level=1),
    ]
    assert rewritten.finalized_features_epoch == 9


def test_while_share_groups_are_disabled_their_apis_are_shown_and_share_version_has_no_level() -> None:
    rewritten = rewrite_api_versions(ApiVersionsResponse(), SERVED, 4, is_feature_on=False)

    assert ranges(rewritten) == SERVED
    assert rewritten.supported_features == [
        SupportedFeatureKey(name="share.version", min_version=0, max_version=1)
    ]
    assert rewritten.finalized_features == []


def test_before_version_4_a_supported_feature_from_0_is_hidden() -> None:
    rewritten = rewrite_api_versions(ApiVersionsResponse(), SERVED, 3)

    assert rewritten.supported_features == []


def test_a_broker_without_features_gets_an_epoch_that_clients_look_at() -> None:
    rewritten = rewrite_api_versions(ApiVersionsResponse(finalized_features_epoch=-1), SERVED, 4)

    assert rewritten.finalized_features_epoch == 0
