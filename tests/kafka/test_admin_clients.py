"""Admin clients: what they are told of share groups through kproxy. Kafka's own tools: test_stock_tools.py."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka.administered_groups import Groups, on_both
from tests.real_kafka.share_endpoint import EndpointsOfSession

ADMIN_SECONDS: Final = 30.0


@dataclass(frozen=True)
class ConfluentAdmin:
    """What confluent-kafka's admin client is told."""

    groups: Groups

    @cached_property
    def client(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.groups.address})

    def listed(self) -> list[str]:
        result = self.client.list_consumer_groups(request_timeout=ADMIN_SECONDS).result()
        ours = {name: label for label, name in self.groups.names.items()}
        return sorted(
            f"{ours[group.group_id]} {group.type} {group.state}"
            for group in result.valid
            if group.group_id in ours
        )

    def described(self, label: str) -> str:
        future = self.client.describe_consumer_groups(
            [self.groups.names[label]], request_timeout=ADMIN_SECONDS
        )[self.groups.names[label]]
        return self._told(lambda: f"{future.result().state} {len(future.result().members)}")

    def deleted(self, label: str) -> str:
        name = self.groups.names[label]
        future = self.client.delete_consumer_groups([name], request_timeout=ADMIN_SECONDS)[name]
        return self._told(lambda: str(future.result()))

    def _told(self, ask: Callable[[], str]) -> str:
        try:
            return ask()
        except KafkaException as failure:
            return f"error {failure.args[0].code()}"


def test_confluents_admin_client_is_told_what_a_stock_broker_tells(
    share_endpoint: EndpointsOfSession,
) -> None:
    def scenario(groups: Groups) -> object:
        admin = ConfluentAdmin(groups)
        told: list[object] = [admin.listed()]
        told += [admin.described(label) for label in groups.names]
        told += [admin.deleted(label) for label in ("busy", "left", "plain", "nobody", "left")]
        return [*told, admin.listed()]

    stock, through_kproxy = on_both(share_endpoint, scenario)

    assert through_kproxy == stock
