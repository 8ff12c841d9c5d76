"""The rules, one class in one file: the entry point names this package, and every module in it is looked at."""
