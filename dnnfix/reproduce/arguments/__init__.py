"""Chooses the command-line arguments that a program is called with, and reads what they lead to."""
