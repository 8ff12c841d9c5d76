"""Bases of rules: what those share that look for one kind of fault."""
