"""What `kproxy` and its jobs both are: clients that ask, and show what they were told.

The command line (`kproxy.cli`) and the Spark jobs (`kproxy.jobs`) must not import each other: one needs no Spark, the
other no click group of commands and nothing of the proxy. What both need stands here, and knows neither of them.
"""
