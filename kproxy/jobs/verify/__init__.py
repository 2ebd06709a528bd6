"""Does the log say what it may, and what a running kproxy believes?"""
