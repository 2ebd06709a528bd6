"""Requests that are valid, and as hostile as valid ones can be: most elements, longest strings, tags without end.

`hostile_requests.py` makes them from the schemas, for every API of which kproxy holds requests. What is the same each
time, elements and the memory they take, `test_hostile_requests.py` checks in every run of the tests. What takes more
than four times its size, and how much, stands in `known_costs.py`.
`test_hostile_costs.py` (soak) measures the longest turn of the loop, and memory, of a whole kproxy in a process of its
own.
"""
