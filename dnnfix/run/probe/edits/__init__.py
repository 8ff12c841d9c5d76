"""The part of the search over edits that runs in the stopped program: it records what is in reach and tries edits
there.
"""
