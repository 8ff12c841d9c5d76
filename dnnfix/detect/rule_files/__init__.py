"""Rules without code: a TOML file with a pattern of code, conditions, a message, a fix and examples is a fix template."""
