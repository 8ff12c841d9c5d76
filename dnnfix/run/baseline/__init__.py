"""The recorder: runs a program up to its first training call and records what the model is and does there.

It runs once in an interpreter of the old era and once in the new one. The old run draws the weights and takes the data;
the new one is given both, so that outputs and losses can be compared number by number (`dnnfix/validate/same_as_before.py`).

Like the probe it is started by path and loads itself under a name of its own (`dnnfix_baseline`), imports only the standard
library, numpy and the framework that the program imports, and nothing of dnnfix. It is written for Python 3.6 and later:
interpreters that have the Keras of 2017 have no later one. It must not rely on anything it is told by the program: all that
it writes is read as data.
"""
