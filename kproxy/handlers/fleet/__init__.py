"""Requests about share groups of several processes: split by owner, served by each, answered as by one process.

A request that names one group goes to its owner as it is, and is normally never decoded here (`net` relays it). What
comes here names several groups, or asks for all of them: `fleet_apis` splits it, `divisions` says how for each API,
and `peer_group_ids` knows the ids of groups that other processes serve.
"""
