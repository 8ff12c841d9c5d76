"""Training of TensorFlow programs that Keras has no part in."""
