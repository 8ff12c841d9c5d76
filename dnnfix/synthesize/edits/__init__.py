"""Edits that rules, operators and causes have in common, written once."""
