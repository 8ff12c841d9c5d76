"""What keeps a trial in: namespaces, limits, Landlock, and a filter of system calls."""
