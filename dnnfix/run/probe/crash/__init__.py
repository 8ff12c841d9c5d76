"""Describes the exception that ended a program: its cause, the values involved, and what was accepted instead."""
