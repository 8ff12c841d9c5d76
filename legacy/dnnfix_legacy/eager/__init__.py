"""A program of sessions written as one of functions, which TensorFlow 2 runs when they are called."""
