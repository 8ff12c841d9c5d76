"""Builds harnesses: code that constructs and calls what a program defines and never uses."""
