"""`python -m kproxy.jobs NAME`: what `kproxy replay` starts, and what `spark-submit` may be given."""

from kproxy.jobs.command_line import main

if __name__ == "__main__":
    main()
