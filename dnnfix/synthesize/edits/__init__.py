"""Edits that rules, operators and causes share."""
