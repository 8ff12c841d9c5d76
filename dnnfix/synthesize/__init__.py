"""From findings to patches: candidate edits, the search over them, and the ranking of those that are validated."""
