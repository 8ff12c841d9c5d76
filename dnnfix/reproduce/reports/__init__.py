"""Bug reports: what they say, what type of bug it is, and whether a run shows it."""
