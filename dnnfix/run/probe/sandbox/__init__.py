"""Confines a trial: namespaces, resource limits, Landlock, and a filter of system calls."""
