"""What TensorFlow 1 had and nothing has today, written with what `tensorflow.compat.v1` still has.

Cut out as text by `dnnfix_legacy.graphs.old_functions`, and put into programs that keep their graph. Names, order of
arguments, defaults and the names of weights are those of TensorFlow 1.15; arguments that stood behind those that are
given by place here are given by keyword.
"""
