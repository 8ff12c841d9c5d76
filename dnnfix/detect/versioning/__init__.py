"""Changes between versions of libraries: the tables of them, where a program is affected, and the edits that migrate
it.
"""
