"""The search over edits inside the stopped program: records the values that are in reach, and tries edits there."""
