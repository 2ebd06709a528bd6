"""The fleet's side of the network: this process as a member of its group on the backing cluster.

`fleet_member.FleetMember` keeps the membership (`kproxy.fleet.membership` decides); `coordinator_link` asks the group's
coordinator; `group_requests` are its bytes; `process_lock` knows who is dead for certain; `reach` sees whether members
can be reached; `lease_clock` is the time.
"""
