"""What `kproxy doctor` looks at: each check alone, with what was found and what to do about it."""
