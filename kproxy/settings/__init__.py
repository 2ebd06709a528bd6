"""The configuration of a kproxy process: read once, validated whole, frozen.

`key_table.py` is the one table of keys, and at the same time the class `Settings` with a typed attribute per
key. `sources.py` turns files, environment and command line into assignments, `loading.py` lets the command
line win over the environment, that over the file and that over the defaults, and `consistency.py` holds the
rules that join several keys.
"""

from kproxy.settings.addresses import HostPort
from kproxy.settings.choices import CorruptRecords, LogFormat, LogLevel, ShareUpstream
from kproxy.settings.key_table import KEYS, Settings
from kproxy.settings.loading import LoadedSettings, load_settings
from kproxy.settings.properties_format import property_line
from kproxy.settings.sources import Assignment, assignment_of_override

__all__ = [
    "KEYS",
    "Assignment",
    "CorruptRecords",
    "HostPort",
    "LoadedSettings",
    "LogFormat",
    "LogLevel",
    "Settings",
    "ShareUpstream",
    "assignment_of_override",
    "load_settings",
    "property_line",
]
