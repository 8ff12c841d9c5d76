"""Reads TensorFlow 1 programs of graphs and sessions, and keeps them running under `tf.compat.v1`."""
