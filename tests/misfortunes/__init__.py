"""A fleet of kproxies under load meets misfortunes, one after the other; what its clients saw is checked afterwards.

`python -m tests.misfortunes` runs it and prints one JSON line; `--help` tells of its options.
"""
