"""Imports kafka-python before any test does: it reads its schemas in a way that Python 3.11 warns about.

A warning is an error here (pytest's filterwarnings), and one that is raised while a module is imported stays.
"""

import importlib
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    for name in ("admin", "consumer", "metadata", "producer", "sasl"):
        importlib.import_module(f"kafka.protocol.{name}")
