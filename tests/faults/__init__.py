"""Real share consumers at work while TCP connections on both sides of kproxy fail in every way that connections can.

    share consumers, producers ──▶ fault proxy ──▶ kproxy ──▶ fault proxy ──▶ brokers
                     strangers ──▶

A *fault proxy* forwards connections, and lets each fail by a plan that a seed decides. `python -m tests.faults` runs it
for as long as it is told to; `--help` tells of its options.
"""
