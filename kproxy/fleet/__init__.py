"""The fleet: which kproxy processes there are, and which of them owns which slots of the state log. Pure.

The processes in front of one cluster are members of one group of Kafka's classic protocol on that cluster (JoinGroup,
SyncGroup, Heartbeat, LeaveGroup), with a protocol type of kproxy's own, as the workers of Kafka Connect are. Where to
begin:

- `member_metadata.MemberMetadata` is what a process tells when it joins, `fleet_map.FleetMap` what everybody is told.
- `assignor.assign` makes the map: the leader of the group calls it in each generation.
- `membership.Membership` is one process's part: what it asks next, what it owns, and until when. `lease` says why no
  two processes serve one slot at a time.

Time comes in as an argument; questions to the coordinator and events for the slots go out as values.
"""
