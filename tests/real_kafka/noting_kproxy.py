"""`kproxy` that notes what its members acquire: the real application, with the same arguments (`acquisitions`)."""

import sys

from kproxy.cli import main as command_line
from tests.real_kafka.acquisitions import note_acquisitions

if __name__ == "__main__":
    note_acquisitions()
    sys.argv[0] = "kproxy"
    command_line.main()
