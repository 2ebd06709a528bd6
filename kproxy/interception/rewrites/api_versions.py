"""ApiVersions (18): what this broker and kproxy both know, the broker's share APIs replaced by kproxy's.

An answer with error 35 (UNSUPPORTED_VERSION) is in version 0 whatever was asked; it is rewritten like any other,
because clients read the range of ApiVersions from it and ask again.
"""

from collections.abc import Mapping
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.interception.known_versions import (
    MAX_API_VERSIONS_VERSION,
    NEWEST_KNOWN,
    OLDEST_KNOWN,
    SHARE_KEYS,
)
from kproxy.interception.translations import advertised_range
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SHARE_FEATURE: Final = "share.version"
_SHARE_LEVEL: Final = 1
_FIRST_WITH_FEATURES: Final = 3
_LISTED_GROUPS: Final = ApiVersion(api_key=ApiKey.LIST_CONFIG_RESOURCES, min_version=1, max_version=1)
"""In front of a broker that lists no resources kproxy lists groups. Version 0 would be about client metrics."""
# KAFKA-17011: clients before version 4 refuse a feature whose lowest version is 0.
_FIRST_WITH_MINIMUM_ZERO: Final = 4


def rewrite_api_versions(
    response: ApiVersionsResponse,
    served: Mapping[int, tuple[int, int]],
    api_version: int,
    *,
    is_feature_on: bool = True,
) -> ApiVersionsResponse:
    """Return `response` with the versions that work through kproxy; it is changed in place.

    Args:
        response: a backing broker's answer.
        served: version ranges of the share APIs that kproxy serves, both ends inclusive; empty while they are off.
        api_version: the version of the answer, which decides whether it has features.
        is_feature_on: whether the feature `share.version` has a level; without one the share APIs refuse everybody.
    """
    has_share_groups = is_feature_on and bool(served)
    left_alone = _left_alone(has_share_apis=bool(served), has_share_groups=has_share_groups)
    passable = (_passable(entry, left_alone) for entry in response.api_keys)
    forwarded = [entry for entry in passable if entry is not None]
    if response.error_code != ErrorCode.NONE:
        response.api_keys = forwarded
        return response
    own = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in served.items()]
    if has_share_groups and ApiKey.LIST_CONFIG_RESOURCES not in {entry.api_key for entry in forwarded}:
        own.append(_LISTED_GROUPS)
    response.api_keys = sorted([*forwarded, *own], key=lambda entry: entry.api_key)
    _hide_share_feature(response)
    if served and api_version >= _FIRST_WITH_MINIMUM_ZERO:
        supported = SupportedFeatureKey(name=_SHARE_FEATURE, min_version=0, max_version=_SHARE_LEVEL)
        response.supported_features.append(supported)
    if has_share_groups and api_version >= _FIRST_WITH_FEATURES:
        _finalize_share_feature(response)
    return response


def unsupported_version_answer() -> ApiVersionsResponse:
    """Return the answer (to be sent in version 0) to an ApiVersions request that is newer than kproxy (KIP-511)."""
    supported = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=MAX_API_VERSIONS_VERSION)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[supported])


def _left_alone(*, has_share_apis: bool, has_share_groups: bool) -> frozenset[int]:
    """Return the APIs whose newer versions nobody needs without the one or the other."""
    needless = [] if has_share_apis else [ApiKey.METADATA]
    return frozenset(needless if has_share_groups else [*needless, ApiKey.LIST_CONFIG_RESOURCES])


def _passable(entry: ApiVersion, left_alone: frozenset[int]) -> ApiVersion | None:
    if entry.api_key in SHARE_KEYS or entry.api_key not in NEWEST_KNOWN:
        return None
    highest = min(entry.max_version, NEWEST_KNOWN[entry.api_key])
    entry.min_version, entry.max_version = advertised_range(
        entry.api_key, entry.min_version, highest, left_alone=left_alone
    )
    entry.min_version = max(entry.min_version, OLDEST_KNOWN.get(entry.api_key, 0))
    return entry if entry.min_version <= entry.max_version else None


def _hide_share_feature(response: ApiVersionsResponse) -> None:
    """Take away what the broker says of the feature."""
    response.supported_features = [
        feature for feature in response.supported_features if feature.name != _SHARE_FEATURE
    ]
    response.finalized_features = [
        feature for feature in response.finalized_features if feature.name != _SHARE_FEATURE
    ]


def _finalize_share_feature(response: ApiVersionsResponse) -> None:
    response.finalized_features.append(
        FinalizedFeatureKey(
            name=_SHARE_FEATURE, max_version_level=_SHARE_LEVEL, min_version_level=_SHARE_LEVEL
        )
    )
    # A broker without features says epoch -1, which hides the list from clients.
    response.finalized_features_epoch = max(response.finalized_features_epoch, 0)
