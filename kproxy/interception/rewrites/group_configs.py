"""Group configurations (DescribeConfigs 32, AlterConfigs 33, IncrementalAlterConfigs 44), shared with the broker.

kproxy serves the keys that begin with `share.` or `errors.deadletterqueue.` of the resource type GROUP; every other
key and every other resource is the broker's. A request is split in two, both halves are answered, and the answers are
merged in the order of the request's resources.

Known differences from one broker that owns all keys: a GROUP resource with keys of both kinds is changed in
two steps, so that one half can succeed while the resource answers the other half's error; and a broker that
does not know the type GROUP refuses the whole upstream half, as it does without kproxy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kproxy.interception.rewrites.group_config_answers import merge_alter, merge_describe, merge_legacy_alter
from kproxy.interception.rewrites.group_config_requests import (
    Halves,
    split_alter,
    split_describe,
    split_legacy_alter,
)
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message


@dataclass(frozen=True, slots=True)
class SharedApi:
    """An API that kproxy and the broker serve together: the halves of its requests, and one answer from two."""

    split: Callable[[Any], Halves[Any]]
    merge: Callable[[Any, Any, Any], Message]


SHARED_APIS: Final[Mapping[int, SharedApi]] = {
    ApiKey.DESCRIBE_CONFIGS: SharedApi(split_describe, merge_describe),
    ApiKey.ALTER_CONFIGS: SharedApi(split_legacy_alter, merge_legacy_alter),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: SharedApi(split_alter, merge_alter),
}
"""By API key. Who calls `split` with a message of the API gives `merge` its answers, of the same API."""
