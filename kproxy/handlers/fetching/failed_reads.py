"""What follows when reads of a ShareFetch failed: whoever leads the partitions is asked for anew."""

from collections.abc import Mapping
from typing import Final

from kproxy.handlers.fetching.fetch_terms import FetchedPartition
from kproxy.handlers.live.share_services import ShareServices
from kproxy.share.identifiers import TopicIdPartition

_NAME: Final = "leaders of partitions that could not be read"


async def look_again(
    services: ShareServices, fetched: Mapping[TopicIdPartition, FetchedPartition], *, has_records: bool
) -> None:
    """Ask who leads what could not be read because its leader has moved, so that the answer can name the new leader.

    With `has_records` it goes on in the background: records that were acquired are not kept waiting, since their locks
    run. The client then asks again and hears of the new leader.
    """
    failed = {each: said.refusal for each, said in fetched.items() if said.refusal}

    async def look() -> None:
        await services.leadership.look_again_after(failed)

    if has_records:
        services.background.begin_now(look, name=_NAME)
    else:
        await look()
