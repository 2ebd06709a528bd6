"""A kproxy as far as its state log and its share groups go, wired as the application wires them."""

from collections.abc import Mapping, Sequence
from typing import Final

from kproxy.application.slot_contents import SlotContents
from kproxy.handlers.request_context import RequestContext
from kproxy.handlers.share_groups import ShareGroupLimits, ShareGroupPorts, ShareGroups
from kproxy.net.background import BackgroundTasks
from kproxy.net.relay.held_requests import HeldRequests
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.wire.codecs import DecodedRequest, Message
from tests.in_memory.in_memory_backlogs import InMemoryBacklogs
from tests.in_memory.recording_observer import RecordingAlarm, RecordingObserver
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.backing import ORDERS
from tests.worlds.state_log_process import Process
from tests.worlds.state_log_requests import newest_version
from tests.worlds.state_logs import StateLogBacking, group_of_slot

TOPIC_PARTITIONS: Final = 16
GROUP: Final = group_of_slot(0)
"""A group of slot 0."""
KEY: Final = SharePartitionKey(GROUP, ORDERS, 0)


class SharingProcess(Process):
    """Share groups over the state log. Requests may be sent before `serves`."""

    def __init__(self, backing: StateLogBacking) -> None:
        super().__init__(backing, listener=self)
        self._contents = SlotContents(self.directory, lambda: self.groups)
        self.observer = RecordingObserver()
        self.faults: list[Exception] = []
        self.groups = ShareGroups(
            ShareGroupPorts(
                state_log=self.service.states,
                group_log=self.service.groups,
                reader=backing.reader,
                namespace=UncheckedGroupNamespace(),
                metadata=backing.metadata,
                availability=backing.availability,
                alarm=RecordingAlarm(),
                clock=backing.clock,
                wall_clock=backing.wall_clock,
                observer=self.observer,
                background=BackgroundTasks(backing.tasks),
                waits=HeldRequests(backing.clock),
                offset_store=self.service.states,
                backlogs=InMemoryBacklogs(),
                readiness=self.service.readiness,
                share_state_store=self.service.states,
            ),
            ShareGroupLimits(),
            on_internal_error=lambda _, fault: self.faults.append(fault),
        )
        self._changed()

    def slot_loaded(
        self, slot: int, images: Sequence[ShareGroupImage], configs: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Take over what is durable."""
        self._contents.slot_loaded(slot, images, configs)
        self.backing.listener.slot_loaded(slot, images, configs)

    def slot_lost(self, slot: int) -> None:
        """Forget it."""
        self._contents.slot_lost(slot)
        self.backing.listener.slot_lost(slot)

    def slot_left(self, slot: int) -> None:
        """End the share sessions over it."""
        self._contents.slot_left(slot)
        self.backing.listener.slot_left(slot)

    async def serve(self, message: Message, *, connection_id: int = 1) -> Message:
        """Answer a request of one client, in the newest version of its API."""
        api_key, version = newest_version(message)
        context = RequestContext(connection_id, 1, api_key, version, "client", "/127.0.0.1")
        request = DecodedRequest(api_key, version, 1, "client", message)
        answer = await self.groups.apis.serve(request, context)
        assert not self.faults, self.faults
        return answer

    def _changed(self) -> None:
        super()._changed()
        if problem := self.service.problem:
            self.groups.apis.set_unavailable(f"the state log cannot be used: {problem}")
        else:
            self.groups.apis.set_available()
