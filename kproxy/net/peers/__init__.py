"""Connections between the kproxy processes of a fleet.

The process that relays dials: `peer_dialler` says who it is, `peer_twin` is one connection, `peer_twins` has them all.
The process that owns a group listens: `peer_listener` lets nobody in but its fleet (`reception`), and `peer_connection`
serves the other process's client as any client. `views` answers paths of the admin port; `secret` is what all share.
"""
