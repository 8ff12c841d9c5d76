"""The kinds of evidence for a place, a file each: each gives scores to files, from what a report says and what the index knows."""
