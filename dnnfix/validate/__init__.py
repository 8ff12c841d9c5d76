"""The validation ladder: the rungs that a candidate has to pass before it is accepted as a patch."""
