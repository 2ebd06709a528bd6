"""Each alert of deploy/prometheus/ is raised by a trouble that was planted, and its section of the runbook walked.

`make soak` runs them. What the commands said is left in build/troubles/, a file for each walk.
"""
