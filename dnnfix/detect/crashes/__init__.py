"""Readings of a crash: the failing call, the recorded values around it, and which name or argument was meant."""
