"""`python -m kproxy`: the same command as `kproxy`."""

from kproxy.cli.main import main

if __name__ == "__main__":
    main()
