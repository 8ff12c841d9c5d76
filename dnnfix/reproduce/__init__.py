"""Makes programs runnable whose data, packages or arguments are missing, without touching their faults.

A program is never edited here: it is put in a scaffold (`records.Scaffold`) of code before, after and between its own
statements. Each of the ten edit actions has a module, which looks at a `Case` and returns the steps that it would take.
"""
