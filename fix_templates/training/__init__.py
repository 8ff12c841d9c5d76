"""Rules about training: the loop, its settings and its data."""
