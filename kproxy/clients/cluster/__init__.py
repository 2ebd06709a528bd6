"""A small blocking client of Kafka's protocol, for what kafka-python does not know: the administration of share groups.

It asks any cluster that serves share groups: Kafka itself from 4.2 on, or kproxy in front of one that does not.
`connection` is one connection to one broker, the only place where one is made; `cluster_client` finds who must be
asked, and asks again while that changes, until the `deadline` of the command; `share_groups`, `share_offsets`,
`group_configs` and `topics` are the questions.
"""
