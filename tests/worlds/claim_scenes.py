"""What tests of claims begin with."""

from kproxy.net.state_log.claim import SlotClaims
from kproxy.net.state_log.loading import LoadedSlot
from tests.worlds.slot_allocations import EPOCH, FLEET


async def opened(claims: SlotClaims) -> LoadedSlot:
    """Claim slot 0 and load it."""
    return await claims.load(await claims.claim(0, EPOCH, FLEET))
