"""The demo: three share consumers of one group on a real Apache Kafka that has no share groups (`make demo`).

`story` tells it from the first step to the closing table. Who acts are processes of their own, each a real
client: `producer`, `member` (three of them) and, at the end, `plain_reader`; `crew` starts them and collects
their `events`. What happened is kept in a `book`, and `ledger` says by which rules its sums have to add up.
`jobs` is what the records say and what a member does about it. `view` and `closing` are all that is seen.
"""
