"""What kproxy promises, said as tests. Folders that share code are packages below this one."""
