"""Fuzzing: bytes that nobody would send, for everything that reads bytes of others.

A *target* (`targets/`) takes bytes, and raises when the code under test does what it must not. Three runners give it
some:

- `test_corpus.py` replays what is kept in `corpus/`: messages of every API, and every input that was a crash once;
- `test_budget.py` mutates these, the same few thousand times in each run;
- `make fuzz MINUTES=60` mutates without end, led by coverage where atheris is there (`.ci/fuzzing-tools.txt`).

Every execution has a deadline of processor time, so that a busy machine finds no hangs where none are.
"""
