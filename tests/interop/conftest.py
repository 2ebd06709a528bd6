"""Imports kafka-python before any test does: it reads its schemas in a way that Python 3.11 warns about.

A warning is an error here (pytest's filterwarnings), and one that is raised while a module is imported stays.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.protocol.admin
    import kafka.protocol.consumer
    import kafka.protocol.metadata
    import kafka.protocol.producer
    import kafka.protocol.sasl
