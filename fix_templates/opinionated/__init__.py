"""Rules that are off by default, or reported by `check` only: matters of taste that some projects want reported."""
