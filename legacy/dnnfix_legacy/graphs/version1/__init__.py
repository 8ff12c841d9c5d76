"""Functions and classes that TensorFlow removed with version 1, written with what `tensorflow.compat.v1` still has.

`dnnfix_legacy.graphs.old_functions` cuts their source code out and puts it into programs that keep their graph.
Names, order of arguments, defaults and the names of weights are those of TensorFlow 1.15; arguments that stood behind
the positional ones here are passed by keyword.
"""
