"""The comparison: the cases of a conformance list, each played against Kafka's own share groups and against kproxy.

A case is a function that is given a `Play` (`scenario`), which speaks raw requests on sockets and notes each answer.
`stage` plays every chosen case at every target, side by side; `test_conformance` compares what was noted; `answers`
writes the table of all answers.
"""
