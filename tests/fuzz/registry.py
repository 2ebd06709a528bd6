"""All targets, by name."""

from collections.abc import Mapping
from typing import Final

from tests.fuzz.execution import Target
from tests.fuzz.targets import admin, cluster, codecs, logins, peers, recovery, streams

TARGETS: Final[Mapping[str, Target]] = {
    target.name: target
    for module in (codecs, streams, peers, admin, recovery, cluster, logins)
    for target in module.TARGETS
}
