"""How a program is run: compiled with guarded loops, seeded, inside its scaffold, with nobody to answer its
questions.
"""
