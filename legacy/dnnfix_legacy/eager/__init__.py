"""Rewrites a TensorFlow 1 program of sessions as functions that TensorFlow 2 runs eagerly."""
