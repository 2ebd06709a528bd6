"""Which trouble stands for which alert, and which alerts have none yet."""

from collections.abc import Mapping
from typing import Final

from tests.troubles.of_cluster import (
    CertificateEnds,
    CertificateUnusable,
    ClusterUnreachable,
    RefusesConnections,
    ThrottledByCluster,
)
from tests.troubles.of_fleet import PeersUnreachable, RefusedByFleet, ServesNothing, SlotsLost
from tests.troubles.of_groups import (
    GroupBehind,
    GroupReleasesEverything,
    GroupStandsStill,
    MetricsCutOff,
    RecordsComeAgain,
    RecordsGivenUpAtTheLimit,
    RecordsGivenUpByKafka,
    WindowFull,
)
from tests.troubles.of_process import (
    AdminPortProbed,
    Down,
    EventLoopLate,
    Fault,
    MemoryBudgetFull,
    SlowsRequestsDown,
)
from tests.troubles.of_state_log import (
    AppendsSlow,
    LoadingSlow,
    PruningFails,
    SlotStopped,
    SlotsWithoutOwner,
    StateLogRebuilt,
    StateLogUnavailable,
    StateLost,
)
from tests.troubles.trouble import Trouble

TROUBLES: Final[Mapping[str, type[Trouble]]] = {
    "KproxyGroupBehind": GroupBehind,
    "KproxyGroupStandsStill": GroupStandsStill,
    "KproxyGroupStandsStill-released": GroupReleasesEverything,
    "KproxyWindowFull": WindowFull,
    "KproxyRecordsComeAgain": RecordsComeAgain,
    "KproxyRecordsGivenUp-delivery_limit": RecordsGivenUpAtTheLimit,
    "KproxyRecordsGivenUp-log_start": RecordsGivenUpByKafka,
    "KproxyStateLost": StateLost,
    "KproxySlotStopped": SlotStopped,
    "KproxySlotsWithoutOwner": SlotsWithoutOwner,
    "KproxyStateLogUnavailable": StateLogUnavailable,
    "KproxyStateLogRebuilt": StateLogRebuilt,
    "KproxyAppendsSlow": AppendsSlow,
    "KproxyLoadingSlow": LoadingSlow,
    "KproxyPruningFails": PruningFails,
    "KproxyServesNothing": ServesNothing,
    "KproxyRefusedByFleet": RefusedByFleet,
    "KproxySlotsLost": SlotsLost,
    "KproxyPeersUnreachable": PeersUnreachable,
    "KproxyClusterUnreachable": ClusterUnreachable,
    "KproxyThrottledByCluster": ThrottledByCluster,
    "KproxyRefusesConnections": RefusesConnections,
    "KproxyCertificateEnds": CertificateEnds,
    "KproxyCertificateUnusable": CertificateUnusable,
    "KproxyAdminPortProbed": AdminPortProbed,
    "KproxyDown": Down,
    "KproxyFault": Fault,
    "KproxyEventLoopLate": EventLoopLate,
    "KproxySlowsRequestsDown": SlowsRequestsDown,
    "KproxyMemoryBudgetFull": MemoryBudgetFull,
    "KproxyMetricsCutOff": MetricsCutOff,
}
"""By alert; behind a hyphen which of its troubles it is, where there are several."""

UNPLANTED: Final[Mapping[str, str]] = {}
"""Alerts without a trouble, and why."""


def alert_of(name: str) -> str:
    """Return the alert that a trouble of the table is to raise."""
    return name.partition("-")[0]
