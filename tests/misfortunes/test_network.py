"""Which connections are told to have something to send again."""

from tests.misfortunes.network import sent_again

TABLES = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0A0200C0:4A94 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7482620 1 0 100 0 0 10 0
   1: 0A0200C0:B662 0A6433C6:8D81 01 00000061:00000000 01:0000018E 00000005     0        0 7482621 2 0 652 4 30 1 -1
   2: 0A0200C0:B664 0A6433C6:8D81 01 00000061:00000000 01:0000000E 00000000     0        0 7482622 2 0 21 4 30 10 -1
  sl  local_address                         remote_address                        st
0: 0000000000000000FFFF00000A6433C6:8D81 0000000000000000FFFF0000060200C0:A0C4 04 00000025:00000000 01:00000051 00000004
"""


def test_what_was_lost_and_waits_to_be_sent_again_is_told_by_its_hosts() -> None:
    assert sent_again(TABLES) == [("192.0.2.10", "198.51.100.10"), ("198.51.100.10", "192.0.2.6")]
