"""Side-by-side benchmarks, run by `make bench`: what kproxy costs, set against what one would use instead.

Everything is measured in one run, the arms of a comparison in turn, round after round, so that whatever else the
machine does meets all of them; results are ratios within a round and their medians. README.md tells how to read
them. `python -m tests.benchmarks --only NAME` runs one; tables and raw values go to `build/bench/`.
"""
