"""Records training in TensorFlow programs that does not go through Keras."""
