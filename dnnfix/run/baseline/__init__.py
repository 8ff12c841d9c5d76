"""The recorder: runs a program up to its first training call and records the model, its outputs and its first losses.

A migration is checked with it: it runs once in an interpreter of the old era and once in a current one. The old run
supplies the weights and the data, and the new run uses them, so that outputs and losses can be compared number by
number (`dnnfix/validate/same_as_before.py`).

Like the probe it is started by path and loads itself under a name of its own (`dnnfix_baseline`). It imports only the
standard library, numpy and the framework that the program imports, and nothing of dnnfix. It is written for Python 3.6
and later, since the Keras of 2017 runs on nothing newer. It must not trust anything that the program tells it: all that
it writes is read as data.
"""
