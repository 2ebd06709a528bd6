"""The demo: three share consumers of one group on a real Apache Kafka that has no share groups (`make demo`).

`story` tells it from the first step to the closing table. Who acts are processes of their own, each a real
client: `producer` and `member` (three of them); `crew` starts them and collects their `events`. `killing` kills
kproxy in the middle; of several (`kproxy_fleet`, and what is seen of them: `fleet_status`) `updating` kills one and
then restarts one. What happened is kept in a `book`; `ledger`, and for what was killed or restarted `outage`, say by
which rules its sums have to add up, and `state_log` what Kafka itself has of it in the end. Then Spark replays it:
`replaying` asks an `analyst`, a process of its own, and `answers` hold what it says against the book. `jobs` is what
the records say and what a member does about it. `view`, `milestones` and `closing` are all that is seen.
"""
