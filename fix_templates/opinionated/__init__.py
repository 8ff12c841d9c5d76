"""Rules that are off by default: matters of taste that some projects want reported."""
