"""The command line: one file per command, and the only place that prints, exits or reads argv."""
