"""What kproxy's own principal must be allowed to do on a cluster with an authorizer.

`deploy/acls/kproxy-acls.sh` grants this, `deploy/README.md` lists it, and the tests' secured clusters grant nothing
else. Where an operation brings another with it (Describe comes with Read, Write, Delete and Alter), that one is not
named. `IdempotentWrite` on the cluster is not among them: who may write to a topic or a transactional id needs no
other right since Kafka 2.8 (KIP-679).
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from kproxy.security.acls import AclOperation


class OwnResource(Enum):
    """What the rights are about; the value says it in words."""

    STATE_TOPICS = "the state topics"
    FLEET_GROUP = "the fleet's group"
    TRANSACTIONAL_IDS = "the transactional ids of the state log"
    GROUPS = "all groups"
    CLUSTER = "the cluster"
    CONSUMED_TOPICS = "the topics that share groups consume"


OWN_RIGHTS: Final[Mapping[OwnResource, Sequence[AclOperation]]] = {
    OwnResource.STATE_TOPICS: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.DESCRIBE_CONFIGS,
    ),
    OwnResource.FLEET_GROUP: (AclOperation.READ,),
    OwnResource.TRANSACTIONAL_IDS: (AclOperation.WRITE,),
    OwnResource.GROUPS: (AclOperation.DESCRIBE,),
    OwnResource.CLUSTER: (AclOperation.DESCRIBE,),
    OwnResource.CONSUMED_TOPICS: (AclOperation.READ,),
}


def operation_name(operation: AclOperation) -> str:
    """Return an operation as `kafka-acls.sh` takes it: `DescribeConfigs`."""
    return "".join(word.capitalize() for word in operation.name.split("_"))


def own_rights_in_words(names: Mapping[OwnResource, str]) -> str:
    """Return all of `OWN_RIGHTS` as one list; `names` are what single resources are called, where that is known."""
    rights = [
        f"{_listed([operation_name(each) for each in operations])} on {names.get(resource, resource.value)}"
        for resource, operations in OWN_RIGHTS.items()
    ]
    return f"{'; '.join(rights[:-1])}; and {rights[-1]}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
