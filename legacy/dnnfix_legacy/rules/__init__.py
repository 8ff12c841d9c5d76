"""The rules of the plug-in, one class in one file: the entry point names this package."""
